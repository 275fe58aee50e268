//! The records (docs/contract/products.md#product-record).

use primitives::{Id, ProductId};
use serde_json::{Value, json};

use crate::app::TestApp;

/// Returns a record with its trust score to two decimals.
fn with_rounded_score(record: &Value) -> Value {
    let mut record = record.clone();
    let score = record["trust_score"].as_f64().unwrap();
    record["trust_score"] = json!((score * 100.0).round() / 100.0);
    record
}

#[tokio::test]
async fn a_product_record_has_the_fields_of_the_specification() {
    let app = TestApp::start().await;
    let id = ProductId::from_uuid(demo::FIRST_PRODUCT);
    let answer = app.tool("demo-store", "get_product_details", json!({ "product_id": id })).await;
    let record = &answer.json()["result"]["structuredContent"];
    insta::assert_json_snapshot!(json!({
        "id": record["id"],
        "name": record["name"],
        "price": record["price"],
        "currency": record["currency"],
        "stock_status": record["stock_status"],
        "merchant": with_rounded_score(&record["merchant"]),
        "return_window_days": record["policies"]["return_window_days"],
        "free_shipping_threshold": record["policies"]["free_shipping_threshold"],
        "shipping_estimate_days": record["policies"]["shipping_estimate_days"],
        "variants": record["variants"].as_array().unwrap().len(),
        "image": record["images"][0]["url"],
    }), @r#"
    {
      "currency": "USD",
      "free_shipping_threshold": 50.0,
      "id": "prod_076c313f7c63513c9eb9f8f3fff08813",
      "image": "http://souk.test/demo/images/demo-store/POUR-101.svg",
      "merchant": {
        "slug": "demo-store",
        "trust_score": 0.91,
        "verification_level": "VERIFIED"
      },
      "name": "Tidewater Pour-Over Coffee Set",
      "price": 58.0,
      "return_window_days": 30,
      "shipping_estimate_days": "3-5",
      "stock_status": "in_stock",
      "variants": 4
    }
    "#);
    assert!(record["description"].as_str().unwrap().len() > 40);
    // Both representations contain the same JSON.
    let text = answer.json()["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), *record);
}

#[tokio::test]
async fn a_store_is_the_same_over_both_doors() {
    let app = TestApp::start().await;
    let over_mcp = app.tool("demo-store", "get_merchant_profile", json!({})).await.json();
    let over_rest = app.get("/api/v1/stores/demo-store").await.json();
    assert_eq!(over_rest["success"], true);
    assert_eq!(over_mcp["result"]["structuredContent"], over_rest["data"]);
    let record = with_rounded_score(&over_rest["data"]);
    insta::assert_json_snapshot!(json!({
        "slug": record["slug"],
        "trust_score": record["trust_score"],
        "verification_level": record["verification_level"],
        "identity": record["identity_verification"]["status"],
        "endpoints": record["endpoints"],
        "product_count": record["product_count"],
    }), @r#"
    {
      "endpoints": {
        "mcp": "http://souk.test/demo-store/mcp"
      },
      "identity": "verified",
      "product_count": 251,
      "slug": "demo-store",
      "trust_score": 0.91,
      "verification_level": "VERIFIED"
    }
    "#);
}

#[tokio::test]
async fn every_visible_product_can_be_read_and_hidden_ones_cannot() {
    let app = TestApp::start().await;
    let world = demo::world();
    for store in world.stores.iter().filter(|store| store.active) {
        let suspended = store.trust_score.is_some_and(|score| score < 0.2);
        for product in store.products.iter().step_by(17) {
            let id = ProductId::from_uuid(product.id);
            let answer =
                app.tool(&store.slug, "get_product_details", json!({ "product_id": id })).await;
            let visible = ["USD", "EUR", "USDC"].contains(&product.currency.as_str());
            match (suspended, visible) {
                (true, _) => assert_eq!(answer.code(), "store_suspended"),
                (false, false) => assert_eq!(answer.code(), "product_not_found"),
                (false, true) => {
                    let record = &answer.json()["result"]["structuredContent"];
                    assert_eq!(record["name"], product.name);
                    assert_eq!(record["sku"], product.sku);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_price_in_a_foreign_currency_is_kept_and_hidden() {
    let app = TestApp::start().await;
    let world = demo::world();
    let foreign =
        world.stores.iter().flat_map(|store| store.products.iter().map(move |p| (store, p)));
    let (store, product) =
        foreign.into_iter().find(|(_, product)| product.currency == "SEK").unwrap();
    let id = ProductId::from_uuid(product.id);
    let answer = app.tool(&store.slug, "get_product_details", json!({ "product_id": id })).await;
    assert_eq!(answer.code(), "product_not_found");
}
