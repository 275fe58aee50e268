//! The certificates with which PayPal signs webhooks.

use http::HeaderValue;
use processors::{Credentials, PayPalCredentials, PayPalEnvironment, WebhookError};
use serde_json::json;

use crate::receiver::Received;
use crate::world::{World, now, request};

const CERTIFICATE_URL: &str = "paypal-cert-url";

impl World {
    /// Returns a webhook that was signed with one of the certificates of the double.
    async fn signed_with(&self, certificate: &str) -> Received {
        self.control("certificate", json!({ "name": certificate })).await;
        let mut receiver = self.receiver().await;
        let payment = self.create(&request(now().unix_micros().unsigned_abs().into())).await;
        self.press(&payment.unwrap(), "pay").await;
        receiver.next().await
    }
}

fn with_certificate_url(webhook: &Received, url: &str) -> Received {
    let mut changed = webhook.clone();
    changed.headers.insert(CERTIFICATE_URL, HeaderValue::from_str(url).unwrap());
    changed
}

#[tokio::test]
async fn only_a_valid_certificate_of_paypal_is_trusted() {
    let Some(world) = World::paypal().await else { return };
    for (certificate, expected) in [
        ("valid", Ok(())),
        ("expired", Err(WebhookError::CertificateRefused)),
        ("other_name", Err(WebhookError::CertificateRefused)),
        ("other_authority", Err(WebhookError::CertificateRefused)),
    ] {
        let webhook = world.signed_with(certificate).await;
        assert_eq!(world.parse(&webhook).await.map(drop), expected, "{certificate}");
    }
}

#[tokio::test]
async fn a_signature_belongs_to_its_certificate() {
    let Some(world) = World::paypal().await else { return };
    let webhook = world.signed_with("other_authority").await;
    let valid = format!("{}/v1/notifications/certs/CERT-valid", world.address());
    let refused = world.parse(&with_certificate_url(&webhook, &valid)).await;
    assert_eq!(refused, Err(WebhookError::SignatureMismatch));
}

#[tokio::test]
async fn a_certificate_is_fetched_once_and_expires() {
    let Some(world) = World::paypal().await else { return };
    let webhook = world.signed_with("valid").await;
    let (a, b) = tokio::join!(world.parse(&webhook), world.parse(&webhook));
    assert_eq!(a.unwrap(), b.unwrap());
    assert_eq!(world.requests("certificate").await, 1);
    let Received { headers, body } = &webhook;
    let later = now().plus(std::time::Duration::from_hours(24 * 91));
    let (processors, credentials) = (&world.processors, &world.credentials);
    let mut renewed = headers.clone();
    let time = HeaderValue::from_str(&later.to_string()).unwrap();
    renewed.insert("paypal-transmission-time", time);
    let refused = processors.parse_webhook(credentials, &renewed, body, later).await;
    assert_eq!(refused, Err(WebhookError::CertificateRefused));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_fetched_is_fetched_later() {
    let Some(world) = World::paypal().await else { return };
    let webhook = world.signed_with("valid").await;
    for fault in ["status_500", "drop_answer", "oversized"] {
        world.fault("certificate", fault).await;
        let error = world.parse(&webhook).await.unwrap_err();
        assert!(matches!(error, WebhookError::CertificateUnavailable(_)), "{fault}: {error}");
        assert!(error.is_transient());
    }
    world.parse(&webhook).await.unwrap();
}

#[tokio::test]
async fn certificates_are_fetched_from_paypal_only() {
    let Some(world) = World::paypal().await else { return };
    let webhook = world.signed_with("valid").await;
    let other = World::paypal().await.unwrap();
    for url in [
        format!("{}/v1/notifications/certs/CERT-valid", other.address()),
        format!("{}/control/authority", world.address()),
        format!("{}/v1/notifications/certs/CERT-valid?a=b", world.address()),
        "https://api.paypal.com/v1/notifications/certs/CERT-1".to_owned(),
    ] {
        let refused = world.parse(&with_certificate_url(&webhook, &url)).await;
        assert_eq!(refused, Err(WebhookError::CertificateUrlRefused), "{url}");
    }
    assert_eq!(other.requests("certificate").await + world.requests("certificate").await, 0);
}

#[tokio::test]
async fn forged_webhooks_cause_a_limited_number_of_requests() {
    let Some(world) = World::paypal().await else { return };
    let webhook = world.signed_with("valid").await;
    world.parse(&webhook).await.unwrap();
    for number in 0..30 {
        let url = format!("{}/v1/notifications/certs/CERT-{number}", world.address());
        let error = world.parse(&with_certificate_url(&webhook, &url)).await.unwrap_err();
        assert!(error.is_transient());
    }
    assert_eq!(world.requests("certificate").await, 10);
    assert!(world.parse(&webhook).await.is_ok(), "a known certificate needs no request");
}

#[tokio::test]
async fn a_webhook_of_another_application_or_system_is_refused() {
    let Some(world) = World::paypal().await else { return };
    let Received { headers, body } = world.signed_with("valid").await;
    let Credentials::PayPal(credentials) = world.credentials.clone() else { unreachable!() };
    let other = PayPalCredentials { webhook_id: "OTHER".to_owned(), ..credentials.clone() };
    let live = PayPalCredentials { environment: PayPalEnvironment::Live, ..credentials };
    for (credentials, error) in
        [(other, WebhookError::SignatureMismatch), (live, WebhookError::CertificateUrlRefused)]
    {
        let credentials = Credentials::PayPal(credentials);
        let refused = world.processors.parse_webhook(&credentials, &headers, &body, now()).await;
        assert_eq!(refused, Err(error));
    }
}
