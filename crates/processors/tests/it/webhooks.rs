//! Webhooks of both processors, and why they are only hints.

use http::HeaderValue;
use processors::{
    Credentials, HintKind, HintReference, StripeCredentials, WebhookError, WebhookHint,
};
use serde_json::json;

use crate::receiver::{Received, Receiver};
use crate::world::{World, refund, request, secret, worlds};

impl World {
    async fn next_hint(&self, receiver: &mut Receiver) -> WebhookHint {
        let webhook = receiver.next().await;
        self.parse(&webhook).await.unwrap()
    }
}

/// What the double sends for a payment that is paid at once.
fn events(world: &World) -> [&'static str; 2] {
    if world.is_paypal() {
        ["CHECKOUT.ORDER.COMPLETED", "PAYMENT.CAPTURE.COMPLETED"]
    } else {
        ["checkout.session.completed", "payment_intent.succeeded"]
    }
}

/// Pays, and skips what PayPal sends before the capture.
async fn pay(world: &World, receiver: Option<&mut Receiver>) -> String {
    let request = request(1);
    let payment = world.create(&request).await.unwrap();
    world.press(&payment, "pay").await;
    if world.is_paypal() {
        if let Some(receiver) = receiver {
            let hint = world.next_hint(receiver).await;
            assert_eq!(hint.event_type, "CHECKOUT.ORDER.APPROVED");
        }
        world.capture(&payment.reference, &request.key).await.unwrap();
    }
    payment.reference
}

#[tokio::test]
async fn a_webhook_names_the_payment() {
    for world in worlds().await {
        let mut receiver = world.receiver().await;
        let reference = pay(&world, Some(&mut receiver)).await;
        for event in events(&world) {
            let hint = world.next_hint(&mut receiver).await;
            assert_eq!((hint.event_type.as_str(), hint.kind), (event, HintKind::Payment));
            let paid = world.fetch(&reference).await.state.paid().unwrap().reference.clone();
            let known =
                [HintReference::HostedPayment(reference.clone()), HintReference::Payment(paid)];
            assert!(known.contains(&hint.reference.unwrap()), "{event}");
        }
    }
}

#[tokio::test]
async fn a_webhook_names_the_refund() {
    for world in worlds().await {
        let paid = world.paid(&request(1)).await;
        let mut receiver = world.receiver().await;
        let made = world.processors.refund(&world.credentials, &refund(1, &paid, 12_50)).await;
        let hint = world.next_hint(&mut receiver).await;
        assert_eq!(hint.kind, HintKind::Refund);
        let (refund, payment) = (made.unwrap().reference, Some(paid.reference));
        assert_eq!(hint.reference, Some(HintReference::Refund { refund, payment }));
    }
}

#[tokio::test]
async fn a_duplicate_has_the_same_event_id() {
    for world in worlds().await {
        let mut receiver = world.receiver().await;
        let reference = pay(&world, Some(&mut receiver)).await;
        for _ in events(&world) {
            world.next_hint(&mut receiver).await;
        }
        world.control("webhooks", json!({ "mode": "duplicate" })).await;
        let paid = world.fetch(&reference).await.state.paid().unwrap().clone();
        world.processors.refund(&world.credentials, &refund(1, &paid, 1_00)).await.unwrap();
        let (first, second) =
            (world.next_hint(&mut receiver).await, world.next_hint(&mut receiver).await);
        assert_eq!(first, second);
    }
}

#[tokio::test]
async fn webhooks_in_another_order_lead_to_the_same_state() {
    for world in worlds().await {
        let receiver = &mut world.receiver().await;
        if world.is_paypal() {
            // The approval comes before.
            let request = request(1);
            let payment = world.create(&request).await.unwrap();
            world.press(&payment, "pay").await;
            world.next_hint(receiver).await;
            world.control("webhooks", json!({ "mode": "reverse" })).await;
            world.capture(&payment.reference, &request.key).await.unwrap();
        } else {
            world.control("webhooks", json!({ "mode": "reverse" })).await;
            pay(&world, None).await;
        }
        let [first, second] = events(&world);
        for event in [second, first] {
            assert_eq!(world.next_hint(receiver).await.event_type, event);
        }
    }
}

#[tokio::test]
async fn without_webhooks_the_state_is_fetched() {
    for world in worlds().await {
        let _receiver = world.receiver().await;
        world.control("webhooks", json!({ "mode": "lose" })).await;
        let reference = pay(&world, None).await;
        assert!(world.fetch(&reference).await.state.paid().is_some());
    }
}

#[tokio::test]
async fn a_webhook_that_was_changed_is_refused() {
    for world in worlds().await {
        let mut receiver = world.receiver().await;
        let payment = world.create(&request(1)).await.unwrap();
        world.press(&payment, "pay").await;
        let webhook = receiver.next().await;
        world.parse(&webhook).await.unwrap();
        let mut changed = webhook.clone();
        // The same value, in other bytes.
        changed.body.push(b' ');
        assert_eq!(world.parse(&changed).await, Err(WebhookError::SignatureMismatch));
        let text = String::from_utf8(webhook.body.clone()).unwrap();
        let body = text.replace(&payment.reference, "FORGED1").into_bytes();
        assert_ne!(body, webhook.body);
        let changed = Received { body, ..webhook };
        assert_eq!(world.parse(&changed).await, Err(WebhookError::SignatureMismatch));
    }
}

#[tokio::test]
async fn a_webhook_of_another_account_is_refused() {
    let Some(world) = World::stripe().await else { return };
    let mut receiver = world.receiver().await;
    pay(&world, None).await;
    let webhook = receiver.next().await;
    let parse = async |secrets: &[&str]| {
        let credentials = Credentials::Stripe(StripeCredentials {
            api_key: secret("sk_test_double"),
            webhook_secrets: secrets.iter().map(|&text| secret(text)).collect(),
        });
        let Received { headers, body } = &webhook;
        let now = crate::world::now();
        world.processors.parse_webhook(&credentials, headers, body, now).await
    };
    assert_eq!(parse(&["whsec_other"]).await, Err(WebhookError::SignatureMismatch));
    assert_eq!(parse(&[]).await, Err(WebhookError::SignatureMismatch));
    assert!(parse(&["whsec_new", "whsec_double"]).await.is_ok());
    let mut twice = webhook.clone();
    twice.headers.append("stripe-signature", HeaderValue::from_static("t=1,v1=00"));
    let refused = world.parse(&twice).await;
    assert_eq!(refused, Err(WebhookError::MissingHeader("stripe-signature")));
}
