//! A verb: changing what a buyer may change before the shipment.

use primitives::OrderId;
use serde_json::{Value, json};

use crate::change::{Change, Opened};
use crate::free_text::{NOTE, paragraphs};
use crate::{Changed, HistoryKind, Order, OrderContext, OrderError};

/// What changes about an order. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OrderUpdate {
    /// `carts::Destination` as JSON, validated. The country stays the same.
    pub destination: Option<Value>,
    /// A note of the buyer to the merchant; an empty text removes it.
    pub note: Option<String>,
}

/// Changes destination and note of an order that is not shipped. An update that changes nothing leaves no entry in the
/// history.
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
        check_country(&change.order, &destination)?;
        if change.order.destination() != Some(&destination) {
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
    }
    change.finish(None).await
}

/// Rejects a destination in another country: shipping and taxes were priced for the approved one.
fn check_country(order: &Order, destination: &Value) -> Result<(), OrderError> {
    let Some(country) = destination["country"].as_str() else {
        return Err(OrderError::invalid("destination.country", "a country code"));
    };
    let approved = order.destination().and_then(|it| it["country"].as_str());
    if approved.is_some_and(|approved| approved != country) {
        return Err(OrderError::invalid("destination.country", "the country of the order"));
    }
    Ok(())
}
