//! Webhooks of a store over REST (docs/contract/merchant-api.md#webhooks), from the endpoint to the receiver.

mod receiver;
mod settings;

use std::time::Duration;

use axum::http::Method;
use database::Work;
use identity::StoreScope;
use merchants::{Administration, StoreStatus};
use primitives::EventId;
use serde_json::{Value, json};
use webhooks::{Dispatcher, DispatcherSettings, SealingKey};

use crate::app::{TestApp, TestResponse, outbound_client, secret};
use crate::order_tools::shop::Shopper;
use receiver::Receiver;

const STORE: &str = "kivikiri";
const URL: &str = "https://203.0.113.7/hook";

/// The merchant of a store, with a key.
struct Merchant<'app> {
    app: &'app TestApp,
    header: String,
}

impl<'app> Merchant<'app> {
    async fn of(app: &'app TestApp, scope: StoreScope) -> Self {
        Self::with(app, &[scope]).await
    }

    async fn with(app: &'app TestApp, scopes: &[StoreScope]) -> Self {
        let key = app.scoped_store_key(STORE, scopes).await;
        Self { app, header: format!("Bearer {key}") }
    }

    async fn with_headers(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> TestResponse {
        let headers = [&[("authorization", self.header.as_str())][..], headers].concat();
        self.app.request(method, &format!("/merchant{path}"), &headers, body).await
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> TestResponse {
        self.with_headers(method, path, &[], body).await
    }

    async fn get(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["data"].clone()
    }

    async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send(Method::POST, path, body).await
    }

    /// Creates an endpoint and returns its path and its secret.
    async fn endpoint(&self, body: &Value) -> (String, String) {
        let made = self.post("/webhooks", body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let data = &made.json()["data"];
        let path = format!("/webhooks/{}", data["endpoint_id"].as_str().unwrap());
        (path, data["secret"].as_str().unwrap().to_owned())
    }
}

/// Delivers what is due.
async fn deliver(app: &TestApp) -> usize {
    let sealing = SealingKey::new(secret().derived_key(SealingKey::PURPOSE));
    let settings = DispatcherSettings { slots: 16, lease: Duration::from_secs(15) };
    let database = app.test.database().clone();
    let dispatcher = Dispatcher::new(database, sealing, outbound_client(), settings);
    dispatcher.run_until_idle().await.unwrap()
}

fn refusal(answer: &TestResponse) -> (u16, String, Value) {
    (answer.status.as_u16(), answer.code(), answer.json()["details"].clone())
}

#[tokio::test]
async fn an_endpoint_is_created_with_a_secret_that_is_shown_once() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let (path, secret) = merchant.endpoint(&json!({ "url": URL, "description": " mine " })).await;
    assert!(secret.starts_with("whsec_"), "{secret}");
    let listed = merchant.send(Method::GET, "/webhooks", &Value::Null).await;
    assert_eq!(listed.json()["meta"], json!({ "total": 1, "page": 1, "limit": 20 }));
    let read = merchant.get(&path).await;
    for text in [listed.text, read.to_string()] {
        assert!(!text.contains("secret\"") && !text.contains(&secret), "{text}");
    }
    assert_eq!((&read["url"], &read["description"]), (&json!(URL), &json!("mine")));
    let default = ["order.created", "order.status_changed", "checkout.abandoned"];
    assert_eq!(read["events"], json!(default));
    assert_eq!((&read["status"], &read["from_settings"]), (&json!("enabled"), &json!(false)));
    assert_eq!(read["health"]["state"], "untried");
}

#[tokio::test]
async fn an_endpoint_is_changed_if_its_version_is_the_expected_one() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let (path, _) = merchant.endpoint(&json!({ "url": URL })).await;
    let edit = async |if_match: &str, body: Value| {
        let headers = [("if-match", if_match)];
        merchant.with_headers(Method::PATCH, &path, &headers, &body).await
    };
    let changed =
        edit("\"1\"", json!({ "events": ["order.refunded"], "status": "disabled" })).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert_eq!(changed.headers["etag"], "\"2\"");
    let data = &changed.json()["data"];
    assert_eq!((&data["url"], &data["events"]), (&json!(URL), &json!(["order.refunded"])));
    assert_eq!(
        (&data["status"], &data["disabled_reason"]),
        (&json!("disabled"), &json!("merchant"))
    );
    let (status, code, details) = refusal(&edit("\"1\"", json!({ "status": "enabled" })).await);
    assert_eq!((status, code.as_str()), (409, "invalid_status_transition"));
    assert_eq!(details["current_version"], 2);
    // Nothing is sent to a disabled endpoint, on request neither.
    let (status, _, details) = refusal(&merchant.post(&format!("{path}/test"), &Value::Null).await);
    assert_eq!((status, &details["reason"]), (409, &json!("endpoint_disabled")));
}

