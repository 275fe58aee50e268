//! What the tools for orders refuse, and what the errors name.

use serde_json::{Value, json};

use super::{STORE, Shopper, shopper};
use crate::app::TestApp;

/// Asserts the error and the field that it names.
async fn assert_refused(me: &Shopper<'_>, tool: &str, arguments: Value, error: &str, field: &str) {
    let refused = me.refused(tool, arguments.clone()).await;
    let named = refused["details"]["field"].as_str().unwrap_or_default();
    assert_eq!(
        (refused["error"].as_str(), named),
        (Some(error), field),
        "{tool} {arguments}: {refused}"
    );
}

#[tokio::test]
async fn a_return_names_what_is_wrong_in_both_forms() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(2).await;
    let (line, sku) = me.line(order).await;
    let flat = |line: &Value, quantity: i64| json!({ "order_id": order, "items": [{ "line_id": line, "quantity": quantity }], "reason": "other" });
    let onx = |line: &Value, sku: &Value, quantity: i64| {
        let item = json!({ "orderLineItemId": line, "sku": sku, "quantityReturned": quantity, "returnReason": "other" });
        json!({ "return": { "orderId": order, "outcome": "refund", "returnLineItems": [item] } })
    };
    let tool = "onx_create_return";
    for arguments in [flat(&line, 1), onx(&line, &sku, 1)] {
        let early = me.refused(tool, arguments).await;
        assert_eq!(early["error"], "return_not_eligible");
        assert_eq!(early["details"]["reason"], "not_delivered");
    }
    me.deliver(order).await;
    for arguments in [flat(&line, 3), onx(&line, &sku, 3)] {
        let exceeded = me.refused(tool, arguments).await;
        assert_eq!(exceeded["details"]["reason"], "quantity_exceeded");
    }
    let unknown = json!(format!("line_{}", "0".repeat(32)));
    let wrong_sku = json!("NO-SUCH-SKU");
    let mut both = onx(&line, &sku, 1);
    both["order_id"] = json!(order);
    let mut without_items = flat(&line, 1);
    without_items.as_object_mut().unwrap().remove("items");
    let mut without_reason = flat(&line, 1);
    without_reason.as_object_mut().unwrap().remove("reason");
    let mut twice = flat(&line, 1);
    twice["items"] =
        json!([{ "line_id": line, "quantity": 1 }, { "line_id": line, "quantity": 1 }]);
    for (arguments, field) in [
        (flat(&unknown, 1), "items[0].line_id"),
        (flat(&line, 0), "items[0].quantity"),
        (onx(&unknown, &sku, 1), "return.returnLineItems[0].orderLineItemId"),
        (onx(&line, &wrong_sku, 1), "return.returnLineItems[0].sku"),
        (onx(&line, &sku, 0), "return.returnLineItems[0].quantityReturned"),
        (both, "order_id"),
        (json!({}), "order_id"),
        (without_items, "items"),
        (without_reason, "reason"),
        (twice, "items[1].line_id"),
        (json!({ "return": { "orderId": order } }), "return.outcome"),
    ] {
        assert_refused(&me, tool, arguments, "invalid_request", field).await;
    }
    let none = me.ok("onx_get_returns", json!({ "orderIds": [order] })).await;
    assert_eq!(none["returns"], json!([]));
}

#[tokio::test]
async fn a_cancellation_names_what_is_wrong() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(1).await;
    let (line, sku) = me.line(order).await;
    let cancel = |item: Value| json!({ "orderId": order, "lineItems": [item] });
    let unknown = json!(format!("line_{}", "0".repeat(32)));
    for (arguments, field) in [
        (cancel(json!({ "sku": "NO-SUCH-SKU", "quantity": 1 })), "lineItems[0].sku"),
        (cancel(json!({ "sku": "NO-SUCH-SKU", "quantity": 1, "id": line })), "lineItems[0].sku"),
        (cancel(json!({ "sku": sku, "quantity": 1, "id": unknown })), "lineItems[0].id"),
        (cancel(json!({ "sku": sku, "quantity": 2 })), "lineItems[0].quantity"),
        (json!({ "orderId": order, "reason": "x".repeat(201) }), "reason"),
        (json!({ "orderId": order, "notifyCustomer": true }), "notifyCustomer"),
        (json!({ "orderId": "ord_1" }), "orderId"),
    ] {
        assert_refused(&me, "onx_cancel_order", arguments, "invalid_request", field).await;
    }
    orders::start_processing(&me.merchant(), order, None).await.unwrap();
    let late = me.refused("onx_cancel_order", json!({ "orderId": order })).await;
    assert_eq!(late["error"], "invalid_status_transition");
    assert_eq!(late["details"]["from"], "processing");
}

#[tokio::test]
async fn an_update_names_what_is_wrong() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(1).await;
    let update = |updates: Value| json!({ "id": order, "updates": updates });
    let to = |country: &str| {
        update(json!({ "shippingAddress": { "country": country, "city": "Berlin" } }))
    };
    for (arguments, field) in [
        (update(json!({})), "updates"),
        (update(json!({ "orderNote": "" })), "updates"),
        (to("DE"), "updates.shippingAddress.country"),
        (to("XX"), "updates.shippingAddress.country"),
        (update(json!({ "orderNote": "x".repeat(2_001) })), "updates.orderNote"),
        (update(json!({ "totalPrice": 1 })), "updates.totalPrice"),
    ] {
        assert_refused(&me, "onx_update_order", arguments, "invalid_request", field).await;
    }
    me.ship(order).await;
    let late = me.refused("onx_update_order", update(json!({ "orderNote": "ring" }))).await;
    assert_eq!(late["error"], "invalid_status_transition");
}

#[tokio::test]
async fn invalid_filters_and_disputes_are_named() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let order = me.buy(1).await;
    let dispute = |statement: &str, evidence: &str| json!({ "order_id": order, "reason": "other", "statement": statement, "evidence": [evidence] });
    for (tool, arguments, field) in [
        ("onx_get_orders", json!({ "createdAtMin": "2026-11-15" }), "createdAtMin"),
        ("onx_get_orders", json!({ "names": ["#12"] }), "names[0]"),
        ("onx_get_orders", json!({ "statuses": ["lost"] }), "statuses[0]"),
        ("onx_get_orders", json!({ "pageSize": 101 }), "pageSize"),
        ("onx_get_orders", json!({ "skip": 10_001 }), "skip"),
        ("onx_get_fulfillments", json!({ "orderIds": ["1"] }), "orderIds[0]"),
        ("onx_get_returns", json!({ "outcomes": ["gift"] }), "outcomes[0]"),
        ("open_dispute", dispute(" \u{7} ", "https://files.example/"), "statement"),
        ("open_dispute", dispute("late", "http://files.example/"), "evidence[0]"),
        ("submit_agent_feedback", json!({ "order_id": order, "outcome": "great" }), "outcome"),
    ] {
        assert_refused(&me, tool, arguments, "invalid_request", field).await;
    }
}

/// A tool for orders needs a key with a scope that includes it.
#[tokio::test]
async fn a_key_for_carts_reads_no_orders() {
    let app = TestApp::start().await;
    let me = Shopper::at(&app, STORE, app.reader_key().await).await;
    for tool in ["onx_get_orders", "onx_create_return", "submit_agent_feedback"] {
        let refused = me.refused(tool, json!({})).await;
        assert_eq!(refused["error"], "forbidden", "{refused}");
        assert_eq!(refused["details"]["required_scope"], "agent:orders");
    }
}
