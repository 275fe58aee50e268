//! Search, as agents call it (docs/contract/search.md#search-endpoints).

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::app::TestApp;

#[tokio::test]
async fn both_search_endpoints_return_the_same() {
    let app = TestApp::with_index().await;
    let body = json!({ "query": "coffee", "limit": 5 });
    let open = app.post_json("/api/v1/search", &body).await.json();
    let key = app.reader_key().await;
    let auth = [("x-agent-api-key", key.as_str())];
    let mut agents = app.request(Method::POST, "/agent/search", &auth, &body).await.json();
    assert_eq!(open["success"], true);
    assert_eq!(open["data"].as_array().unwrap().len(), 5);
    assert_eq!((&open["meta"]["page"], &open["meta"]["limit"]), (&json!(1), &json!(5)));
    assert_eq!(open["meta"]["source"], "index");
    assert_eq!(open["meta"]["matched"], "all_words");
    agents["meta"]["index_age_seconds"] = open["meta"]["index_age_seconds"].clone();
    assert_eq!(open, agents);
}

#[tokio::test]
async fn a_search_hit_equals_the_product_record() {
    let app = TestApp::with_index().await;
    let found = app.post_json("/api/v1/search", &json!({ "query": "pour over" })).await.json();
    let record = &found["data"][0];
    let path = format!("/agent/products/{}", record["id"].as_str().unwrap());
    let key = app.reader_key().await;
    let auth = [("x-agent-api-key", key.as_str())];
    let read = app.request(Method::GET, &path, &auth, &Value::Null).await;
    assert_eq!(read.json()["data"], *record);
}

#[tokio::test]
async fn a_store_is_searched_over_mcp() {
    let app = TestApp::with_index().await;
    let arguments =
        json!({ "query": "coffee", "max_price": 50, "in_stock_only": true, "limit": 3 });
    let answer = app.tool("demo-store", "search_products", arguments).await.json();
    let output = &answer["result"]["structuredContent"];
    assert!(!output["data"].as_array().unwrap().is_empty());
    for record in output["data"].as_array().unwrap() {
        assert_eq!(record["merchant"]["slug"], "demo-store");
        assert!(record["price"].as_f64().unwrap() <= 50.0);
    }
    let answer =
        app.tool("demo-store", "search_products", json!({ "merchants": ["orelys"] })).await;
    assert_eq!(answer.code(), "invalid_request");
}

#[tokio::test]
async fn a_store_is_searched_in_the_database_without_an_index() {
    let app = TestApp::start().await;
    let answer = app.tool("demo-store", "search_products", json!({ "query": "coffee" })).await;
    assert_eq!(answer.json()["result"]["structuredContent"]["meta"]["source"], "database");
    let body = json!({ "query": "coffee", "merchants": ["demo-store"] });
    let answer = app.post_json("/api/v1/search", &body).await.json();
    assert_eq!(answer["meta"]["source"], "database");
    let everywhere = app.post_json("/api/v1/search", &json!({ "query": "coffee" })).await;
    assert_eq!(everywhere.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(everywhere.headers["retry-after"], "30");
}

#[tokio::test]
async fn invalid_fields_are_named() {
    let app = TestApp::with_index().await;
    let cases = [
        (json!({ "min_price": -1 }), 400, "invalid_request", "min_price"),
        (json!({ "min_price": 5, "max_price": 4 }), 400, "invalid_request", "max_price"),
        (json!({ "currency": "DKK" }), 400, "invalid_request", "currency"),
        (json!({ "min_trust": 2 }), 400, "invalid_request", "min_trust"),
        (json!({ "limit": "many" }), 400, "invalid_request", "limit"),
        (json!({ "sort": "best" }), 400, "invalid_request", "sort"),
        (json!({ "cursor": "x" }), 400, "invalid_request", "cursor"),
        (json!({ "page": 10_000, "limit": 100 }), 400, "invalid_request", "page"),
        (json!({ "merchants": ["no/slug"] }), 400, "invalid_slug", "merchants"),
        (json!({ "merchants": ["nobody-here"] }), 404, "store_not_found", "merchants"),
        (json!({ "merchants": ["velvetine-outlet"] }), 403, "store_suspended", "merchants"),
    ];
    for (body, status, code, field) in cases {
        let answer = app.post_json("/api/v1/search", &body).await;
        assert_eq!(answer.status.as_u16(), status, "{body}: {}", answer.text);
        assert_eq!(answer.code(), code, "{body}");
        assert_eq!(answer.json()["details"]["field"], field, "{body}");
    }
    // A limit beyond the greatest is clamped, not refused (docs/contract/envelopes.md#page-limit).
    let answer = app.post_json("/api/v1/search", &json!({ "limit": 1_000 })).await.json();
    assert_eq!(answer["meta"]["limit"], 100);
    let unknown = app.post_json("/api/v1/search", &json!({ "colour": "blue" })).await;
    assert_eq!(unknown.code(), "invalid_request");
}

#[tokio::test]
async fn the_next_page_continues_after_the_previous_one() {
    let app = TestApp::with_index().await;
    let ids = |answer: &Value| -> Vec<String> {
        let data = answer["data"].as_array().unwrap();
        data.iter().map(|record| record["id"].as_str().unwrap().to_owned()).collect()
    };
    let first =
        app.post_json("/api/v1/search", &json!({ "query": "lamp", "limit": 4 })).await.json();
    let cursor = &first["meta"]["next_cursor"];
    let body = json!({ "query": "lamp", "limit": 4, "cursor": cursor });
    let by_cursor = app.post_json("/api/v1/search", &body).await.json();
    let body = json!({ "query": "lamp", "limit": 4, "page": 2 });
    let by_number = app.post_json("/api/v1/search", &body).await.json();
    assert_eq!(ids(&by_cursor), ids(&by_number));
    assert!(ids(&first).iter().all(|id| !ids(&by_number).contains(id)));
}

#[tokio::test]
async fn facets_suggestions_similar_products_and_ranking_are_served() {
    let app = TestApp::with_index().await;
    let body = json!({ "query": "cup", "facets": true, "limit": 1 });
    let found = app.post_json("/api/v1/search", &body).await.json();
    assert!(found["meta"]["facets"]["merchant"][0]["count"].as_i64().unwrap() > 0);
    let suggested = app.get("/api/v1/search/suggestions?q=cof").await.json();
    assert!(suggested["data"]["suggestions"].as_array().unwrap().contains(&json!("coffee")));
    let id = found["data"][0]["id"].as_str().unwrap();
    let key = app.reader_key().await;
    let auth = [("x-agent-api-key", key.as_str())];
    let similar = format!("/agent/products/{id}/similar?limit=3");
    let alike = app.request(Method::GET, &similar, &auth, &Value::Null).await.json();
    assert_eq!(alike["data"].as_array().unwrap().len(), 3);
    let ranking = app.get("/api/v1/search/ranking").await.json();
    assert_eq!(ranking["data"]["constants"]["stock_lift"], 0.1);
}