#[tokio::test]
async fn an_unknown_kind_of_events_is_answered_with_the_nearest_one() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    for (sent, nearest) in [
        ("order.create", json!("order.created")),
        ("order_refunded", json!("order.refunded")),
        ("invoice.paid", Value::Null),
        // Tests are sent on request only.
        ("webhook.test", Value::Null),
    ] {
        let new = json!({ "url": URL, "events": ["dispute.opened", sent] });
        let (status, code, details) = refusal(&merchant.post("/webhooks", &new).await);
        assert_eq!((status, code.as_str()), (400, "invalid_request"), "{sent}");
        assert_eq!((&details["field"], &details["did_you_mean"]), (&json!("events[1]"), &nearest));
        let allowed = details["allowed"]["enum"].as_array().unwrap();
        assert!(allowed.len() == 10 && !allowed.contains(&json!("webhook.test")), "{details}");
    }
    let (status, _, details) =
        refusal(&merchant.post("/webhooks", &json!({ "url": URL, "events": [] })).await);
    assert_eq!((status, &details["field"]), (400, &json!("events")));
    assert_eq!(merchant.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn a_store_that_is_not_open_gets_its_events_and_manages_its_endpoints() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let (path, _) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    let shopper = Shopper::at(&app, STORE, app.buyer_key("me@example.com").await).await;
    let reason = "holidays".parse().unwrap();
    let by = Administration { actor: identity::Actor::Operator, reason: &reason };
    for status in [StoreStatus::Paused, StoreStatus::Suspended, StoreStatus::Closed] {
        let order = shopper.buy(1).await;
        let mut work = Work::for_platform(app.test.database()).await.unwrap();
        merchants::set_status(&mut work, by, shopper.store.merchant, status).await.unwrap();
        work.commit().await.unwrap();
        assert_eq!(deliver(&app).await, 1, "{status}");
        assert_eq!(receiver.requests().last().unwrap().json()["orderId"], json!(order));
        let sent = merchant.post(&format!("{path}/test"), &Value::Null).await;
        assert_eq!(sent.status, 202, "{status}: {}", sent.text);
        assert_eq!(deliver(&app).await, 1, "{status}");
        let mut work = Work::for_platform(app.test.database()).await.unwrap();
        let open = StoreStatus::Open;
        merchants::set_status(&mut work, by, shopper.store.merchant, open).await.unwrap();
        work.commit().await.unwrap();
    }
}

#[tokio::test]
async fn a_deleted_endpoint_is_gone() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let (path, _) = merchant.endpoint(&json!({ "url": URL })).await;
    let deleted = merchant.send(Method::DELETE, &path, &Value::Null).await;
    assert_eq!((deleted.status.as_u16(), &deleted.json()["data"]["deleted"]), (200, &json!(true)));
    for method in [Method::GET, Method::DELETE] {
        let (status, code, _) = refusal(&merchant.send(method, &path, &Value::Null).await);
        assert_eq!((status, code.as_str()), (404, "not_found"));
    }
}

#[tokio::test]
async fn a_repeated_creation_creates_one_endpoint_and_shows_no_secret_again() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let create = async |url: &str| {
        let headers = [("idempotency-key", "one")];
        merchant.with_headers(Method::POST, "/webhooks", &headers, &json!({ "url": url })).await
    };
    let (first, second) = (create(URL).await.json(), create(URL).await.json());
    assert_eq!(first["data"]["endpoint_id"], second["data"]["endpoint_id"]);
    assert!(first["data"]["secret"].is_string() && second["data"]["secret"].is_null());
    assert_eq!(create("https://203.0.113.8/").await.code(), "idempotency_conflict");
    assert_eq!(merchant.get("/webhooks").await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_repeated_test_or_redelivery_is_sent_once() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let (path, _) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    let post = async |key: &str, path: &str| {
        let headers = [("idempotency-key", key)];
        let answer = merchant.with_headers(Method::POST, path, &headers, &Value::Null).await;
        (answer.status.as_u16(), answer.json())
    };
    let test = format!("{path}/test");
    let first = post("one", &test).await;
    assert_eq!(first.0, 202, "{}", first.1);
    assert_eq!(post("one", &test).await.1["data"], first.1["data"]);
    assert_eq!(deliver(&app).await, 1);
    let event = first.1["data"]["event_id"].as_str().unwrap();
    let redeliver = format!("{path}/deliveries/{event}/redeliver");
    let (status, conflict) = post("one", &redeliver).await;
    assert_eq!((status, &conflict["error"]), (409, &json!("idempotency_conflict")));
    app.test.clock().advance(Duration::from_secs(5));
    let (status, again) = post("two", &redeliver).await;
    assert_eq!((status, &again["data"]["status"]), (202, &json!("pending")));
    assert_eq!(post("two", &redeliver).await.1["data"], again["data"]);
    assert_eq!(deliver(&app).await, 1);
    let (status, done) = post("two", &redeliver).await;
    assert_eq!((status, &done["data"]["status"]), (202, &json!("delivered")), "as it is now");
    assert_eq!(deliver(&app).await, 0);
    assert_eq!(receiver.requests().len(), 2);
}

