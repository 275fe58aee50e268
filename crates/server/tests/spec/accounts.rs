//! Accounts, access tokens (docs/contract/authentication.md#login), and the keys that accounts create
//! (docs/contract/authentication.md#key-creation).

use axum::http::Method;
use identity::Role;
use serde_json::json;

use crate::app::{PASSWORD, TestApp};

#[tokio::test]
async fn a_person_logs_in_and_creates_lists_rotates_and_revokes_a_key() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let auth = [("authorization", token.as_str())];
    let wanted = json!({ "scopes": ["search", "agent:cart"], "name": "my agent",
                         "expires_in_days": 30, "stores": ["demo-store"] });
    let made = app.request(Method::POST, "/agent-keys", &auth, &wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let key = &made["data"];
    assert!(key["api_key"].as_str().unwrap().starts_with("agnt_"));
    assert_eq!(key["scopes"], json!(["agent:read", "agent:cart"]));
    assert_eq!(key["stores"], json!(["demo-store"]));
    let listed = app.request(Method::GET, "/agent-keys", &auth, &json!(null)).await;
    assert_eq!(listed.json()["data"][0]["key_id"], key["key_id"]);
    assert!(!listed.text.contains(key["api_key"].as_str().unwrap()));
    let path = format!("/agent-keys/{}", key["key_id"].as_str().unwrap());
    let rotated = app.request(Method::POST, &format!("{path}/rotate"), &auth, &json!(null)).await;
    assert_eq!(rotated.status, 201, "{}", rotated.text);
    assert_ne!(rotated.json()["data"]["api_key"], key["api_key"]);
    let ended = app.request(Method::DELETE, &path, &auth, &json!(null)).await;
    assert_eq!((ended.status.as_u16(), &ended.json()["data"]["revoked"]), (200, &json!(true)));
    let unknown = app
        .request(
            Method::DELETE,
            "/agent-keys/key_00000000000000000000000000000001",
            &auth,
            &json!(null),
        )
        .await;
    assert_eq!((unknown.status.as_u16(), unknown.code().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn invalid_key_requests_name_the_field() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let auth = [("authorization", token.as_str())];
    let cases = [
        (json!({ "scopes": ["everything"] }), "scopes"),
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "scopes": ["search"], "stores": ["no-such-store"] }), "stores"),
        (json!({ "scopes": ["search"], "expires_in_days": 0 }), "expires_in_days"),
        (json!({ "scopes": ["search"], "name": "x".repeat(101) }), "name"),
    ];
    for (wanted, field) in cases {
        let answer = app.request(Method::POST, "/agent-keys", &auth, &wanted).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "invalid_request"));
        assert_eq!(answer.json()["details"]["field"], field, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_failed_login_does_not_reveal_whether_the_account_exists() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let log_in = async |email: &str| {
        let body = json!({ "email": email, "password": "not the password" });
        let mut answer = app.request(Method::POST, "/auth/login", &[], &body).await.json();
        answer["details"]["request_id"] = json!(null);
        answer
    };
    let wrong = log_in("ada@example.com").await;
    assert_eq!(wrong["error"], "unauthorized");
    assert_eq!(wrong, log_in("nobody@example.com").await);
    for _ in 0..3 {
        log_in("ada@example.com").await;
    }
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    let stopped = app.request(Method::POST, "/auth/login", &[], &body).await;
    assert_eq!((stopped.status.as_u16(), stopped.code().as_str()), (429, "rate_limit_exceeded"));
    assert!(stopped.json()["details"]["reset"].is_i64());
}

#[tokio::test]
async fn a_member_acts_for_the_store_and_an_owner_creates_its_keys() {
    let app = TestApp::start().await;
    app.person("staff@example.com", &[("kestrel-rain", Role::Staff)]).await;
    app.person("owner@example.com", &[("kestrel-rain", Role::Owner), ("demo-store", Role::Owner)])
        .await;
    let staff = app.log_in("staff@example.com").await;
    let staff = [("authorization", staff.as_str())];
    let settings = app.request(Method::GET, "/merchant/settings", &staff, &json!(null)).await;
    assert_eq!(settings.status, 200, "{}", settings.text);
    let refused = app.request(Method::POST, "/merchant/keys", &staff, &json!({})).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"));
    let owner = app.log_in("owner@example.com").await;
    let unnamed = [("authorization", owner.as_str())];
    let asked = app.request(Method::GET, "/merchant/settings", &unnamed, &json!(null)).await;
    assert_eq!((asked.status.as_u16(), asked.code().as_str()), (400, "invalid_request"));
    let named = [("authorization", owner.as_str()), ("x-store", "kestrel-rain")];
    let made = app
        .request(
            Method::POST,
            "/merchant/keys",
            &named,
            &json!({ "name": "erp", "scopes": ["settings"] }),
        )
        .await;
    assert_eq!(made.status, 201, "{}", made.text);
    let key = made.json()["data"]["api_key"].as_str().unwrap().to_owned();
    let with_key = format!("Bearer {key}");
    let store_key = [("authorization", with_key.as_str())];
    assert_eq!(
        app.request(Method::GET, "/merchant/settings", &store_key, &json!(null)).await.status,
        200
    );
    // A store key cannot create keys.
    let refused = app.request(Method::POST, "/merchant/keys", &store_key, &json!({})).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"));
    assert_eq!(refused.json()["details"]["reason"], "wrong_kind_of_credential");
    let path = format!("/merchant/keys/{}", made.json()["data"]["key_id"].as_str().unwrap());
    assert_eq!(app.request(Method::DELETE, &path, &named, &json!(null)).await.status, 200);
    assert_eq!(
        app.request(Method::GET, "/merchant/settings", &store_key, &json!(null)).await.status,
        401
    );
}

#[tokio::test]
async fn foreign_and_unknown_stores_are_refused_identically() {
    let app = TestApp::start().await;
    app.person("staff@example.com", &[("kestrel-rain", Role::Staff)]).await;
    let token = app.log_in("staff@example.com").await;
    let mut bodies = Vec::new();
    for slug in ["demo-store", "no-such-store", "not a slug"] {
        let headers = [("authorization", token.as_str()), ("x-store", slug)];
        let mut body =
            app.request(Method::GET, "/merchant/settings", &headers, &json!(null)).await.json();
        body["details"]["request_id"] = json!(null);
        bodies.push(body);
    }
    assert_eq!(bodies[0]["error"], "forbidden");
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn the_signing_keys_are_published() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    app.log_in("ada@example.com").await;
    let keys = app.get("/.well-known/jwks.json").await.json();
    assert_eq!(keys["keys"][0]["alg"], "EdDSA");
    assert_eq!(keys["keys"][0]["crv"], "Ed25519");
}
