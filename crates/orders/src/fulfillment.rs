//! Fulfillments: shipments of ordered units.

use primitives::{FulfillmentId, Timestamp};
use webhooks::{FulfillmentPayload, UnitsPayload};

use crate::LineUnits;

/// A shipment. Texts are the merchant's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fulfillment {
    pub id: FulfillmentId,
    pub carrier: Option<String>,
    pub tracking_number: Option<String>,
    pub tracking_url: Option<String>,
    pub items: Vec<LineUnits>,
    /// The delivery that the carrier announced.
    pub expected_by: Option<Timestamp>,
    pub shipped_at: Timestamp,
    pub delivered_at: Option<Timestamp>,
}

impl Fulfillment {
    /// Returns the fulfillment as events carry it.
    pub(crate) fn payload(&self) -> FulfillmentPayload {
        FulfillmentPayload {
            id: self.id,
            carrier: self.carrier.clone(),
            tracking_number: self.tracking_number.clone(),
            tracking_url: self.tracking_url.clone(),
            items: units(&self.items),
        }
    }
}

/// Returns units of lines as events carry them.
pub(crate) fn units(items: &[LineUnits]) -> Vec<UnitsPayload> {
    let payload = |item: &LineUnits| UnitsPayload { line_id: item.line, quantity: item.quantity };
    items.iter().map(payload).collect()
}
