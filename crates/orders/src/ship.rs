//! A verb: shipping units of an order.

use std::time::Duration;

use primitives::{OrderId, Timestamp};
use serde_json::json;

use crate::change::{Change, Opened};
use crate::confirm::walk_to_processing;
use crate::free_text::{NAME, one_line};
use crate::units::{requested, unshipped};
use crate::{
    Changed, Fulfillment, HistoryKind, LineUnits, OrderContext, OrderError, OrderLine, OrderStatus,
    OrderTransition, table,
};

/// Most shipments of an order.
pub const FULFILLMENTS_MAX: usize = 50;
/// Most characters of a tracking URL.
pub const TRACKING_URL_LENGTH_MAX: usize = 2_000;
const WEB_URL: &str = "an http or https URL of at most 2000 characters";
/// How far the announced delivery may be from now, in both directions: a merchant can report a shipment late.
const EXPECTED_WITHIN: Duration = Duration::from_hours(365 * 24);

/// A shipment that a merchant reports. Texts are the merchant's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shipment {
    /// Empty for everything that is left.
    pub items: Vec<LineUnits>,
    pub carrier: Option<String>,
    pub tracking_number: Option<String>,
    /// An http or https URL, never requested.
    pub tracking_url: Option<String>,
    /// The delivery that the carrier announced, at most 365 days before or after now.
    pub expected_by: Option<Timestamp>,
}

/// Ships units of an order, and confirms and processes it before if that did not happen. An order under review has to be
/// confirmed first. The subject of the change is the fulfillment.
pub async fn ship(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    shipment: Shipment,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let shipment = sanitized(shipment)?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    check_expected(shipment.expected_by, change.now())?;
    let from = change.order.status;
    if !can_ship(from) {
        return Err(OrderError::InvalidTransition { from });
    }
    let items = requested(&change.order, &shipment.items, OrderLine::unshipped)?;
    if items.is_empty() {
        return Err(OrderError::InvalidTransition { from });
    }
    check_count(&mut change).await?;
    walk_to_processing(&mut change).await?;
    let fulfillment = insert(&mut change, shipment, items).await?;
    let details = json!({ "fulfillment_id": fulfillment.id });
    change.record(HistoryKind::Shipped, None, details).await?;
    let transition = match (unshipped(&change.order), change.order.status) {
        (0, _) => Some(OrderTransition::ShipRest),
        // A further part of an order that is partially shipped.
        (_, OrderStatus::PartiallyShipped) => None,
        _ => Some(OrderTransition::ShipPart),
    };
    if let Some(transition) = transition {
        change.apply(transition, None, Some(&fulfillment)).await?;
    }
    change.finish(Some(fulfillment.id.to_string())).await
}

/// Returns whether units can be shipped, if there are any left.
const fn can_ship(status: OrderStatus) -> bool {
    matches!(
        status,
        OrderStatus::Pending
            | OrderStatus::Confirmed
            | OrderStatus::Processing
            | OrderStatus::PartiallyShipped
    )
}

fn check_expected(expected_by: Option<Timestamp>, now: Timestamp) -> Result<(), OrderError> {
    let near = now.minus(EXPECTED_WITHIN)..=now.plus(EXPECTED_WITHIN);
    if expected_by.is_none_or(|expected_by| near.contains(&expected_by)) {
        return Ok(());
    }
    Err(OrderError::invalid("expected_by", "at most 365 days before or after now"))
}

async fn check_count(change: &mut Change<'_>) -> Result<(), OrderError> {
    // Only an order with a shipment can have too many of them.
    if change.order.status != OrderStatus::PartiallyShipped {
        return Ok(());
    }
    let (merchant, id) = (change.context.merchant, change.order.id);
    let shipped = table::fulfillments_of(change.work.sql(), merchant, id).await?;
    if shipped.len() >= FULFILLMENTS_MAX {
        return Err(OrderError::invalid("order_id", "an order with fewer than 50 shipments"));
    }
    Ok(())
}

/// Inserts the shipment of these units and counts them in the lines.
async fn insert(
    change: &mut Change<'_>,
    shipment: Shipment,
    items: Vec<LineUnits>,
) -> Result<Fulfillment, OrderError> {
    for line in &mut change.order.lines {
        let units = items.iter().find(|units| units.line == line.line);
        line.shipped += units.map_or(0, |units| units.quantity);
    }
    let fulfillment = Fulfillment {
        id: change.work.new_id(),
        carrier: shipment.carrier,
        tracking_number: shipment.tracking_number,
        tracking_url: shipment.tracking_url,
        items,
        expected_by: shipment.expected_by,
        shipped_at: change.now(),
        delivered_at: None,
    };
    let (merchant, id) = (change.context.merchant, change.order.id);
    table::insert_fulfillment(&mut change.work, merchant, id, &fulfillment).await?;
    Ok(fulfillment)
}

/// Returns the shipment with sanitized texts, or the error of the first invalid one.
fn sanitized(shipment: Shipment) -> Result<Shipment, OrderError> {
    let url = shipment.tracking_url.filter(|url| !url.trim().is_empty());
    let url = url.map(|url| catalog::web_url(&url)).transpose();
    let tracking_url =
        url.ok().filter(|url| url.as_ref().is_none_or(|url| url.len() <= TRACKING_URL_LENGTH_MAX));
    let tracking_number = shipment.tracking_number.as_deref();
    Ok(Shipment {
        carrier: one_line("carrier", shipment.carrier.as_deref(), NAME)?,
        tracking_number: one_line("tracking_number", tracking_number, NAME)?,
        tracking_url: tracking_url.ok_or_else(|| OrderError::invalid("tracking_url", WEB_URL))?,
        ..shipment
    })
}
