//! The npm package `stripe` as an oracle of signatures.

use std::process::Command;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::folder;
use crate::receiver::Received;
use crate::world::{World, now, request};

const SECRET: &str = "whsec_double";
const BODY: &str = r#"{"id":"evt_1","type":"checkout.session.completed","data":{"object":{"object":"checkout.session","id":"cs_1"}}}"#;

/// Runs the package, and returns what it prints and whether it accepts.
fn oracle(arguments: &[&str]) -> (String, bool) {
    let modules = folder().join("node_modules/stripe");
    assert!(modules.exists(), "run `npm ci` in dev/processors, or set SOUK_SKIP_NODE");
    let output = Command::new("node").arg(folder().join("oracle.mjs")).args(arguments).output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.stderr.is_empty(), "{errors}");
    (String::from_utf8(output.stdout).unwrap(), output.status.success())
}

fn signed(signature: &str, body: &str) -> Received {
    let name = HeaderName::from_static("stripe-signature");
    let headers = HeaderMap::from_iter([(name, HeaderValue::from_str(signature).unwrap())]);
    Received { headers, body: body.as_bytes().to_vec() }
}

#[tokio::test]
async fn a_header_of_the_package_is_accepted() {
    let Some(world) = World::stripe().await else { return };
    let time = now().unix_seconds();
    let (header, _) = oracle(&["sign", BODY, SECRET, &time.to_string()]);
    world.parse(&signed(&header, BODY)).await.unwrap();
    let (other, _) = oracle(&["sign", BODY, "whsec_other", &time.to_string()]);
    assert!(world.parse(&signed(&other, BODY)).await.is_err());
    // During the change of a secret there are two signatures.
    let (_, other) = other.split_once(',').unwrap();
    world.parse(&signed(&format!("{header},{other}"), BODY)).await.unwrap();
}

#[tokio::test]
async fn a_header_of_the_double_is_accepted_by_both() {
    let Some(world) = World::stripe().await else { return };
    let mut receiver = world.receiver().await;
    let payment = world.create(&request(1)).await.unwrap();
    world.press(&payment, "pay").await;
    let webhook = receiver.next().await;
    world.parse(&webhook).await.unwrap();
    let body = std::str::from_utf8(&webhook.body).unwrap();
    let header = webhook.headers["stripe-signature"].to_str().unwrap();
    let time = now().unix_seconds();
    let accepts = |body: &str, secret: &str, at: i64| {
        oracle(&["verify", body, secret, header, &at.to_string()]).1
    };
    assert!(accepts(body, SECRET, time));
    assert!(!accepts(body, "whsec_other", time));
    assert!(!accepts(&format!("{body} "), SECRET, time));
    assert!(!accepts(body, SECRET, time + 400));
    // The package accepts a timestamp of the future; we do not.
    assert!(accepts(body, SECRET, time - 400));
    let Received { headers, body } = &webhook;
    let before = now().minus(std::time::Duration::from_secs(400));
    let early = world.processors.parse_webhook(&world.credentials, headers, body, before).await;
    assert_eq!(early, Err(processors::WebhookError::OutsideTolerance));
}