#[tokio::test]
async fn a_store_has_at_most_twenty_endpoints() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    for _ in 0..20 {
        merchant.endpoint(&json!({ "url": URL })).await;
    }
    let (status, code, details) =
        refusal(&merchant.post("/webhooks", &json!({ "url": URL })).await);
    assert_eq!((status, code.as_str()), (409, "invalid_status_transition"));
    assert_eq!(
        (&details["reason"], &details["maximum"]),
        (&json!("endpoint_limit_reached"), &json!(20))
    );
}

#[tokio::test]
async fn an_address_that_is_not_public_is_refused() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    for (url, reason) in [
        ("https://10.0.0.1/hook", json!("address_refused")),
        ("https://[::1]/hook", json!("address_refused")),
        ("https://169.254.169.254/latest", json!("address_refused")),
        ("https://user@203.0.113.7/", Value::Null),
        ("ftp://203.0.113.7/", Value::Null),
        ("hook", Value::Null),
    ] {
        let (status, code, details) =
            refusal(&merchant.post("/webhooks", &json!({ "url": url })).await);
        assert_eq!((status, code.as_str()), (400, "invalid_request"), "{url}");
        assert_eq!((&details["field"], &details["reason"]), (&json!("url"), &reason), "{url}");
        assert!(details["allowed"].as_str().unwrap().starts_with("an https URL"), "{details}");
    }
    assert_eq!(merchant.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn a_key_without_the_scope_is_refused() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Orders).await;
    for path in ["/webhooks", "/webhooks/events"] {
        let (status, code, details) =
            refusal(&merchant.send(Method::GET, path, &Value::Null).await);
        assert_eq!((status, code.as_str()), (403, "forbidden"));
        assert_eq!(details["required_scope"], "webhooks");
    }
}

#[tokio::test]
async fn a_test_event_is_delivered_and_signed_with_both_secrets_after_a_rotation() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let (path, first) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    let rotated = merchant.post(&format!("{path}/rotate-secret"), &Value::Null).await;
    assert_eq!(rotated.status, 200, "{}", rotated.text);
    let second = rotated.json()["data"]["secret"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    let sent = merchant.post(&format!("{path}/test"), &Value::Null).await;
    assert_eq!(sent.status, 202, "{}", sent.text);
    let event: EventId = sent.json()["data"]["event_id"].as_str().unwrap().parse().unwrap();
    let waiting = merchant.get(&format!("{path}/deliveries/{event}")).await;
    assert_eq!((&waiting["status"], &waiting["attempt_count"]), (&json!("pending"), &json!(0)));
    assert_eq!(deliver(&app).await, 1);
    let [request] = receiver.requests().try_into().unwrap();
    assert_eq!(request.json()["event"], "webhook.test");
    assert_eq!(request.headers["webhook-id"], event.to_string());
    assert!(request.is_signed_with(&first) && request.is_signed_with(&second));
    let done = merchant.get(&format!("{path}/deliveries/{event}")).await;
    assert_eq!(
        (&done["status"], &done["attempts"][0]["response_status"]),
        (&json!("delivered"), &json!(200))
    );
    assert_eq!(done["attempts"][0]["response_excerpt"], "thanks");
    assert_eq!(merchant.get(&path).await["health"]["state"], "healthy");
    assert_eq!(
        merchant.get("/webhooks/events?since=2026-11-01T00:00:00Z").await["events"],
        json!([])
    );
}

