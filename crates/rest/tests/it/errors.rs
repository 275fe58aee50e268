//! Every error has the error envelope (docs/contract/errors.md#envelope).

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use axum::middleware::from_fn;
use axum::routing::post;
use rest::{Access, Endpoint, Json, Routes, render};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::door::{Answer, Door, send};

#[tokio::test]
async fn an_unknown_path_points_to_the_documentation() {
    let door = Door::without_database();
    for address in
        ["/api/v1", "/api/v1/", "/api/v1/nothing", "/api/v1/stores/a/b", "/api/v1/health/"]
    {
        let answer = door.get(address).await;
        assert_eq!(answer.error(), (404, "not_found"), "{address}");
        assert!(answer.body["details"]["hint"].as_str().unwrap().contains("/api/docs"));
    }
    for (address, nearest) in
        [("/api/v1/agent/carts", "/api/v1/agent/cart"), ("/api/v1/searches", "/api/v1/search")]
    {
        let answer = door.get(address).await;
        assert_eq!(answer.body["details"]["did_you_mean"], nearest, "{}", answer.body);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.ends_with(&format!("did you mean {nearest}?")), "{message}");
    }
    assert_eq!(door.call(Method::DELETE, "/api/v1/nothing").await.error(), (404, "not_found"));
}

#[tokio::test]
async fn an_unsupported_method_names_the_supported_ones() {
    let door = Door::without_database();
    for address in
        ["/api/v1/stores/directory", "/api/v1/stores/a", "/health", "/api/v1/openapi.json"]
    {
        let answer = door.call(Method::POST, address).await;
        assert_eq!(answer.error(), (405, "method_not_allowed"), "{address}");
        assert_eq!(answer.header("allow"), "GET,HEAD");
    }
}

#[tokio::test]
async fn an_invalid_query_names_field_and_range() {
    let door = Door::without_database();
    let wrong = [
        ("page=two", "page"),
        ("limit=1.5", "limit"),
        ("min_trust=1.01", "min_trust"),
        ("min_trust=-0.1", "min_trust"),
        ("min_trust=NaN", "min_trust"),
        ("min_trust=high", "min_trust"),
        ("q=a%00b", "q"),
        ("category=%1B", "category"),
        (&format!("q={}", "x".repeat(201)), "q"),
        (&format!("platform={}", "x".repeat(101)), "platform"),
    ];
    for (query, field) in wrong {
        let answer = door.get(&format!("/api/v1/stores/directory?{query}")).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{query}");
        assert_eq!(answer.body["details"]["field"], field, "{query}");
    }
    let answer = door.get("/api/v1/stores/directory?min_trust=ignore+all+instructions").await;
    insta::assert_json_snapshot!(answer.body, @r#"
    {
      "details": {
        "allowed": {
          "maximum": 1,
          "minimum": 0,
          "type": "number"
        },
        "field": "min_trust",
        "hint": "GET /api/docs describes the parameters of every endpoint",
        "request_id": "req_of_this_test",
        "retryable": false
      },
      "error": "invalid_request",
      "message": "min_trust must be a number from 0 to 1"
    }
    "#);
}

#[tokio::test]
async fn a_repeated_parameter_is_rejected() {
    let answer = Door::without_database().get("/api/v1/stores/directory?page=1&page=2").await;
    assert_eq!(answer.error(), (400, "invalid_request"));
}

#[tokio::test]
async fn an_invalid_slug_is_rejected_before_any_query() {
    let door = Door::without_database();
    for slug in ["demo_store", "a%20b", "%ff", "%00", "%C3%A9", &"a".repeat(64)] {
        let answer = door.get(&format!("/api/v1/stores/{slug}")).await;
        assert_eq!(answer.error(), (400, "invalid_slug"), "{slug}");
        assert_eq!(answer.body["details"]["field"], "slug");
    }
}

#[tokio::test]
async fn an_unavailable_database_is_reported_as_503() {
    let door = Door::without_database();
    for address in ["/api/v1/stores/demo-store", "/api/v1/stores/directory"] {
        let answer = door.get(address).await;
        assert_eq!(answer.error(), (503, "service_unavailable"), "{address}");
        assert_eq!(answer.header("retry-after"), "30");
        assert_eq!(answer.body["details"]["retryable"], true);
        assert!(!answer.body.to_string().contains("127.0.0.1"));
    }
}

#[tokio::test]
async fn a_request_without_an_id_gets_an_error_envelope() {
    use tower::ServiceExt;
    let router = Door::without_database().router;
    let request = Request::get("/api/v1/nothing").body(Body::empty()).unwrap();
    let response = router.oneshot(request).await.unwrap();
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    assert!(String::from_utf8_lossy(&body).contains("req_unknown"));
}

/// The MCP door shares the prefix, and the site has its own fallback.
#[tokio::test]
async fn other_doors_can_be_merged_in() {
    let mcp = Router::new()
        .route("/{slug}/mcp", post(async || "root"))
        .route("/api/v1/{slug}/mcp", post(async || "versioned"));
    let site =
        Router::new().merge(mcp).merge(Door::without_database().router).fallback(async || "site");
    for (method, address, status) in [
        (Method::POST, "/demo-store/mcp", 200),
        (Method::POST, "/api/v1/demo-store/mcp", 200),
        (Method::POST, "/api/v1/stores/mcp", 405),
        (Method::GET, "/api/v1/nothing", 404),
        (Method::GET, "/nothing", 200),
        (Method::GET, "/health/live", 200),
    ] {
        let request = Request::builder().method(method).uri(address).body(Body::empty()).unwrap();
        assert_eq!(send(&site, request).await.status, status, "{address}");
    }
}

/// The body of a test endpoint.
#[derive(Deserialize, JsonSchema)]
struct Order {
    quantity: u32,
    note: Option<String>,
}

async fn order(Json(order): Json<Order>) -> String {
    format!("\"{} {}\"", order.quantity, order.note.unwrap_or_default())
}

async fn post_body(content_type: &str, body: impl Into<Body>) -> Answer {
    let endpoint = Endpoint::post("/orders", Access::Public, order).unmetered().body::<Order>();
    let router: Router = Routes::new().with(endpoint).into_router().layer(from_fn(render));
    let request = Request::post("/orders").header("content-type", content_type);
    send(&router, request.body(body.into()).unwrap()).await
}

#[tokio::test]
async fn an_invalid_body_names_the_field_and_repeats_no_value() {
    let json = "application/json";
    assert_eq!(post_body(json, r#"{"quantity": 2}"#).await.status, 200);
    for (body, field) in [
        (r#"{"quantity": "ignore previous"}"#, "quantity"),
        (r#"{"quantity": -1}"#, "quantity"),
        (r#"{"quantity": 1, "note": {"ignore": 1}}"#, "note"),
        (r#"{"note": "ignore"}"#, "quantity"),
    ] {
        let answer = post_body(json, body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert_eq!(answer.body["details"]["field"], field, "{body}");
        assert!(!answer.body.to_string().contains("ignore"), "{}", answer.body);
    }
    for body in ["{ignore", ""] {
        let answer = post_body(json, body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert!(answer.body["details"]["hint"].as_str().unwrap().contains("/api/docs"));
    }
    let untyped = post_body("text/plain", r#"{"quantity": 2}"#).await;
    assert_eq!(untyped.status, 200, "the content type does not matter");
    let answer = post_body(json, vec![b' '; 3 << 20]).await;
    assert_eq!(answer.error(), (413, "payload_too_large"));
}
