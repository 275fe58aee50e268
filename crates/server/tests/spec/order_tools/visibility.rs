//! Whose orders a caller sees (docs/contract/orders.md#visibility), and at which stores.

use database::Work;
use identity::NewAgentKey;
use merchants::Standing;
use orders::Viewer;
use primitives::{DisputeId, Id, OrderId, Scope};
use serde_json::{Value, json};

use super::{STORE, Shopper, shopper};
use crate::app::TestApp;

/// Returns calls of all tools that name an order.
fn calls(order: OrderId, line: &Value, sku: &Value) -> Vec<(&'static str, Value)> {
    let item = json!({ "orderLineItemId": line, "sku": sku, "quantityReturned": 1, "returnReason": "other" });
    let flat = json!({ "order_id": order, "items": [{ "line_id": line, "quantity": 1 }], "reason": "other" });
    let onx = json!({ "orderId": order, "outcome": "refund", "returnLineItems": [item] });
    let address = json!({ "city": "Turku", "country": "FI" });
    vec![
        ("get_order_status", json!({ "order_id": order })),
        ("check_return_eligibility", json!({ "order_id": order })),
        ("onx_create_return", flat),
        ("onx_create_return", json!({ "return": onx })),
        ("onx_cancel_order", json!({ "orderId": order })),
        (
            "onx_cancel_order",
            json!({ "orderId": order, "lineItems": [{ "sku": sku, "quantity": 1 }] }),
        ),
        ("onx_update_order", json!({ "id": order, "updates": { "orderNote": "mine" } })),
        ("onx_update_order", json!({ "id": order, "updates": { "shippingAddress": address } })),
        ("open_dispute", json!({ "order_id": order, "reason": "other", "statement": "x" })),
        ("submit_agent_feedback", json!({ "order_id": order, "outcome": "completed" })),
    ]
}

/// Asserts that an order of somebody else is exactly like one that does not exist, and that nothing changed.
async fn assert_hidden(stranger: &Shopper<'_>, owner: &Shopper<'_>, order: OrderId) {
    let (line, sku) = owner.line(order).await;
    let unknown = OrderId::from_random(7);
    let before = owner.ok("get_order_status", json!({ "order_id": order })).await;
    for (foreign, missing) in calls(order, &line, &sku).into_iter().zip(calls(unknown, &line, &sku))
    {
        let (tool, arguments) = foreign;
        let refused = stranger.refused(tool, arguments.clone()).await;
        assert_eq!(refused["error"], "order_not_found", "{tool} {arguments}");
        assert_eq!(refused, stranger.refused(tool, missing.1).await, "{tool} {arguments}");
    }
    let number = &before["order_number"];
    for (tool, list, arguments) in [
        ("onx_get_orders", "orders", json!({})),
        ("onx_get_orders", "orders", json!({ "ids": [order] })),
        ("onx_get_orders", "orders", json!({ "names": [number] })),
        ("onx_get_fulfillments", "fulfillments", json!({ "orderIds": [order] })),
        ("onx_get_returns", "returns", json!({ "orderIds": [order] })),
    ] {
        let found = stranger.ok(tool, arguments.clone()).await;
        assert_eq!(found[list], json!([]), "{tool} {arguments}");
    }
    assert_eq!(owner.ok("get_order_status", json!({ "order_id": order })).await, before);
}

#[tokio::test]
async fn an_order_of_another_account_does_not_exist() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let stranger = Shopper::at(&app, STORE, app.buyer_key("other@example.com").await).await;
    let order = me.buy(2).await;
    me.deliver(order).await;
    let (line, _) = me.line(order).await;
    let one = json!({ "order_id": order, "items": [{ "line_id": line, "quantity": 1 }], "reason": "other" });
    let returned = me.ok("onx_create_return", one).await["return"]["id"].clone();
    let dispute = json!({ "order_id": order, "reason": "other", "statement": "broken" });
    let dispute = me.ok("open_dispute", dispute).await["dispute_id"].clone();
    assert_hidden(&stranger, &me, order).await;

    let unknown = DisputeId::from_random(7);
    let foreign = stranger.refused("get_dispute", json!({ "dispute_id": dispute })).await;
    assert_eq!(foreign["error"], "not_found");
    assert_eq!(foreign, stranger.refused("get_dispute", json!({ "dispute_id": unknown })).await);
    let found = stranger.ok("onx_get_returns", json!({ "ids": [returned] })).await;
    assert_eq!(found["returns"], json!([]));
    // The order belongs to one store.
    let elsewhere = Shopper::at(&app, "skarvdal", me.key.clone()).await;
    assert_hidden(&elsewhere, &me, order).await;
}

