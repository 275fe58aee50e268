//! `webhook_url` of the settings (docs/contract/webhooks.md#registration).

use axum::http::Method;
use identity::StoreScope;
use serde_json::{Value, json};

use super::{Merchant, URL, refusal};
use crate::app::TestApp;

async fn patch(merchant: &Merchant<'_>, body: Value) -> Value {
    let answer = merchant.send(Method::PATCH, "/settings", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["data"].clone()
}

#[tokio::test]
async fn a_webhook_url_creates_moves_and_removes_an_endpoint() {
    let app = TestApp::start().await;
    let (settings, webhooks) = (
        Merchant::of(&app, StoreScope::Settings).await,
        Merchant::of(&app, StoreScope::Webhooks).await,
    );
    let before = settings.get("/settings").await;
    assert!(before["webhook_url"].is_null() && before.get("webhook_secret").is_none());
    let created = patch(&settings, json!({ "webhook_url": URL })).await;
    assert_eq!(created["webhook_url"], URL);
    assert!(created["webhook_secret"].as_str().unwrap().starts_with("whsec_"), "{created}");
    assert_eq!(created["version"].as_i64(), before["version"].as_i64().map(|version| version + 1));
    assert!(settings.get("/settings").await.get("webhook_secret").is_none(), "it is shown once");
    let endpoints = webhooks.get("/webhooks").await;
    assert_eq!((&endpoints[0]["url"], &endpoints[0]["from_settings"]), (&json!(URL), &json!(true)));

    let moved = patch(&settings, json!({ "webhook_url": "https://203.0.113.8/" })).await;
    assert_eq!(moved["webhook_url"], "https://203.0.113.8/");
    assert!(moved.get("webhook_secret").is_none(), "the secret stays");
    let after = webhooks.get("/webhooks").await;
    assert_eq!(after.as_array().unwrap().len(), 1);
    assert_eq!(after[0]["endpoint_id"], endpoints[0]["endpoint_id"]);

    // What a patch does not name stays as it is, and an equal URL is no change.
    let same = patch(&settings, json!({ "webhook_url": "https://203.0.113.8" })).await;
    assert_eq!(same["version"], moved["version"]);
    let other = patch(&settings, json!({ "destination_required": true })).await;
    assert_eq!(other["webhook_url"], "https://203.0.113.8/");

    let removed = patch(&settings, json!({ "webhook_url": null })).await;
    assert!(removed["webhook_url"].is_null());
    assert_eq!(webhooks.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn settings_that_are_read_can_be_sent_back() {
    let app = TestApp::start().await;
    let settings = Merchant::of(&app, StoreScope::Settings).await;
    let created = patch(&settings, json!({ "webhook_url": URL })).await;
    assert!(created["webhook_secret"].is_string());
    let put = async |body: &Value| {
        let answer = settings.send(Method::PUT, "/settings", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["data"].clone()
    };
    let again = put(&created).await;
    assert_eq!((&again["version"], &again["webhook_url"]), (&created["version"], &json!(URL)));
    assert!(again.get("webhook_secret").is_none());
    let mut without = again.clone();
    without.as_object_mut().unwrap().remove("webhook_url");
    let without = put(&without).await;
    assert!(without["webhook_url"].is_null(), "a replacement resets what it does not name");
}

#[tokio::test]
async fn nothing_is_stored_if_a_part_of_the_settings_is_refused() {
    let app = TestApp::start().await;
    let (settings, webhooks) = (
        Merchant::of(&app, StoreScope::Settings).await,
        Merchant::of(&app, StoreScope::Webhooks).await,
    );
    let before = settings.get("/settings").await;
    let refused =
        async |body: Value| refusal(&settings.send(Method::PATCH, "/settings", &body).await);
    let private = json!({ "webhook_url": "https://10.0.0.1/", "destination_required": true });
    let (status, _, details) = refused(private).await;
    assert_eq!((status, &details["field"]), (400, &json!("webhook_url")));
    assert_eq!(details["reason"], "address_refused");
    let (status, ..) = refused(json!({ "webhook_url": URL, "gtin_source": "nonsense" })).await;
    assert_eq!(status, 400);
    let version = before["version"].as_i64().unwrap() + 7;
    let (status, ..) = refused(json!({ "webhook_url": URL, "version": version })).await;
    assert_eq!(status, 409);
    let (status, ..) = refused(json!({ "webhook_url": 7 })).await;
    assert_eq!(status, 400);
    assert_eq!(settings.get("/settings").await, before);
    assert_eq!(webhooks.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn a_changed_webhook_url_is_a_notice() {
    let app = TestApp::start().await;
    let settings = Merchant::of(&app, StoreScope::Settings).await;
    patch(&settings, json!({ "webhook_url": URL })).await;
    let notices = settings.get("/notices").await;
    assert_eq!(notices[0]["kind"], "settings_changed");
    assert_eq!(notices[0]["details"]["fields"], json!(["webhook_url"]));
}
