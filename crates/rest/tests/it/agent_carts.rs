//! Carts of agents.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::door::Answer;
use crate::market::{Market, assert_error, mug};
use crate::openapi::assert_described_for;

const UNKNOWN: &str = "cart_00000000000000000000000000000000";

/// Calls a cart endpoint and validates the response against its schema.
async fn call(market: &Market, method: Method, id: &str, body: &Value) -> Answer {
    let (path, described) = match id {
        "" => (String::from("/agent/cart"), "/agent/cart"),
        id => (format!("/agent/cart/{id}"), "/agent/cart/{cart_id}"),
    };
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let request = Request::builder().method(&method).uri(format!("/api/v1{path}"));
    let answer = market.door.send(request.body(body).unwrap()).await;
    assert_described_for(&method.as_str().to_lowercase(), described, &answer);
    assert_eq!(
        answer.header("x-human-confirmation-required"),
        if method == Method::GET { "" } else { "true" }
    );
    answer
}

#[tokio::test]
async fn a_cart_matches_its_schema_from_creation_to_cancellation() {
    let (market, shop) = Market::with_shop().await;
    let ids = market.stock(&shop, &[mug("mug", json!(12.5)), mug("bowl", json!(20))]).await;
    let new =
        json!({ "merchant_slug": "shop", "items": [{ "product_id": ids[0], "quantity": 2 }] });
    let made = call(&market, Method::POST, "", &new).await;
    assert_eq!((made.status, &made.body["data"]["totals"]["total"]), (201, &json!(25.0)));
    let id = made.body["data"]["cart_id"].as_str().unwrap();
    assert_eq!(call(&market, Method::GET, id, &Value::Null).await.body, made.body);
    let items = json!({ "items": [{ "product_id": ids[1] }] });
    let replaced = call(&market, Method::PUT, id, &items).await;
    assert_eq!(replaced.body["data"]["totals"]["total"], 20.0);
    let change = json!({ "destination": { "country": "de", "city": "Köln" } });
    let changed = call(&market, Method::PATCH, id, &change).await;
    assert_eq!(changed.body["data"]["destination"], json!({ "country": "DE", "city": "Köln" }));
    let canceled = call(&market, Method::DELETE, id, &Value::Null).await;
    assert_eq!(canceled.body["data"]["status"], "canceled");
    let late = call(&market, Method::PUT, id, &items).await;
    assert_eq!(late.error(), (409, "cart_closed"));
}

#[tokio::test]
async fn an_invalid_cart_is_rejected_with_its_error() {
    let (market, shop) = Market::with_shop().await;
    let ids = market.stock(&shop, &[mug("mug", json!(12.5))]).await;
    let items = json!([{ "product_id": ids[0] }]);
    let with = |field: &str, value: Value| {
        let mut new = json!({ "merchant_slug": "shop", "items": items });
        new[field] = value;
        new
    };
    for (new, status, code) in [
        (with("merchant_slug", json!("no_slug")), 400, "invalid_slug"),
        (with("merchant_slug", json!("none")), 404, "store_not_found"),
        (with("items", json!([])), 400, "invalid_request"),
        (with("items", json!([{ "product_id": ids[0], "quantity": 0 }])), 400, "invalid_request"),
        (with("destination", json!({ "country": "Germany" })), 400, "invalid_request"),
        (with("destination", json!({ "country": "DE", "zip": "1" })), 400, "invalid_request"),
        (with("buyer", json!({ "email": "nobody" })), 400, "invalid_request"),
        (with("discount_codes", json!(["1", "2", "3", "4", "5", "6"])), 400, "invalid_request"),
        (with("anything", json!(1)), 400, "invalid_request"),
    ] {
        let answer = call(&market, Method::POST, "", &new).await;
        assert_eq!(answer.error(), (status, code), "{new}");
    }
    for method in [Method::GET, Method::DELETE] {
        let answer = call(&market, method, UNKNOWN, &Value::Null).await;
        assert_eq!(answer.error(), (404, "cart_not_found"));
    }
    let answer = call(&market, Method::GET, "ignore", &Value::Null).await;
    assert_error(&answer, 400, "invalid_request", Some("cart_id"));
}

#[tokio::test]
async fn a_sandbox_key_requires_the_demo_store() {
    let (market, _) = Market::with_shop().await;
    let answer = market.door.call(Method::POST, "/api/v1/sandbox/key").await;
    assert_described_for("post", "/sandbox/key", &answer);
    assert_eq!(answer.error(), (404, "store_not_found"));
    market.open("demo-store", Some(0.9), true).await;
    let answer = market.door.call(Method::POST, "/api/v1/sandbox/key").await;
    assert_described_for("post", "/sandbox/key", &answer);
    assert_eq!(answer.body["data"]["stores"], json!(["demo-store"]));
}

#[tokio::test]
async fn what_an_agent_has_at_an_inactive_store_can_be_read_and_ended() {
    let (market, shop) = Market::with_shop().await;
    let ids = market.stock(&shop, &[mug("mug", json!(12.5))]).await;
    let items = json!([{ "product_id": ids[0] }]);
    let new = json!({ "merchant_slug": "shop", "items": items });
    let cart = call(&market, Method::POST, "", &new).await.body["data"]["cart_id"].clone();
    let send = async |method: Method, path: &str, body: Value| {
        let request =
            Request::builder().method(method).uri(format!("/api/v1/agent/checkout{path}"));
        market.door.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let bought = send(Method::POST, "", json!({ "cart_id": cart })).await;
    assert_eq!(bought.status, 201, "{}", bought.body);
    let checkout = format!("/{}", bought.body["data"]["checkout_id"].as_str().unwrap());
    let close = "UPDATE store SET active = false";
    sqlx::query(close).execute(&mut market.test.raw().await).await.unwrap();
    let read = call(&market, Method::GET, cart.as_str().unwrap(), &Value::Null).await;
    assert_eq!(read.error(), (404, "store_not_found"));
    let updated = send(Method::PATCH, &checkout, json!({ "payment_method": "stripe" })).await;
    assert_eq!(updated.error(), (404, "store_not_found"));
    assert_described_for("patch", "/agent/checkout/{checkout_id}", &updated);
    let again = send(Method::POST, "", json!({ "cart_id": cart })).await;
    assert_eq!(again.error(), (404, "store_not_found"));
    assert_described_for("post", "/agent/checkout", &again);
    assert_eq!(send(Method::GET, &checkout, json!({})).await.status, 200);
    assert_eq!(send(Method::POST, &format!("{checkout}/cancel"), json!({})).await.status, 200);
}
