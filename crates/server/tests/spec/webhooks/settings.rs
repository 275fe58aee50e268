//! `webhook_url` of the settings (docs/contract/webhooks.md#registration).

use std::time::Duration;

use axum::http::Method;
use identity::{Role, StoreScope};
use serde_json::{Value, json};

use super::{Merchant, STORE, URL, refusal};
use crate::app::TestApp;

async fn patch(merchant: &Merchant<'_>, body: Value) -> Value {
    let answer = merchant.send(Method::PATCH, "/settings", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["data"].clone()
}

/// Returns a merchant whose key has both scopes that `webhook_url` needs, and one that reads endpoints.
async fn merchants(app: &TestApp) -> (Merchant<'_>, Merchant<'_>) {
    let both = [StoreScope::Settings, StoreScope::Webhooks];
    (Merchant::with(app, &both).await, Merchant::of(app, StoreScope::Webhooks).await)
}

#[tokio::test]
async fn a_webhook_url_creates_moves_and_removes_an_endpoint() {
    let app = TestApp::start().await;
    let (settings, webhooks) = merchants(&app).await;
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
    let (settings, webhooks) = merchants(&app).await;
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
    without["destination_required"] = json!(true);
    let mut kept = put(&without).await;
    assert_eq!((&kept["destination_required"], &kept["webhook_url"]), (&json!(true), &json!(URL)));
    kept["webhook_url"] = json!("");
    let (status, _, details) = refusal(&settings.send(Method::PUT, "/settings", &kept).await);
    assert_eq!((status, &details["field"]), (400, &json!("webhook_url")), "it is no null");
    assert_eq!(webhooks.get("/webhooks").await.as_array().unwrap().len(), 1);
    kept["webhook_url"] = Value::Null;
    assert!(put(&kept).await["webhook_url"].is_null());
    assert_eq!(webhooks.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn a_store_key_changes_the_url_only_with_the_scope_of_webhooks() {
    let app = TestApp::start().await;
    let (both, webhooks) = merchants(&app).await;
    let settings = Merchant::of(&app, StoreScope::Settings).await;
    let refused = async |method: Method, body: &Value| {
        let (status, code, details) = refusal(&settings.send(method, "/settings", body).await);
        assert_eq!((status, code.as_str()), (403, "forbidden"), "{body}");
        assert_eq!(details["required_scope"], "webhooks", "{body}");
    };
    let new = json!({ "webhook_url": URL, "destination_required": true });
    refused(Method::PATCH, &new).await;
    let none = settings.get("/settings").await;
    assert_eq!(none["destination_required"], false, "nothing is stored");
    patch(&settings, json!({ "webhook_url": null })).await;
    patch(&both, json!({ "webhook_url": URL })).await;
    refused(Method::PATCH, &json!({ "webhook_url": null })).await;
    refused(Method::PATCH, &json!({ "webhook_url": "https://203.0.113.8/" })).await;
    let mut read = settings.get("/settings").await;
    for url in [Value::Null, json!("https://203.0.113.8/")] {
        let mut other = read.clone();
        other["webhook_url"] = url;
        refused(Method::PUT, &other).await;
    }
    // What stays as it is needs no further scope, however it is spelled.
    read["destination_required"] = json!(true);
    let put = settings.send(Method::PUT, "/settings", &read).await;
    assert_eq!((put.status.as_u16(), &put.json()["data"]["webhook_url"]), (200, &json!(URL)));
    patch(&settings, json!({ "webhook_url": URL.replace("https", "HTTPS") })).await;
    assert_eq!(webhooks.get("/webhooks").await[0]["url"], URL);
    // A member of the store needs no scope.
    app.person("staff@example.com", &[(STORE, Role::Staff)]).await;
    let staff = Merchant { app: &app, header: app.log_in("staff@example.com").await };
    patch(&staff, json!({ "webhook_url": null })).await;
    assert_eq!(webhooks.get("/webhooks").await, json!([]));
}

#[tokio::test]
async fn a_url_that_is_changed_elsewhere_is_another_version_of_the_settings() {
    let app = TestApp::start().await;
    let (both, webhooks) = merchants(&app).await;
    let settings = Merchant::of(&app, StoreScope::Settings).await;
    let outdated = patch(&both, json!({ "webhook_url": URL })).await;
    let id = webhooks.get("/webhooks").await[0]["endpoint_id"].as_str().unwrap().to_owned();
    let path = format!("/webhooks/{id}");
    let elsewhere = json!({ "url": "https://203.0.113.8/", "description": "moved" });
    let moved = webhooks.send(Method::PATCH, &path, &elsewhere).await;
    assert_eq!(moved.status, 200, "{}", moved.text);
    let version = |value: &Value| value["version"].as_i64().unwrap();
    for merchant in [&both, &settings] {
        let (status, _, details) =
            refusal(&merchant.send(Method::PUT, "/settings", &outdated).await);
        assert_eq!(
            (status, details["current_version"].as_i64()),
            (409, Some(version(&outdated) + 1))
        );
    }
    let read = settings.get("/settings").await;
    assert_eq!((version(&read), &read["webhook_url"]), (version(&outdated) + 1, &elsewhere["url"]));
    assert_eq!(settings.get("/notices").await[0]["details"]["fields"], json!(["webhook_url"]));
    // Something else of the endpoint is no setting.
    webhooks.send(Method::PATCH, &path, &json!({ "description": "mine" })).await;
    assert_eq!(settings.get("/settings").await["version"], read["version"]);
    webhooks.send(Method::DELETE, &path, &Value::Null).await;
    let deleted = settings.get("/settings").await;
    assert!(deleted["webhook_url"].is_null() && version(&deleted) == version(&read) + 1);
}

#[tokio::test]
async fn nothing_is_stored_if_a_part_of_the_settings_is_refused() {
    let app = TestApp::start().await;
    let (settings, webhooks) = merchants(&app).await;
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
    let (settings, _) = merchants(&app).await;
    patch(&settings, json!({ "webhook_url": URL })).await;
    let notices = settings.get("/notices").await;
    assert_eq!(notices[0]["kind"], "settings_changed");
    assert_eq!(notices[0]["details"]["fields"], json!(["webhook_url"]));
}

#[tokio::test]
async fn a_url_is_set_also_if_it_was_the_current_one_before_a_concurrent_request() {
    let app = TestApp::start().await;
    let (settings, webhooks) = merchants(&app).await;
    patch(&settings, json!({ "webhook_url": URL })).await;
    // Another request that has changed the URL and has not committed yet.
    let mut other = app.test.raw().await;
    for statement in [
        "BEGIN",
        "SELECT FROM store FOR NO KEY UPDATE",
        "UPDATE webhook_endpoint SET url = 'https://203.0.113.8/', version = version + 1",
    ] {
        sqlx::raw_sql(statement).execute(&mut other).await.unwrap();
    }
    let commit = async {
        let waiting = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let mut connection = app.test.raw().await;
        let count = async |connection: &mut _| -> i64 {
            sqlx::query_scalar(waiting).fetch_one(connection).await.unwrap()
        };
        while count(&mut connection).await == 0 {
            tokio::task::yield_now().await;
        }
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    };
    let request = Box::pin(patch(&settings, json!({ "webhook_url": URL })));
    let in_time = async { tokio::join!(request, commit).0 };
    let changed = tokio::time::timeout(Duration::from_secs(30), in_time).await.unwrap();
    assert_eq!(changed["webhook_url"], URL);
    assert_eq!(webhooks.get("/webhooks").await[0]["url"], URL);
}
