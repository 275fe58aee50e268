//! Which error each fault is.

use std::time::Duration;

use outbound::RequestError;
use processors::{
    CertificateAuthorities, Credentials, NotSent, PayPalCredentials, ProcessorError, Processors,
    StripeCredentials, UnknownOutcome,
};
use serde_json::json;

use crate::PATIENCE;
use crate::world::{World, client, endpoints, request, secret, worlds};

/// Every fault, and the error of the call that meets it.
fn faults() -> Vec<(&'static str, ProcessorError)> {
    let unknown = ProcessorError::Unknown;
    vec![
        ("drop_request", unknown(UnknownOutcome::Request(RequestError::ConnectionClosed))),
        ("drop_answer", unknown(UnknownOutcome::Request(RequestError::ConnectionClosed))),
        ("cut_body", unknown(UnknownOutcome::Request(RequestError::ConnectionClosed))),
        ("status_500", unknown(UnknownOutcome::ServerError(500))),
        ("status_500_after", unknown(UnknownOutcome::ServerError(500))),
        ("status_403_html", unknown(UnknownOutcome::Malformed)),
        ("malformed", unknown(UnknownOutcome::Malformed)),
        ("oversized", unknown(UnknownOutcome::Malformed)),
        ("status_429", ProcessorError::RateLimited { retry_after: Some(Duration::from_secs(7)) }),
    ]
}

#[tokio::test]
async fn each_fault_is_its_error() {
    for world in worlds().await {
        let payment = world.create(&request(1)).await.unwrap();
        for (number, (fault, expected)) in (2..).zip(faults()) {
            world.fault("create", fault).await;
            assert_eq!(world.create(&request(number)).await.unwrap_err(), expected, "{fault}");
            world.fault("fetch", fault).await;
            let fetched = world.processors.fetch(&world.credentials, &payment.reference).await;
            assert_eq!(fetched.unwrap_err(), expected, "{fault}");
        }
    }
}

#[tokio::test]
async fn a_late_answer_is_unknown() {
    for world in worlds().await {
        let late = json!({ "operation": "create", "fault": "delay", "milliseconds": 120_000 });
        world.control("faults", late).await;
        let impatient = world.impatient(Duration::from_secs(5));
        let error = impatient.create(&world.credentials, &request(1)).await.unwrap_err();
        let timeout = UnknownOutcome::Request(RequestError::Timeout);
        assert_eq!(error, ProcessorError::Unknown(timeout));
        assert_eq!(world.payments().await, 1, "the work was done");
    }
}

#[tokio::test]
async fn a_processor_that_is_not_there_got_nothing() {
    for world in worlds().await {
        // A port on which nothing listens.
        let endpoints = endpoints("http://127.0.0.1:9");
        let authorities = CertificateAuthorities::from_pem(b"");
        let processors = Processors::new(&client(PATIENCE), &endpoints, authorities).unwrap();
        let error = processors.create(&world.credentials, &request(1)).await.unwrap_err();
        let cause = NotSent::Request(RequestError::ConnectFailed);
        assert_eq!(error, ProcessorError::NotSent(cause));
    }
}

fn stripe(key: &str) -> Credentials {
    let api_key = secret(key);
    Credentials::Stripe(StripeCredentials { api_key, webhook_secrets: Vec::new() })
}

#[tokio::test]
async fn credentials_that_are_refused_are_not_returned() {
    let Some(world) = World::stripe().await else { return };
    for key in ["sk_test_revoked", "rk_test_without_permission"] {
        let error = world.processors.create(&stripe(key), &request(1)).await.unwrap_err();
        assert_eq!(error, ProcessorError::CredentialsRefused, "{key}");
        assert!(!format!("{error:?} {error}").contains(key));
    }
    assert_eq!(world.payments().await, 0);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let Some(world) = World::paypal().await else { return };
    for (fault, error) in faults() {
        world.fault("token", fault).await;
        let refused = world.create(&request(1)).await.unwrap_err();
        match error {
            ProcessorError::RateLimited { .. } => assert_eq!(refused, error),
            _ => assert!(matches!(refused, ProcessorError::NotSent(_)), "{fault}: {refused}"),
        }
    }
    assert_eq!(world.requests("create").await, 0);
    let Credentials::PayPal(credentials) = world.credentials.clone() else { unreachable!() };
    let credentials =
        Credentials::PayPal(PayPalCredentials { client_secret: secret("other"), ..credentials });
    let refused = world.processors.create(&credentials, &request(1)).await.unwrap_err();
    assert_eq!(refused, ProcessorError::CredentialsRefused);
    assert_eq!(world.requests("create").await, 0);
}

#[tokio::test]
async fn a_token_is_used_until_it_is_refused() {
    let Some(world) = World::paypal().await else { return };
    let (first, second) = (request(1), request(2));
    let (a, b) = tokio::join!(world.create(&first), world.create(&second));
    a.unwrap();
    b.unwrap();
    assert_eq!(world.requests("token").await, 1);
    world.control("revoke-tokens", json!({})).await;
    world.create(&request(3)).await.unwrap();
    assert_eq!(world.requests("token").await, 2);
    assert_eq!(world.payments().await, 3);
}

/// Calls can be made by tasks that move between threads.
#[tokio::test]
async fn calls_can_be_spawned() {
    fn is_send(_: impl Send) {}
    let authorities = CertificateAuthorities::from_pem(b"");
    let endpoints = endpoints("http://127.0.0.1:9");
    let processors = Processors::new(&client(PATIENCE), &endpoints, authorities).unwrap();
    let (credentials, request) = (stripe("sk_test_1"), request(1));
    is_send(processors.create(&credentials, &request));
    is_send(processors.fetch(&credentials, "a"));
    is_send(processors.capture(&credentials, "a", &request.key));
    is_send(processors.expire(&credentials, "a"));
    is_send(processors.fetch_refund(&credentials, "a"));
    let headers = http::HeaderMap::new();
    is_send(processors.parse_webhook(&credentials, &headers, b"", request.created_at));
}
