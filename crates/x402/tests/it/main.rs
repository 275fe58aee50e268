//! The clients of facilitators and chains, against servers on loopback that respond as a test says; and, if it is set up, the
//! reference implementation.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod chain;
mod facilitator;
mod reference;
mod server;

use std::time::Duration;

use outbound::{Client, Policy, Settings};
use x402::{CHAIN_RESPONSE_MAX_BYTES, Document, PaymentPayload, PaymentRequired};

/// A client that may connect to loopback.
fn client(total_timeout: Duration) -> Client {
    let policy =
        Policy { allow_http: true, allowed_networks: vec!["127.0.0.0/8".parse().unwrap()] };
    // Without a name server, so that no test depends on the network.
    let nameservers = vec!["127.0.0.1:9".parse().unwrap()];
    let response_max_bytes = CHAIN_RESPONSE_MAX_BYTES;
    let settings =
        Settings { policy, nameservers, total_timeout, response_max_bytes, ..Settings::default() };
    Client::new(settings).unwrap()
}

/// A payment of the vectors, with the document that required it.
fn example() -> (PaymentRequired, PaymentPayload) {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    let header = |name: &str| vectors["payments"][0][name].as_str().unwrap().as_bytes();
    let required = PaymentRequired::from_header(header("paymentRequired")).unwrap();
    let payload = PaymentPayload::from_header(header("paymentSignature")).unwrap();
    (required, payload)
}

/// Responses of the reference implementation are those that are written here.
#[test]
fn documents_are_those_of_the_reference_implementation() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../vectors.json")).unwrap();
    for response in vectors["responses"].as_array().unwrap() {
        let header = response["header"].as_str().unwrap().as_bytes();
        let document = x402::SettlementResponse::from_header(header).unwrap();
        assert_eq!(serde_json::to_value(&document).unwrap(), response["json"]);
    }
    for payment in vectors["payments"].as_array().unwrap() {
        let header = payment["paymentRequired"].as_str().unwrap().as_bytes();
        let required = PaymentRequired::from_header(header).unwrap();
        let again = PaymentRequired::from_header(required.to_header().unwrap().as_bytes());
        assert_eq!(again, Ok(required.clone()));
        let header = payment["paymentSignature"].as_str().unwrap().as_bytes();
        let payload = PaymentPayload::from_header(header).unwrap();
        assert_eq!(payload.resource.unwrap(), required.resource);
        assert_eq!(payload.extensions, required.extensions);
    }
}
