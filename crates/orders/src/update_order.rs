//! A verb: changing what a buyer may change before the shipment.

use primitives::OrderId;
use serde_json::{Value, json};
use webhooks::OrderChange;

use crate::cancel::can_cancel;
use crate::change::{Change, Opened};
use crate::free_text::{NOTE, paragraphs};
use crate::{
    Actor, ActorKind, Changed, ConfirmationLevel, HistoryKind, Order, OrderContext, OrderError,
    OrderStatus,
};

/// What changes about an order. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OrderUpdate {
    /// `carts::Destination` as JSON, validated. Country and region stay the same; without a region it is that of the order.
    pub destination: Option<Value>,
    /// A note of the buyer to the merchant; a blank text removes it. At the doors of agents the empty text is absent
    /// (docs/contract/ids-and-values.md#absent-values), so that they send a space.
    pub note: Option<String>,
}

primitives::text_enum! {
    /// Why an agent may not change the destination of an order. The buyer may, on the page of the order.
    #[strum(serialize_all = "snake_case")]
    pub enum LockedDestination {
        /// A person approved the terms, which contain the destination.
        ApprovedByPerson,
        /// The order was placed with another key.
        PlacedByAnotherKey,
    }
}

/// Changes destination and note of an order: the note until the shipment, the destination until the merchant processes the
/// order. The merchant gets one event `order.updated`. An update that changes nothing leaves no entry in the history. Returns
/// `DestinationLocked` if only the buyer may change the destination.
pub async fn update(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    update: OrderUpdate,
) -> Result<Changed, OrderError> {
    let note = paragraphs("note", update.note.as_deref(), NOTE)?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let from = change.order.status;
    if !from.is_before_shipment() {
        return Err(OrderError::InvalidTransition { from });
    }
    let mut fields = Vec::new();
    if let Some(destination) = update.destination {
        let destination = in_approved_region(&change.order, destination)?;
        if change.order.destination() != Some(&destination) {
            check_allowed(&change.order, &context.actor)?;
            change.order.destination = Some(destination);
            fields.push("destination");
        }
    }
    if update.note.is_some() && change.order.note != note {
        change.order.note = note;
        fields.push("note");
    }
    if !fields.is_empty() {
        change.record(HistoryKind::Updated, None, json!({ "fields": fields })).await?;
        change.publish(None, OrderChange::Updated { fields }).await?;
    }
    change.finish(None).await
}

/// Returns the destination with the region of the order. Rejects another country or region: shipping and taxes were priced
/// for the approved ones.
fn in_approved_region(order: &Order, mut destination: Value) -> Result<Value, OrderError> {
    let Some(approved) = order.destination() else {
        return Err(OrderError::invalid("destination", "none: the order was approved without one"));
    };
    if !destination["country"].is_string() || destination["country"] != approved["country"] {
        return Err(OrderError::invalid("destination.country", "the country of the order"));
    }
    if destination["region"].is_null() && approved["region"].is_string() {
        destination["region"] = approved["region"].clone();
    }
    if destination["region"] != approved["region"] {
        return Err(OrderError::invalid("destination.region", "the region of the order"));
    }
    Ok(destination)
}

/// Returns whether the buyer can change the destination of an order.
pub(crate) fn can_change_destination(order: &Order) -> bool {
    order.destination().is_some() && is_before_processing(order.status)
}

/// Returns whether the merchant does not process the order yet: as long as the buyer can cancel it.
const fn is_before_processing(status: OrderStatus) -> bool {
    can_cancel(status, true)
}

/// Rejects a change of the destination that is too late, and one by an agent, unless the agent itself placed the order and
/// stated that a person approved it: what a person approved, no agent changes.
fn check_allowed(order: &Order, actor: &Actor) -> Result<(), OrderError> {
    let from = order.status;
    if !is_before_processing(from) {
        return Err(OrderError::InvalidTransition { from });
    }
    if actor.kind != ActorKind::Agent {
        return Ok(());
    }
    let reason = if order.confirmation != ConfirmationLevel::Attested {
        LockedDestination::ApprovedByPerson
    } else if *actor != Actor::agent(order.agent) {
        LockedDestination::PlacedByAnotherKey
    } else {
        return Ok(());
    };
    Err(OrderError::DestinationLocked { reason, order_page: None })
}