#[tokio::test]
async fn the_scope_for_orders_shows_those_of_the_account() {
    let app = TestApp::start().await;
    let owner = app.person("me@example.com", &[]).await;
    let key = async |scopes: &[Scope]| {
        let wanted =
            NewAgentKey { scopes: scopes.iter().copied().collect(), ..NewAgentKey::default() };
        Shopper::at(&app, STORE, app.agent_key(owner, &wanted).await.key).await
    };
    let buyer = key(&[Scope::AgentCart, Scope::AgentCheckout]).await;
    let sibling = key(&[Scope::AgentCart, Scope::AgentCheckout]).await;
    let clerk = key(&[Scope::AgentOrders]).await;
    let order = buyer.buy(2).await;
    buyer.deliver(order).await;
    assert_hidden(&sibling, &buyer, order).await;
    for seen in [&buyer, &clerk] {
        let found = seen.ok("onx_get_orders", json!({ "ids": [order] })).await;
        assert_eq!(found["orders"][0]["id"], json!(order));
        let (line, _) = seen.line(order).await;
        let one = json!({ "order_id": order, "items": [{ "line_id": line, "quantity": 1 }], "reason": "other" });
        seen.ok("onx_create_return", one).await;
        let parcels = seen.ok("onx_get_fulfillments", json!({})).await;
        assert_eq!(parcels["fulfillments"].as_array().unwrap().len(), 1);
    }
    let returns = clerk.ok("onx_get_returns", json!({})).await;
    assert_eq!(returns["returns"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_sandbox_key_has_orders_of_its_own() {
    let app = TestApp::start().await;
    let me = Shopper::at(&app, "demo-store", app.sandbox_key().await).await;
    let stranger = Shopper::at(&app, "demo-store", app.sandbox_key().await).await;
    let order = me.buy(1).await;
    assert_hidden(&stranger, &me, order).await;
    let found = me.ok("onx_get_orders", json!({})).await;
    assert_eq!(found["orders"][0]["id"], json!(order));
    let canceled = me.ok("onx_cancel_order", json!({ "orderId": order })).await;
    assert_eq!(canceled["order"]["status"], "canceled");
    // The merchant does not see it, and other keys do not write at the demo store.
    let reading = database::Reading::for_store(app.test.database(), me.store.merchant).unwrap();
    let of_merchant = orders::details(&reading, me.store.merchant, order, &Viewer::Merchant).await;
    assert!(of_merchant.is_err());
    let real = Shopper::at(&app, "demo-store", app.buyer_key("me@example.com").await).await;
    assert_eq!(real.ok("onx_get_orders", json!({})).await["orders"], json!([]));
    let refused = real.refused("onx_cancel_order", json!({ "orderId": order })).await;
    assert_eq!(
        (&refused["error"], &refused["details"]["reason"]),
        (&json!("forbidden"), &json!("read_only_store"))
    );
}

#[tokio::test]
async fn orders_at_a_suspended_store_are_read_returned_and_disputed() {
    let app = TestApp::start().await;
    let me = shopper(&app).await;
    let (pending, delivered) = (me.buy(1).await, me.buy(1).await);
    me.deliver(delivered).await;
    let (line, _) = me.line(delivered).await;
    let mut work = Work::for_platform(app.test.database()).await.unwrap();
    let standing = Standing { score: Some(0.1), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, me.store.merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(me.refused("get_merchant_profile", json!({})).await["error"], "store_suspended");
    let one = json!({ "order_id": delivered, "items": [{ "line_id": line, "quantity": 1 }], "reason": "other" });
    let dispute = json!({ "order_id": delivered, "reason": "other", "statement": "broken" });
    for (tool, arguments) in [
        ("onx_get_orders", json!({})),
        ("get_order_status", json!({ "order_id": pending })),
        ("onx_update_order", json!({ "id": pending, "updates": { "orderNote": "ring" } })),
        ("onx_cancel_order", json!({ "orderId": pending })),
        ("onx_get_fulfillments", json!({})),
        ("check_return_eligibility", json!({ "order_id": delivered })),
        ("onx_create_return", one),
        ("onx_get_returns", json!({})),
        ("submit_agent_feedback", json!({ "order_id": delivered, "outcome": "would_not_repeat" })),
    ] {
        me.ok(tool, arguments).await;
    }
    let opened = me.ok("open_dispute", dispute).await;
    me.ok("get_dispute", json!({ "dispute_id": opened["dispute_id"] })).await;
}
