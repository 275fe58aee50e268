//! Idempotency keys of writes other than carts and completion (docs/contract/envelopes.md#idempotency).

use axum::http::Method;
use identity::Role;
use serde_json::{Value, json};

use crate::app::{TestApp, TestResponse};
use crate::carts::{in_stock_products, structured_content};

const STORE: &str = "kivikiri";

fn outcome(answer: &TestResponse) -> (u16, String) {
    (answer.status.as_u16(), answer.code())
}

/// Creates a key twice and returns the paths' behavior.
async fn check_key_creation(app: &TestApp, path: &str, token: &str, other: &str) {
    let send = async |token: &str, key: &str, name: &str| {
        let body = if path == "/agent-keys" {
            json!({ "scopes": ["agent:read"], "name": name })
        } else {
            json!({ "name": name })
        };
        let headers = [("authorization", token), ("idempotency-key", key)];
        app.request(Method::POST, path, &headers, &body).await
    };
    let first = send(token, "one", "first").await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert!(first.json()["data"]["api_key"].is_string());
    let again = send(token, "one", "first").await;
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!(again.json()["data"]["key_id"], first.json()["data"]["key_id"]);
    assert!(again.json()["data"]["api_key"].is_null(), "the text of a key is not stored");
    let conflict = send(token, "one", "second").await;
    assert_eq!(outcome(&conflict), (409, String::from("idempotency_conflict")));
    let invalid = send(token, "", "first").await;
    assert_eq!(outcome(&invalid), (400, String::from("invalid_request")));
    let of_other = send(other, "one", "second").await;
    assert_eq!(of_other.status, 201, "a key belongs to its caller: {}", of_other.text);
    assert_ne!(of_other.json()["data"]["key_id"], first.json()["data"]["key_id"]);
    let list = app.request(Method::GET, path, &[("authorization", token)], &Value::Null).await;
    let listed = list.json();
    let named = |name: &str| {
        listed["data"].as_array().unwrap().iter().filter(|key| key["name"] == name).count()
    };
    assert_eq!(named("first"), 1);
    assert_eq!(listed["meta"]["page"], 1);
    assert_eq!(listed["meta"]["total"], listed["data"].as_array().unwrap().len());
}

#[tokio::test]
async fn a_repeated_creation_of_a_key_creates_one() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[(STORE, Role::Owner)]).await;
    app.person("grace@example.com", &[(STORE, Role::Owner)]).await;
    let ada = app.log_in("ada@example.com").await;
    let grace = app.log_in("grace@example.com").await;
    check_key_creation(&app, "/agent-keys", &ada, &grace).await;
    check_key_creation(&app, "/merchant/keys", &ada, &grace).await;
}

#[tokio::test]
async fn a_repeated_rotation_of_a_key_rotates_it_once() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let create = async |name: &str| {
        let body = json!({ "scopes": ["agent:read"], "name": name });
        let header = [("authorization", token.as_str())];
        let created = app.request(Method::POST, "/agent-keys", &header, &body).await;
        created.json()["data"]["key_id"].as_str().unwrap().to_owned()
    };
    let rotate = async |id: &str| {
        let headers = [("authorization", token.as_str()), ("idempotency-key", "one")];
        let path = format!("/agent-keys/{id}/rotate");
        app.request(Method::POST, &path, &headers, &Value::Null).await
    };
    let id = create("first").await;
    let first = rotate(&id).await;
    assert!(first.json()["data"]["api_key"].is_string(), "{}", first.text);
    let again = rotate(&id).await;
    assert_eq!((again.status.as_u16(), &again.json()["data"]["api_key"]), (201, &Value::Null));
    assert_eq!(again.json()["data"]["prefix"], first.json()["data"]["prefix"]);
    let other = create("second").await;
    assert_eq!(outcome(&rotate(&other).await), (409, String::from("idempotency_conflict")));
}

#[tokio::test]
async fn key_lists_have_pages() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let header = [("authorization", token.as_str())];
    for number in 0..3 {
        let body = json!({ "scopes": ["agent:read"], "name": format!("key {number}") });
        app.request(Method::POST, "/agent-keys", &header, &body).await;
    }
    let page = app.request(Method::GET, "/agent-keys?limit=2&page=2", &header, &Value::Null).await;
    assert_eq!(page.json()["meta"], json!({ "total": 3, "page": 2, "limit": 2 }));
    assert_eq!(page.json()["data"][0]["name"], "key 0", "newest first");
}

#[tokio::test]
async fn a_repeated_cancellation_is_executed_once() {
    let app = TestApp::start().await;
    let key = app.buyer_key("me@example.com").await;
    let tool = async |name: &str, arguments: Value| app.tool_as(&key, STORE, name, arguments).await;
    let session = async || {
        let items = json!([{ "product_id": in_stock_products(STORE)[0], "quantity": 1 }]);
        let new = json!({ "items": items, "ship_to": { "country": "FI" } });
        let cart = structured_content(&tool("create_cart", new).await);
        let cart = json!({ "cart_id": cart["cart_id"] });
        structured_content(&tool("create_checkout", cart).await)["checkout_id"].clone()
    };
    // Over REST.
    let id = session().await;
    let path = format!("/agent/checkout/{}/cancel", id.as_str().unwrap());
    let cancel = async |reason: &str| {
        let headers = [("x-agent-api-key", key.as_str()), ("idempotency-key", "one")];
        app.request(Method::POST, &path, &headers, &json!({ "reason_code": reason })).await
    };
    for _ in 0..2 {
        let canceled = cancel("price").await;
        assert_eq!(
            (canceled.status.as_u16(), &canceled.json()["data"]["status"]),
            (200, &json!("canceled"))
        );
    }
    assert_eq!(outcome(&cancel("changed_mind").await), (409, String::from("idempotency_conflict")));
    // Over MCP.
    let arguments = json!({ "checkout_id": session().await, "idempotency_key": "two" });
    for _ in 0..2 {
        let canceled = structured_content(&tool("cancel_checkout", arguments.clone()).await);
        assert_eq!(canceled["status"], "canceled");
    }
    let other = json!({ "checkout_id": session().await, "idempotency_key": "two" });
    assert_eq!(tool("cancel_checkout", other).await.code(), "idempotency_conflict");
}
