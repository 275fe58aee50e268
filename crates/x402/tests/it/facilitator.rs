//! Requests to a facilitator, and what follows if there is no response.

use std::time::Duration;

use http::HeaderValue;
use outbound::{Client, DestinationError, Policy, RequestError, Settings};
use serde_json::{Value, json};
use x402::{
    Facilitator, FacilitatorError, SettleOutcome, TransactionHash, UnknownReason, VerifyOutcome,
};

use crate::server::{Reply, Request, Server};
use crate::{client, example};

/// For servers that respond, however busy the machine is.
const PATIENT: Duration = Duration::from_mins(1);

fn facilitator(url: &str) -> Facilitator {
    Facilitator::new(client(PATIENT), url, None).unwrap()
}

async fn settle(url: &str) -> SettleOutcome {
    let (required, payload) = example();
    facilitator(url).settle(&required.accepts[0], &payload).await
}

async fn responding(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |_: &Request| reply()).await
}

fn unknown(reason: UnknownReason) -> SettleOutcome {
    SettleOutcome::Unknown { reason, hint: None, facilitator_reason: None }
}

#[tokio::test]
async fn a_request_has_the_payment_and_the_quote() {
    let transaction = TransactionHash::new([7; 32]);
    let body = json!({"success": true, "transaction": transaction, "network": "eip155:84532"});
    let server = responding(move || Reply::Json(200, body.to_string())).await;
    let (required, payload) = example();
    let token = Some(HeaderValue::from_static("Bearer Secret"));
    let url = format!("{}/v2/x402/", server.url());
    let facilitator = Facilitator::new(client(PATIENT), &url, token).unwrap();
    assert!(!format!("{facilitator:?}").contains("Secret"));
    let quoted = &required.accepts[0];
    for _ in 0..2 {
        let outcome = facilitator.settle(quoted, &payload).await;
        assert_eq!(outcome, SettleOutcome::Claimed { transaction });
    }
    let requests = server.requests();
    assert!(requests[0].head.starts_with("POST /v2/x402/settle HTTP/1.1\r\n"));
    assert_eq!(requests[0].header("authorization"), Some("Bearer Secret"));
    assert_eq!(requests[0].header("content-type"), Some("application/json"));
    let expected = json!({
        "x402Version": 2,
        "paymentPayload": payload,
        "paymentRequirements": quoted,
    });
    assert_eq!(serde_json::from_str::<Value>(&requests[0].body).unwrap(), expected);
    assert_eq!(requests[0].body, requests[1].body, "a repeated request is the same");
}

#[tokio::test]
async fn a_payment_that_was_never_sent_is_told_apart() {
    // Nobody listens on a port that was just released.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let refused = settle(&format!("http://127.0.0.1:{port}")).await;
    assert_eq!(refused, SettleOutcome::NotSent { error: RequestError::ConnectFailed });
    let unresolved = settle("http://facilitator.invalid").await;
    assert_eq!(unresolved, SettleOutcome::NotSent { error: RequestError::DnsFailed });
    // An address that the operator denies.
    let server = responding(|| Reply::Close).await;
    let policy =
        Policy { allow_http: true, allowed_networks: vec!["127.0.0.0/8".parse().unwrap()] };
    let denied_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let denying = Client::new(Settings { policy, denied_networks, ..Settings::default() });
    let facilitator = Facilitator::new(denying.unwrap(), &server.url(), None).unwrap();
    let (required, payload) = example();
    let denied = facilitator.settle(&required.accepts[0], &payload).await;
    assert_eq!(denied, SettleOutcome::NotSent { error: RequestError::AddressRefused });
    // One that the policy does not permit.
    let strict = Client::new(Settings::default()).unwrap();
    let found = Facilitator::new(strict, &server.url(), None).map(drop);
    assert_eq!(found, Err(DestinationError::Scheme));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_payment_without_a_response_is_unknown() {
    let server = responding(|| Reply::Hang).await;
    let (required, payload) = example();
    let impatient = client(Duration::from_secs(1));
    let facilitator = Facilitator::new(impatient, &server.url(), None).unwrap();
    let outcome = facilitator.settle(&required.accepts[0], &payload).await;
    assert_eq!(outcome, unknown(UnknownReason::Timeout));
    assert_eq!(server.requests().len(), 1);
    let server = responding(|| Reply::Close).await;
    assert_eq!(settle(&server.url()).await, unknown(UnknownReason::ConnectionLost));
    assert_eq!(server.requests().len(), 1, "it is not sent again");
}

#[tokio::test]
async fn a_response_beyond_the_limit_is_unknown() {
    let body = json!({
        "success": true,
        "transaction": TransactionHash::new([7; 32]),
        "padding": "a".repeat(x402::CHAIN_RESPONSE_MAX_BYTES),
    });
    let server = responding(move || Reply::Json(200, body.to_string())).await;
    assert_eq!(settle(&server.url()).await, unknown(UnknownReason::MalformedResponse));
}

#[tokio::test]
async fn opinions_and_kinds_are_read() {
    let server = Server::start(|request| {
        let body = if request.head.starts_with("POST /verify ") {
            json!({"isValid": false, "invalidReason": "insufficient_funds", "payer": ""})
        } else if request.head.starts_with("GET /supported ") {
            let kind = json!({"x402Version": 2, "scheme": "exact", "network": "eip155:84532"});
            json!({"kinds": [kind], "extensions": [], "signers": {}})
        } else {
            json!({})
        };
        Reply::Json(200, body.to_string())
    })
    .await;
    let (required, payload) = example();
    let quoted = &required.accepts[0];
    let facilitator = facilitator(&server.url());
    let facilitator_reason = Some("insufficient_funds".to_owned());
    let invalid = VerifyOutcome::Invalid { facilitator_reason };
    assert_eq!(facilitator.verify(quoted, &payload).await, Ok(invalid));
    assert!(facilitator.supported().await.unwrap().includes(quoted));
}

#[tokio::test]
async fn a_facilitator_that_is_down_has_no_opinion() {
    let server = responding(|| Reply::Json(503, String::new())).await;
    let (required, payload) = example();
    let facilitator = facilitator(&server.url());
    let unavailable = FacilitatorError::Status(http::StatusCode::SERVICE_UNAVAILABLE);
    let opinion = facilitator.verify(&required.accepts[0], &payload).await;
    assert_eq!(opinion, Err(unavailable));
    assert_eq!(facilitator.supported().await, Err(unavailable));
}

#[test]
fn a_url_with_a_query_is_refused() {
    let found = Facilitator::new(client(PATIENT), "http://127.0.0.1/?a=b", None).map(drop);
    assert_eq!(found, Err(DestinationError::Invalid));
}
