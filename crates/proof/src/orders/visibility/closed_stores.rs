//! Orders of stores that are suspended, paused or closed.

use std::time::{Duration, Instant};

use primitives::OrderId;
use serde_json::{Value, json};

use crate::hardening::shop::{agent_call, call, tool};
use crate::orders::acts::{Hand, Named};
use crate::orders::model::{Act, ReturnStep, Who};
use crate::orders::refunds::done;
use crate::orders::store::{OrderStore, SLUG, model_of};
use crate::report::{Failure, Trial, ensure};
use crate::souk::output;

/// What operators do with stores.
const VERBS: [&str; 3] = ["suspend", "pause", "close"];
/// Stores are cached for two seconds.
const EFFECT_MAX: Duration = Duration::from_secs(10);

/// Closes the store in several ways, and uses its orders each time.
pub(super) async fn prove(trial: &Trial, store: &OrderStore) -> Result<String, Failure> {
    let verbs = trial.rotate(VERBS.to_vec(), 1);
    let orders = store.copy(2 * verbs.len(), "pending").await?;
    for (verb, orders) in verbs.iter().zip(orders.chunks(2)) {
        output(&store.url(), &["stores", verb, SLUG, "--reason", "proof"]).await?;
        wait_for(store, false).await?;
        use_order(store, orders[0]).await.map_err(|failure| format!("{verb}: {failure}"))?;
        call_tools(store, orders[1]).await.map_err(|failure| format!("{verb}: {failure}"))?;
        output(&store.url(), &["stores", "reinstate", SLUG, "--reason", "proof"]).await?;
        wait_for(store, true).await?;
    }
    Ok(format!(
        "after {}: orders read, shipped, returned, refunded, disputed and canceled",
        verbs.join(", ")
    ))
}

/// Waits until both servers serve the store, or no longer do.
async fn wait_for(store: &OrderStore, is_open: bool) -> Result<(), Failure> {
    let (since, key) = (Instant::now(), &store.callers.agent.key);
    for port in store.ports {
        while (tool(port, key, SLUG, "get_merchant_profile", &json!({})).await?.0 == 200) != is_open
        {
            ensure(since.elapsed() < EFFECT_MAX, || {
                String::from("the status of the store has no effect")
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    Ok(())
}

/// Walks an order from shipment to refund over REST.
async fn use_order(store: &OrderStore, order: OrderId) -> Result<(), Failure> {
    let (mut sql, mut hand) = (store.test.raw().await, Hand::new(&store.callers, store.ports));
    let (_, lines) = model_of(&mut sql, order, "pending").await?;
    let mut named = Named::new(order, lines);
    let acts = [
        (Who::Agent, Act::Note(1)),
        (Who::Merchant, Act::Ship(Vec::new())),
        (Who::Merchant, Act::Deliver(None)),
        (Who::Agent, Act::RequestReturn(vec![(0, 1)], "refund")),
        (Who::Agent, Act::OpenDispute),
        (Who::Merchant, Act::Refund(Some(1))),
        (Who::Agent, Act::Read),
        (Who::Merchant, Act::Read),
    ];
    for (who, act) in &acts {
        done(&mut hand, &named, *who, act).await?;
    }
    let id =
        "SELECT 'ret_' || replace(return_id::text, '-', '') FROM order_return WHERE order_id = $1";
    named.returns.push(sqlx::query_scalar(id).bind(order.uuid()).fetch_one(&mut sql).await?);
    for step in [ReturnStep::Approve, ReturnStep::Receive, ReturnStep::Settle(None)] {
        done(&mut hand, &named, Who::Merchant, &Act::Return(0, step)).await?;
    }
    let (port, key) = (store.ports[0], &store.callers.agent.key);
    for path in ["/agent/orders", &format!("/agent/orders/{order}/return-eligibility")] {
        let (status, answer) = agent_call(port, key, "GET", path, &Value::Null).await?;
        ensure(status == 200, || format!("GET {path}: {status} {answer}"))?;
    }
    let (status, answer) =
        call(port, &store.callers.store_key, "GET", "/merchant/orders", &Value::Null).await?;
    ensure(status == 200, || format!("GET /merchant/orders: {status} {answer}"))
}

/// Calls the tools of orders.
async fn call_tools(store: &OrderStore, order: OrderId) -> Result<(), Failure> {
    let (port, key) = (store.ports[1], &store.callers.agent.key);
    let calls = [
        ("onx_get_orders", json!({ "ids": [order] })),
        ("get_order_status", json!({ "order_id": order })),
        ("onx_get_fulfillments", json!({ "orderIds": [order] })),
        ("check_return_eligibility", json!({ "order_id": order })),
        ("onx_get_returns", json!({ "orderIds": [order] })),
        ("onx_update_order", json!({ "id": order, "updates": { "orderNote": "Ring twice." } })),
        (
            "open_dispute",
            json!({ "order_id": order, "reason": "not_received", "statement": "Where is it?" }),
        ),
        ("submit_agent_feedback", json!({ "order_id": order, "outcome": "would_not_repeat" })),
        ("onx_cancel_order", json!({ "orderId": order })),
    ];
    for (name, arguments) in calls {
        let (status, answer) = tool(port, key, SLUG, name, &arguments).await?;
        ensure(status == 200, || format!("{name}: {status} {answer}"))?;
    }
    Ok(())
}
