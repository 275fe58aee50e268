//! Answers against the schemas that onX publishes. They are in no package, so that the test needs their directory
//! (`ONX_SCHEMAS`, with `order.json`, `fulfillment.json` and `return.json`) and is skipped without it.

use std::path::PathBuf;

use orders::{NewRefund, RefundReason, ReturnAction};
use serde_json::{Value, json};

use super::{Shopper, shopper};
use crate::app::TestApp;

struct Schemas(PathBuf);

impl Schemas {
    fn assert_valid(&self, name: &str, record: &Value) {
        let text = std::fs::read_to_string(self.0.join(format!("{name}.json"))).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(record).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?} in {record}");
    }

    /// Validates everything that the tools list.
    async fn assert_all_valid(&self, me: &Shopper<'_>) {
        for (tool, list, name) in [
            ("onx_get_orders", "orders", "order"),
            ("onx_get_fulfillments", "fulfillments", "fulfillment"),
            ("onx_get_returns", "returns", "return"),
        ] {
            let found = me.ok(tool, json!({ "pageSize": 100 })).await;
            assert_eq!(found["success"], true);
            for record in found[list].as_array().unwrap() {
                self.assert_valid(name, record);
            }
        }
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the schemas are in no package of a registry")]
async fn answers_match_the_published_schemas() {
    let Ok(directory) = std::env::var("ONX_SCHEMAS") else { return };
    let schemas = Schemas(PathBuf::from(directory));
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(2).await;
    let (line, sku) = me.line(order).await;
    schemas.assert_all_valid(&me).await;
    let bare = me.ok("onx_get_orders", json!({ "includeLineItems": false })).await;
    schemas.assert_valid("order", &bare["orders"][0]);
    let update = json!({ "id": order, "updates": { "orderNote": "ring" } });
    schemas.assert_valid("order", &me.ok("onx_update_order", update).await["order"]);
    let one = json!({ "orderId": order, "lineItems": [{ "sku": sku, "quantity": 1 }] });
    schemas.assert_valid("order", &me.ok("onx_cancel_order", one).await["order"]);
    me.deliver(order).await;
    schemas.assert_all_valid(&me).await;

    let item = json!({ "orderLineItemId": line, "sku": sku, "quantityReturned": 1, "returnReason": "defective" });
    let new = json!({ "orderId": order, "outcome": "refund", "returnLineItems": [item], "customerNote": "broken" });
    let created = me.ok("onx_create_return", json!({ "return": new })).await["return"].clone();
    schemas.assert_valid("return", &created);
    let id = created["id"].as_str().unwrap().parse().unwrap();
    let sent = ReturnAction::MarkInTransit {
        carrier: Some(String::from("Posti")),
        tracking_number: Some(String::from("BACK-1")),
    };
    for action in [
        ReturnAction::Approve { instructions: Some(String::from("Dock 9")) },
        sent,
        ReturnAction::Settle { refund: None, restocking_fee: None, reference: None },
    ] {
        orders::change_return(&me.merchant(), order, id, None, action).await.unwrap();
        schemas.assert_all_valid(&me).await;
    }
    let rest =
        NewRefund { amount: None, reason: RefundReason::Goodwill, note: None, reference: None };
    orders::refund(&me.merchant(), order, None, rest).await.unwrap();
    schemas.assert_all_valid(&me).await;
}
