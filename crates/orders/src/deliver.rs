//! A verb: recording that shipments were delivered.

use primitives::{FulfillmentId, OrderId};
use serde_json::json;

use crate::change::{Change, Opened};
use crate::{
    Changed, Fulfillment, HistoryKind, OrderContext, OrderError, OrderStatus, OrderTransition,
    table,
};

/// Records that fulfillments were delivered; without a list, all of them. Those that were delivered before stay as they are.
/// Once everything is delivered, the order is, and the return window begins.
pub async fn deliver(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    fulfillments: Vec<FulfillmentId>,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let mut shipped = table::fulfillments_of(change.work.sql(), context.merchant, id).await?;
    if let Some(index) = fulfillments.iter().position(|it| shipped.iter().all(|of| of.id != *it)) {
        let field = format!("fulfillment_ids[{index}]");
        return Err(OrderError::invalid(field, "the id of a fulfillment of the order"));
    }
    if shipped.is_empty() {
        return Err(OrderError::InvalidTransition { from: change.order.status });
    }
    let is_named = |it: &Fulfillment| fulfillments.is_empty() || fulfillments.contains(&it.id);
    let now = change.now();
    let mut delivered = Vec::new();
    for fulfillment in shipped.iter_mut().filter(|it| it.delivered_at.is_none() && is_named(it)) {
        fulfillment.delivered_at = Some(now);
        delivered.push(fulfillment.id);
    }
    table::mark_delivered(&mut change.work, context.merchant, id, &delivered, now).await?;
    for fulfillment in delivered {
        let details = json!({ "fulfillment_id": fulfillment });
        change.record(HistoryKind::Delivered, None, details).await?;
    }
    deliver_order(&mut change, &shipped, None).await?;
    change.finish(None).await
}

/// Applies the delivery of an order that is shipped and whose fulfillments are all delivered. The return window begins now.
pub(crate) async fn deliver_order(
    change: &mut Change<'_>,
    fulfillments: &[Fulfillment],
    reason: Option<&str>,
) -> Result<(), OrderError> {
    let is_delivered = fulfillments.iter().all(|it| it.delivered_at.is_some());
    if change.order.status != OrderStatus::Shipped || !is_delivered {
        return Ok(());
    }
    // Before now, if the units that were missing have been canceled.
    change.order.delivered_at = fulfillments.iter().filter_map(|it| it.delivered_at).max();
    change.order.returnable_until = Some(change.order.window_end(change.now()));
    change.apply(OrderTransition::Deliver, reason, None).await
}
