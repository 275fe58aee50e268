//! Responses of the webhook endpoints have the form that the OpenAPI document describes.

use axum::body::Body;
use axum::http::Method;
use outbound::RequestError;
use serde_json::{Value, json};

use crate::door::{Answer, SITE_URL};
use crate::market::{Market, Shop};
use crate::openapi::assert_described_for;

const URL: &str = "https://203.0.113.7/hook";

/// The merchant, whose responses are compared with their descriptions.
struct Merchant {
    market: Market,
    shop: Shop,
}

impl Merchant {
    async fn new() -> Self {
        let (market, shop) = Market::with_shop().await;
        Self { market, shop }
    }

    /// Calls a path, of which `template` is the path in the document.
    async fn call(&self, method: Method, template: &str, path: &str, body: &Value) -> Answer {
        let sent = if body.is_null() { Body::empty() } else { body.to_string().into() };
        let answer =
            self.market.send(&self.shop, method.clone(), path, "application/json", sent).await;
        let method = method.as_str().to_lowercase();
        let template = format!("/merchant/webhooks{template}");
        assert_described_for(&method, &template, &answer);
        answer
    }

    async fn create(&self) -> String {
        let made = self.call(Method::POST, "", "/webhooks", &json!({ "url": URL })).await;
        assert_eq!(made.status, 201, "{}", made.body);
        format!("/webhooks/{}", made.body["data"]["endpoint_id"].as_str().unwrap())
    }
}

#[test]
fn values_are_plain_lists_in_the_document() {
    let document = rest::openapi(SITE_URL);
    let schemas = &document["components"]["schemas"];
    for (name, count) in [
        ("EventKind", 11),
        ("EndpointStatus", 2),
        ("DisabledReason", 3),
        ("DeliveryStatus", 3),
        ("AttemptOutcome", 3),
        ("HealthState", 3),
    ] {
        let values = schemas[name]["enum"].as_array();
        assert_eq!(values.map(Vec::len), Some(count), "{name}: {}", schemas[name]);
    }
    let text = document["paths"]["/merchant/webhooks"]["post"]["requestBody"].to_string()
        + &schemas["CreateEndpointRequest"].to_string()
        + &schemas["SelectableEventKind"].to_string();
    assert!(text.contains("dispute.resolved") && !text.contains("webhook.test"), "{text}");
}

#[test]
fn the_url_of_the_settings_is_as_long_as_that_of_an_endpoint() {
    let document = rest::openapi(SITE_URL);
    let url = &document["components"]["schemas"]["SettingsRecord"]["properties"]["webhook_url"];
    assert_eq!(url["maxLength"], webhooks::Endpoint::URL_BYTES_MAX, "{url}");
    assert_eq!(url["nullable"], true, "{url}");
    assert!(url.get("default").is_none(), "an omitted URL stays as it is: {url}");
}

#[test]
fn every_error_of_an_attempt_is_documented() {
    let document = include_str!("../../../../docs/contract/merchant-api.md");
    let (_, clause) = document.split_once("<a id=\"attempt-errors\"></a>").unwrap();
    let clause = clause.split("<a id=").next().unwrap();
    let of_souk = ["body_expired", "quarantined"];
    for word in RequestError::ALL.iter().map(|error| error.as_str()).chain(of_souk) {
        assert!(clause.contains(&format!("`{word}`")), "{word} is missing");
    }
}

#[tokio::test]
async fn endpoints_are_as_described() {
    let merchant = Merchant::new().await;
    let path = merchant.create().await;
    let (one, none) = ("/{endpoint_id}", Value::Null);
    let sub = |name: &str| format!("{path}/{name}");
    let all = || String::from("/webhooks");
    let disabled = json!({ "description": "mine", "status": "disabled" });
    let private = json!({ "url": "https://10.0.0.1/" });
    let unknown = json!({ "url": URL, "events": ["order.lost"] });
    for (method, template, path, body, status) in [
        (Method::GET, "", all(), &none, 200),
        (Method::GET, one, path.clone(), &none, 200),
        (Method::PATCH, one, path.clone(), &disabled, 200),
        (Method::PATCH, one, path.clone(), &json!({ "version": 1 }), 409),
        (Method::PATCH, one, path.clone(), &private, 400),
        (Method::POST, "/{endpoint_id}/rotate-secret", sub("rotate-secret"), &none, 200),
        (Method::POST, "/{endpoint_id}/test", sub("test"), &none, 409),
        (Method::POST, "", all(), &json!({ "url": "http://203.0.113.7/" }), 400),
        (Method::POST, "", all(), &unknown, 400),
        (Method::DELETE, one, path.clone(), &none, 200),
        (Method::DELETE, one, path.clone(), &none, 404),
    ] {
        let answer = merchant.call(method.clone(), template, &path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    }
}

#[tokio::test]
async fn deliveries_and_events_are_as_described() {
    let merchant = Merchant::new().await;
    let path = merchant.create().await;
    let none = &Value::Null;
    let test = "/{endpoint_id}/test";
    let sent = merchant.call(Method::POST, test, &format!("{path}/test"), none).await;
    assert_eq!(sent.status, 202, "{}", sent.body);
    let event = sent.body["data"]["event_id"].as_str().unwrap();
    let (list, one) = ("/{endpoint_id}/deliveries", "/{endpoint_id}/deliveries/{event_id}");
    let again = "/{endpoint_id}/deliveries/{event_id}/redeliver";
    let recover = "/{endpoint_id}/recover";
    let (since, never) = ("2026-11-01T00:00:00Z", "evt_0000000000000000000000000000abcd");
    for (method, template, path, body, status) in [
        (Method::GET, list, format!("{path}/deliveries?status=pending&limit=1"), none, 200),
        (Method::GET, list, format!("{path}/deliveries?cursor=x"), none, 400),
        (Method::GET, one, format!("{path}/deliveries/{event}"), none, 200),
        (Method::GET, one, format!("{path}/deliveries/{never}"), none, 404),
        (Method::POST, again, format!("{path}/deliveries/{event}/redeliver"), none, 202),
        (Method::POST, again, format!("{path}/deliveries/{never}/redeliver"), none, 404),
        (Method::POST, recover, format!("{path}/recover"), &json!({ "since": since }), 202),
        (Method::POST, recover, format!("{path}/recover"), &json!({}), 400),
        (Method::GET, "/events", format!("/webhooks/events?since={since}"), none, 200),
        (Method::GET, "/events", String::from("/webhooks/events?cursor=x"), none, 400),
    ] {
        let answer = merchant.call(method.clone(), template, &path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    }
}
