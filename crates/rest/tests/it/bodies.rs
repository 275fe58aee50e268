//! Bodies are validated against the schemas of the OpenAPI document, before the database is read.

use axum::body::Body;
use axum::http::{Method, Request};
use serde_json::{Value, json};

use crate::market::{Market, assert_error};
use crate::openapi::assert_described_for;

const PRODUCT: &str = "prod_00000000000000000000000000000001";

#[tokio::test]
async fn each_kind_of_violation_is_rejected_with_the_field_and_what_it_accepts() {
    let (market, _) = Market::with_shop().await;
    // No store has this slug: an error other than `store_not_found` is found before the store is read.
    let cart = |name: &str, value: Value| {
        let mut body = json!({ "merchant_slug": "none", "items": [{ "product_id": PRODUCT }] });
        body[name] = value;
        body
    };
    let items = |item: Value| cart("items", json!([item]));
    let to = |name: &str, value: Value| {
        let mut destination = json!({ "country": "DE" });
        destination[name] = value;
        cart("destination", destination)
    };
    let many = vec![json!({ "product_id": PRODUCT }); 51];
    for (body, field, keyword) in [
        (json!({ "merchant_slug": "none" }), "items", "type"),
        (items(json!({})), "items[0].product_id", "type"),
        (items(json!({ "product_id": PRODUCT, "quantity": "2" })), "items[0].quantity", "type"),
        (items(json!({ "product_id": PRODUCT, "quantity": 0 })), "items[0].quantity", "minimum"),
        (items(json!({ "product_id": PRODUCT, "quantity": 1000 })), "items[0].quantity", "maximum"),
        (cart("merchant_slug", json!("")), "merchant_slug", "minLength"),
        (cart("merchant_slug", json!("a".repeat(64))), "merchant_slug", "maxLength"),
        (cart("items", json!([])), "items", "minItems"),
        (cart("items", json!(many)), "items", "maxItems"),
        (
            cart("discount_codes", json!(["1", "2", "3", "4", "5", "6"])),
            "discount_codes",
            "maxItems",
        ),
        (to("country", json!("Germany")), "destination.country", "pattern"),
    ] {
        let answer = post(&market, "/agent/cart", &body).await;
        assert_error(&answer, 400, "invalid_request", Some(field));
        assert!(answer.body["details"]["allowed"][keyword] != json!(null), "{}", answer.body);
    }
    let unknown = post(&market, "/agent/cart", &to("zip", json!("1"))).await;
    assert_error(&unknown, 400, "invalid_request", Some("destination.zip"));
    let known = unknown.body["details"]["allowed"].as_array().unwrap();
    assert!(known.contains(&json!("postal_code")), "{}", unknown.body);
    let missing = post(&market, "/agent/cart", &cart("buyer", json!(null))).await;
    assert_eq!(
        missing.error(),
        (404, "store_not_found"),
        "null is allowed where a field is optional"
    );
}

#[tokio::test]
async fn the_body_of_a_checkout_is_validated() {
    let (market, _) = Market::with_shop().await;
    let cart = "cart_00000000000000000000000000000001";
    let with = |name: &str, value: Value| json!({ "cart_id": cart, name: value });
    for (body, field) in [
        (with("confirmation", json!({ "level": "sworn" })), "confirmation.level"),
        (with("quote_hash", json!("12")), "quote_hash"),
        (with("confirmation", json!({ "quote_hash": "12" })), "quote_hash"),
        (with("confirmation", json!({ "confirmationId": "cnf_1" })), "confirmation.confirmationId"),
        (with("return_url", json!("http://agent.example")), "return_url"),
        (with("return_url", json!(format!("https://{}", "a".repeat(2000)))), "return_url"),
        (with("metadata", json!([1])), "metadata"),
        (with("metadata", json!({ "a": "x".repeat(4096) })), "metadata"),
        (with("merchant_slug", json!("shop")), "cart_id"),
        (json!({}), "cart_id"),
    ] {
        let answer = post(&market, "/agent/checkout", &body).await;
        assert_eq!(answer.error(), (400, "invalid_request"), "{body}");
        assert_eq!(answer.body["details"]["field"], field, "{}", answer.body);
    }
    let method = post(&market, "/agent/checkout", &with("payment_method", json!("cash"))).await;
    assert_eq!(method.error(), (422, "unsupported_payment_method"));
    let path = "/agent/checkout/chk_00000000000000000000000000000001/cancel";
    for reason in ["1price", "_price", "Price"] {
        let body = json!({ "reason_code": reason });
        let request = Request::post(format!("/api/v1{path}")).body(Body::from(body.to_string()));
        let answer = market.door.send(request.unwrap()).await;
        assert_error(&answer, 400, "invalid_request", Some("reason_code"));
    }
}

#[tokio::test]
async fn the_body_of_a_cancellation_is_optional() {
    let (market, _) = Market::with_shop().await;
    let path = "/api/v1/agent/checkout/chk_00000000000000000000000000000001/cancel";
    let described = "/agent/checkout/{checkout_id}/cancel";
    for (body, error) in
        [("", (404, "not_found")), ("{}", (404, "not_found")), ("x", (400, "invalid_request"))]
    {
        let answer = market.door.send(Request::post(path).body(Body::from(body)).unwrap()).await;
        assert_eq!(answer.error(), error, "{body}");
        assert_described_for("post", described, &answer);
    }
    let document = rest::openapi(crate::door::SITE_URL);
    assert_eq!(document["paths"][described]["post"]["requestBody"]["required"], false);
    assert_eq!(document["paths"]["/agent/cart"]["post"]["requestBody"]["required"], true);
    let empty = Request::post("/api/v1/agent/cart").body(Body::empty()).unwrap();
    assert_eq!(market.door.send(empty).await.error(), (400, "invalid_request"));
}

async fn post(market: &Market, path: &str, body: &Value) -> crate::door::Answer {
    let request = Request::builder().method(Method::POST).uri(format!("/api/v1{path}"));
    let answer = market.door.send(request.body(Body::from(body.to_string())).unwrap()).await;
    assert_described_for("post", path, &answer);
    answer
}
