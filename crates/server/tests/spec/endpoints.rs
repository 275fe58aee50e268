//! Paths (docs/contract/rest.md#base-path, docs/contract/mcp.md#addresses), hosts, origins, the store directory and pages.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::json;

use crate::app::{TestApp, call, post};

#[tokio::test]
async fn the_mcp_endpoint_is_served_at_both_paths() {
    let app = TestApp::start().await;
    for path in ["/demo-store/mcp", "/api/v1/demo-store/mcp", "/Demo-Store/mcp"] {
        let answer = app.post_json(path, &call("browse_categories", json!({}))).await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.json()["result"]["structuredContent"]["total"].as_i64().unwrap() > 3);
    }
}

#[tokio::test]
async fn the_mcp_endpoint_accepts_only_post() {
    let app = TestApp::start().await;
    for path in ["/demo-store/mcp", "/api/v1/demo-store/mcp"] {
        let answer = app.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.headers["allow"].to_str().unwrap()),
            (405, "POST")
        );
        assert_eq!(answer.code(), "method_not_allowed");
    }
}

#[tokio::test]
async fn a_foreign_host_or_origin_is_refused() {
    let app = TestApp::start().await;
    let body = || axum::body::Body::from(call("browse_categories", json!({})).to_string());
    let mut rebound = post("/demo-store/mcp").body(body()).unwrap();
    rebound.headers_mut().insert("host", "evil.example".parse().unwrap());
    let refused = app.send(rebound).await;
    assert_eq!(refused.status, 403);
    assert_eq!(refused.json()["error"]["code"], -32600);
    let foreign = post("/demo-store/mcp").header("origin", "http://evil.example").body(body());
    assert_eq!(app.send(foreign.unwrap()).await.status, 403);
    let own = post("/demo-store/mcp").header("origin", "http://souk.test").body(body());
    assert_eq!(app.send(own.unwrap()).await.status, 200);
}

#[tokio::test]
async fn the_directory_lists_active_stores_by_standing() {
    let app = TestApp::start().await;
    let listed = app.get("/api/v1/stores/directory?limit=100").await.json();
    let slugs: Vec<_> = listed["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["slug"].as_str().unwrap().to_owned())
        .collect();
    let world = demo::world();
    for store in &world.stores {
        let open = store.active && store.trust_score.is_none_or(|score| score >= 0.2);
        assert_eq!(slugs.contains(&store.slug), open, "{}", store.slug);
    }
    assert_eq!(listed["meta"]["total"], slugs.len());
    // Best standing first; a provisional score ranks as 0.84 at most; stores without a score come last.
    assert_eq!(slugs.first().map(String::as_str), Some("olaria-salgueira"));
    assert_eq!(slugs.last().map(String::as_str), Some("tuulikki-candles"));
    let position = |slug: &str| slugs.iter().position(|other| other == slug).unwrap();
    assert!(
        position("orelys") < position("puddlewick-toys"),
        "0.87 before 0.91, which is provisional"
    );
}

#[tokio::test]
async fn the_directory_filters_and_pages() {
    let app = TestApp::start().await;
    let trusted = app.get("/api/v1/stores/directory?min_trust=0.95").await.json();
    assert_eq!(trusted["meta"]["total"], 1);
    let first = app.get("/api/v1/stores/directory?limit=2").await.json();
    let second = app.get("/api/v1/stores/directory?limit=2&page=2").await.json();
    assert_ne!(first["data"][0]["slug"], second["data"][0]["slug"]);
    assert_eq!(second["meta"]["page"], 2);
    let beyond = app.get("/api/v1/stores/directory?limit=2&page=99").await.json();
    assert_eq!(beyond["data"], json!([]));
    assert_eq!(beyond["meta"]["total"], first["meta"]["total"]);
    let words = app.get("/api/v1/stores/directory?q=coffee").await.json();
    assert!(words["data"].to_string().contains("kestrel-rain"));
    let wild = app.get("/api/v1/stores/directory?q=%25").await.json();
    assert!(wild["meta"]["total"].as_i64().unwrap() < 3, "a percent sign is not a wildcard");
    let platform = app.get("/api/v1/stores/directory?platform=medusa&limit=1").await.json();
    assert_eq!(platform["data"][0]["platform"], "medusa");
}

#[tokio::test]
async fn health_pages_and_openapi_are_served() {
    let app = TestApp::start().await;
    for path in ["/health", "/api/v1/health"] {
        let health = app.get(path).await.json();
        assert_eq!((&health["status"], &health["checks"]["search"]), (&json!("ok"), &json!("ok")));
    }
    for path in ["/health/live", "/health/ready", "/api/docs", "/", "/llms.txt"] {
        assert_eq!(app.get(path).await.status, 200, "{path}");
    }
    let private = app.get("/metrics").await;
    assert_eq!((private.status.as_u16(), private.code().as_str()), (404, "not_found"));
    let described = app.get("/api/v1/openapi.json").await.json();
    assert!(described["openapi"].as_str().unwrap().starts_with("3.0"));
    for path in ["/stores/{slug}", "/stores/directory", "/health", "/{slug}/mcp"] {
        assert!(described["paths"][path].is_object(), "{path} is not described");
    }
}

#[tokio::test]
async fn every_response_has_a_request_id_and_security_headers() {
    let app = TestApp::start().await;
    for path in ["/health", "/nowhere", "/api/v1/nowhere", "/api/v1/stores/no-such-store"] {
        let answer = app.get(path).await;
        assert!(answer.headers["x-request-id"].to_str().unwrap().starts_with("req_"), "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["x-frame-options"], "DENY");
        assert!(answer.headers.contains_key("content-security-policy"));
    }
}

#[tokio::test]
async fn cors_allows_known_origins_only() {
    let app = TestApp::start().await;
    let preflight = async |origin: &str| {
        let request = Request::builder()
            .method(Method::OPTIONS)
            .uri("/demo-store/mcp")
            .header("host", "souk.test")
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type, mcp-protocol-version")
            .body(Body::empty());
        app.send(request.unwrap()).await.headers
    };
    let known = preflight("http://souk.test").await;
    assert_eq!(known["access-control-allow-origin"], "http://souk.test");
    assert_eq!(known["access-control-allow-headers"], "content-type, mcp-protocol-version");
    for foreign in ["http://evil.example", "http://souk.test:81", "https://souk.test", "null"] {
        let refused = preflight(foreign).await;
        assert!(!refused.contains_key("access-control-allow-origin"), "{foreign}");
    }
}

#[tokio::test]
async fn a_server_card_contains_no_merchant_text() {
    let app = TestApp::start().await;
    let answer = app.get("/demo-store/mcp/server-card").await;
    assert_eq!(answer.headers["content-type"], "application/mcp-server-card+json");
    let card = answer.json();
    assert_eq!(card["remotes"][0]["url"], "http://souk.test/demo-store/mcp");
    let profile = app.get("/api/v1/stores/demo-store").await.json();
    let description = profile["data"]["description"].as_str().unwrap().to_owned();
    assert!(!answer.text.contains(&description), "{card}");
    assert_eq!(app.get("/nobody/mcp/server-card").await.code(), "store_not_found");
    assert_eq!(app.get("/no_slug/mcp/server-card").await.code(), "invalid_slug");
}