#[tokio::test]
async fn an_order_is_delivered_sent_again_and_recovered_with_the_same_bytes() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let (path, secret) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    let shopper = Shopper::at(&app, STORE, app.buyer_key("me@example.com").await).await;
    let order = shopper.buy(1).await;
    assert_eq!(deliver(&app).await, 1);
    let listed = merchant.get(&format!("{path}/deliveries?status=delivered")).await;
    let event = listed[0]["event_id"].as_str().unwrap().to_owned();
    assert_eq!(
        (listed.as_array().unwrap().len(), &listed[0]["event"]),
        (1, &json!("order.created"))
    );
    app.test.clock().advance(Duration::from_secs(5));
    let again = merchant.post(&format!("{path}/deliveries/{event}/redeliver"), &Value::Null).await;
    assert_eq!((again.status.as_u16(), &again.json()["data"]["status"]), (202, &json!("pending")));
    assert_eq!(deliver(&app).await, 1);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].json()["orderId"], json!(order));
    assert_eq!(requests[0].body, requests[1].body);
    assert_ne!(
        requests[0].headers["x-webhook-signature"],
        requests[1].headers["x-webhook-signature"]
    );
    assert!(requests.iter().all(|request| request.is_signed_with(&secret)));
    // An endpoint that was created later has missed the event.
    let (later, _) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    let recover = async || {
        let range = json!({ "since": "2026-11-15T00:00:00Z", "until": "2026-11-16T00:00:00Z" });
        let answer = merchant.post(&format!("{later}/recover"), &range).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        answer.json()["data"].clone()
    };
    assert_eq!(recover().await, json!({ "queued": 1 }));
    assert_eq!(recover().await, json!({ "queued": 0 }));
    assert_eq!(deliver(&app).await, 1);
    assert_eq!(receiver.requests()[2].body, requests[0].body);
    let backwards = json!({ "since": "2026-11-16T00:00:00Z", "until": "2026-11-15T00:00:00Z" });
    let (status, _, details) =
        refusal(&merchant.post(&format!("{later}/recover"), &backwards).await);
    assert_eq!((status, &details["field"]), (400, &json!("until")));
}

#[tokio::test]
async fn events_are_listed_with_the_bytes_that_endpoints_receive() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let every_kind =
        json!({ "url": receiver.url(), "events": ["order.created", "order.status_changed"] });
    merchant.endpoint(&every_kind).await;
    let now = merchant.get("/webhooks/events").await;
    assert_eq!((&now["events"], &now["has_more"]), (&json!([]), &json!(false)));
    assert_eq!(now["store"], STORE);
    let shopper = Shopper::at(&app, STORE, app.buyer_key("me@example.com").await).await;
    let order = shopper.buy(1).await;
    shopper.ship(order).await;
    let count = deliver(&app).await;
    assert!(count >= 2, "{count}");
    let cursor = now["next_cursor"].as_str().unwrap();
    let listed = merchant.get(&format!("/webhooks/events?cursor={cursor}&limit=100")).await;
    let mut bodies: Vec<_> = listed["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["body"].as_str().unwrap())
        .collect();
    let requests = receiver.requests();
    let mut posted: Vec<_> = requests.iter().map(|request| request.body.as_str()).collect();
    bodies.sort_unstable();
    posted.sort_unstable();
    assert_eq!(bodies, posted);
    for query in
        ["cursor=x", "since=yesterday", &format!("since=2026-11-15T00:00:00Z&cursor={cursor}")]
    {
        let answer =
            merchant.send(Method::GET, &format!("/webhooks/events?{query}"), &Value::Null).await;
        assert_eq!(
            (answer.status.as_u16(), answer.code().as_str()),
            (400, "invalid_request"),
            "{query}"
        );
    }
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_and_can_be_enabled_again() {
    let app = TestApp::start().await;
    let merchant = Merchant::of(&app, StoreScope::Webhooks).await;
    let receiver = Receiver::start().await;
    let (path, _) = merchant.endpoint(&json!({ "url": receiver.url() })).await;
    receiver.respond_with(410);
    merchant.post(&format!("{path}/test"), &Value::Null).await;
    deliver(&app).await;
    let read = merchant.get(&path).await;
    assert_eq!((&read["status"], &read["disabled_reason"]), (&json!("disabled"), &json!("gone")));
    let enabled = merchant.send(Method::PATCH, &path, &json!({ "status": "enabled" })).await.json();
    assert_eq!(enabled["data"]["status"], "enabled");
    assert!(enabled["data"].get("disabled_reason").is_none());
}
