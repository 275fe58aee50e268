//! A verb: canceling units that were not shipped.

use primitives::OrderId;
use serde_json::{Value, json};
use webhooks::OrderChange;

use crate::change::{Change, Opened};
use crate::deliver::deliver_order;
use crate::free_text::{NOTE, paragraphs};
use crate::units::{requested, unshipped};
use crate::{
    Changed, HistoryKind, LineUnits, OrderContext, OrderError, OrderLine, OrderStatus,
    OrderTransition, table,
};

primitives::text_enum! {
    /// Why units were canceled.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum CancelReason {
        BuyerRequest,
        /// The merchant does not have the units. They do not go back into stock.
        OutOfStock,
        PriceError,
        Undeliverable,
        Fraud,
        Other,
    }
}

impl CancelReason {
    /// Returns whether agents and buyers state it. The other reasons are the merchant's.
    const fn is_of_buyer(self) -> bool {
        matches!(self, Self::BuyerRequest)
    }
}

/// A cancellation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancellation {
    /// Empty for all units that are not shipped.
    pub items: Vec<LineUnits>,
    pub reason: CancelReason,
    /// Replaces the note of the buyer to the merchant. Only agents and buyers leave one.
    pub note: Option<String>,
}

/// Cancels units that were not shipped, puts them back into stock and publishes `order.updated`. An order without any other
/// unit is canceled; one whose other units are all shipped is shipped, and delivered if they are. Agents and buyers cancel
/// until the merchant processes the order.
pub async fn cancel(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    cancellation: Cancellation,
) -> Result<Changed, OrderError> {
    let note = paragraphs("note", cancellation.note.as_deref(), NOTE)?;
    let is_buyer = context.actor.kind.is_buyer_side();
    if note.is_some() && !is_buyer {
        return Err(OrderError::invalid("note", "none: a merchant states a reason"));
    }
    if is_buyer && !cancellation.reason.is_of_buyer() {
        return Err(OrderError::invalid("reason", "buyer_request"));
    }
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let from = change.order.status;
    if !can_cancel(from, is_buyer) {
        let is_merchants = can_cancel(from, false);
        return Err(if is_merchants {
            OrderError::CancelTooLate { from }
        } else {
            OrderError::InvalidTransition { from }
        });
    }
    let items = requested(&change.order, &cancellation.items, OrderLine::unshipped)?;
    for line in &mut change.order.lines {
        let units = items.iter().find(|units| units.line == line.line);
        line.canceled += units.map_or(0, |units| units.quantity);
    }
    let mut fields = vec!["items"];
    if note.is_some() && change.order.note != note {
        change.order.note = note;
        fields.push("note");
    }
    let reason = cancellation.reason;
    let details = json!({ "items": items.iter().map(named).collect::<Vec<_>>() });
    change.record(HistoryKind::LinesCanceled, Some(reason.as_str()), details).await?;
    change.publish(Some(reason.as_str()), OrderChange::Updated { fields }).await?;
    end_shipping(&mut change, reason.as_str()).await?;
    if reason != CancelReason::OutOfStock {
        change.restock(&items);
    }
    change.finish(None).await
}

/// Returns whether units can be canceled, if there are any that are not shipped.
pub(crate) const fn can_cancel(status: OrderStatus, is_buyer: bool) -> bool {
    match status {
        OrderStatus::Pending | OrderStatus::Confirmed | OrderStatus::ManualReview => true,
        OrderStatus::Processing | OrderStatus::PartiallyShipped => !is_buyer,
        OrderStatus::Shipped
        | OrderStatus::Delivered
        | OrderStatus::Completed
        | OrderStatus::Canceled
        | OrderStatus::Failed => false,
    }
}

/// Returns units as the history names them.
fn named(units: &LineUnits) -> Value {
    json!({ "line_id": units.line, "quantity": units.quantity })
}

/// Applies the transitions of an order that has no unit left to ship.
async fn end_shipping(change: &mut Change<'_>, reason: &str) -> Result<(), OrderError> {
    if unshipped(&change.order) > 0 {
        return Ok(());
    }
    if change.order.status != OrderStatus::PartiallyShipped {
        return change.apply(OrderTransition::Cancel, Some(reason), None).await;
    }
    change.apply(OrderTransition::ShipRest, Some(reason), None).await?;
    let (merchant, id) = (change.context.merchant, change.order.id);
    let shipped = table::fulfillments_of(change.work.sql(), merchant, id).await?;
    deliver_order(change, &shipped, Some(reason)).await
}
