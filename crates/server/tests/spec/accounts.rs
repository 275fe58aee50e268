//! Spec §5 and decisions §5: people, their tokens, and the keys they make.

use axum::http::Method;
use identity::Role;
use serde_json::json;

use crate::app::{PASSWORD, TestApp};

#[tokio::test]
async fn a_person_logs_in_and_makes_lists_rotates_and_revokes_a_key() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let auth = [("authorization", token.as_str())];
    let wanted = json!({ "scopes": ["search", "agent:cart"], "name": "my agent",
                         "expires_in_days": 30, "stores": ["demo-store"] });
    let made = app.ask(Method::POST, "/agent-keys", &auth, &wanted).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let made = made.json();
    let key = &made["data"];
    assert!(key["api_key"].as_str().unwrap().starts_with("agnt_"));
    assert_eq!(key["scopes"], json!(["agent:read", "agent:cart"]));
    assert_eq!(key["stores"], json!(["demo-store"]));
    let listed = app.ask(Method::GET, "/agent-keys", &auth, &json!(null)).await;
    assert_eq!(listed.json()["data"][0]["key_id"], key["key_id"]);
    assert!(!listed.text.contains(key["api_key"].as_str().unwrap()));
    let path = format!("/agent-keys/{}", key["key_id"].as_str().unwrap());
    let rotated = app.ask(Method::POST, &format!("{path}/rotate"), &auth, &json!(null)).await;
    assert_eq!(rotated.status, 201, "{}", rotated.text);
    assert_ne!(rotated.json()["data"]["api_key"], key["api_key"]);
    let ended = app.ask(Method::DELETE, &path, &auth, &json!(null)).await;
    assert_eq!((ended.status.as_u16(), &ended.json()["data"]["revoked"]), (200, &json!(true)));
    let unknown = app
        .ask(
            Method::DELETE,
            "/agent-keys/key_00000000000000000000000000000001",
            &auth,
            &json!(null),
        )
        .await;
    assert_eq!((unknown.status.as_u16(), unknown.code().as_str()), (404, "not_found"));
}

#[tokio::test]
async fn what_is_wrong_with_a_wish_for_a_key_is_named() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let token = app.log_in("ada@example.com").await;
    let auth = [("authorization", token.as_str())];
    let cases = [
        (json!({ "scopes": ["everything"] }), "scopes"),
        (json!({ "scopes": [] }), "scopes"),
        (json!({ "scopes": ["search"], "stores": ["no-such-store"] }), "stores"),
        (json!({ "scopes": ["search"], "expires_in_days": 0 }), "expires_in_days"),
        (json!({ "scopes": ["search"], "name": "" }), "name"),
    ];
    for (wanted, field) in cases {
        let answer = app.ask(Method::POST, "/agent-keys", &auth, &wanted).await;
        assert_eq!((answer.status.as_u16(), answer.code().as_str()), (400, "invalid_request"));
        assert_eq!(answer.json()["details"]["field"], field, "{}", answer.text);
    }
}

#[tokio::test]
async fn a_login_says_what_is_wrong_and_no_more() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    let try_in = async |email: &str| {
        let body = json!({ "email": email, "password": "not the password" });
        let mut answer = app.ask(Method::POST, "/auth/login", &[], &body).await.json();
        answer["details"]["request_id"] = json!(null);
        answer
    };
    let wrong = try_in("ada@example.com").await;
    assert_eq!(wrong["error"], "unauthorized");
    assert_eq!(wrong, try_in("nobody@example.com").await);
    for _ in 0..3 {
        try_in("ada@example.com").await;
    }
    let body = json!({ "email": "ada@example.com", "password": PASSWORD });
    let stopped = app.ask(Method::POST, "/auth/login", &[], &body).await;
    assert_eq!((stopped.status.as_u16(), stopped.code().as_str()), (429, "rate_limit_exceeded"));
    assert!(stopped.json()["details"]["reset"].is_i64());
}

#[tokio::test]
async fn a_member_acts_for_the_store_and_an_owner_makes_its_keys() {
    let app = TestApp::start().await;
    app.person("staff@example.com", &[("kestrel-rain", Role::Staff)]).await;
    app.person("owner@example.com", &[("kestrel-rain", Role::Owner), ("demo-store", Role::Owner)])
        .await;
    let staff = app.log_in("staff@example.com").await;
    let staff = [("authorization", staff.as_str())];
    let settings = app.ask(Method::GET, "/merchant/settings", &staff, &json!(null)).await;
    assert_eq!(settings.status, 200, "{}", settings.text);
    let refused = app.ask(Method::POST, "/merchant/keys", &staff, &json!({})).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (403, "forbidden"));
    let owner = app.log_in("owner@example.com").await;
    let unnamed = [("authorization", owner.as_str())];
    let asked = app.ask(Method::GET, "/merchant/settings", &unnamed, &json!(null)).await;
    assert_eq!((asked.status.as_u16(), asked.code().as_str()), (400, "invalid_request"));
    let named = [("authorization", owner.as_str()), ("x-store", "kestrel-rain")];
    let made = app.ask(Method::POST, "/merchant/keys", &named, &json!({ "name": "till" })).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let key = made.json()["data"]["api_key"].as_str().unwrap().to_owned();
    let with_key = format!("Bearer {key}");
    let program = [("authorization", with_key.as_str())];
    assert_eq!(
        app.ask(Method::GET, "/merchant/settings", &program, &json!(null)).await.status,
        200
    );
    // A key makes no keys.
    let refused = app.ask(Method::POST, "/merchant/keys", &program, &json!({})).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (401, "unauthorized"));
    let path = format!("/merchant/keys/{}", made.json()["data"]["key_id"].as_str().unwrap());
    assert_eq!(app.ask(Method::DELETE, &path, &named, &json!(null)).await.status, 200);
    assert_eq!(
        app.ask(Method::GET, "/merchant/settings", &program, &json!(null)).await.status,
        401
    );
}

#[tokio::test]
async fn a_store_one_is_no_member_of_and_one_that_is_not_are_refused_alike() {
    let app = TestApp::start().await;
    app.person("staff@example.com", &[("kestrel-rain", Role::Staff)]).await;
    let token = app.log_in("staff@example.com").await;
    let mut bodies = Vec::new();
    for slug in ["demo-store", "no-such-store", "not a slug"] {
        let headers = [("authorization", token.as_str()), ("x-store", slug)];
        let mut body =
            app.ask(Method::GET, "/merchant/settings", &headers, &json!(null)).await.json();
        body["details"]["request_id"] = json!(null);
        bodies.push(body);
    }
    assert_eq!(bodies[0]["error"], "forbidden");
    assert!(bodies.iter().all(|body| *body == bodies[0]));
}

#[tokio::test]
async fn the_keys_that_sign_are_published() {
    let app = TestApp::start().await;
    app.person("ada@example.com", &[]).await;
    app.log_in("ada@example.com").await;
    let keys = app.get("/.well-known/jwks.json").await.json();
    assert_eq!(keys["keys"][0]["alg"], "EdDSA");
    assert_eq!(keys["keys"][0]["crv"], "Ed25519");
}
