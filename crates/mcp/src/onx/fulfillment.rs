//! Fulfillments.

use orders::{OrderDetails, ShipmentStatus};
use primitives::{FulfillmentId, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Address, CustomField, LineItem};

/// A shipment of ordered units.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fulfillment {
    /// Fulfillment identifier.
    id: FulfillmentId,
    /// When the units were shipped.
    created_at: Timestamp,
    /// When the fulfillment last changed.
    updated_at: Timestamp,
    /// Slug of the store.
    tenant_id: String,
    /// Order identifier.
    order_id: OrderId,
    /// Status of the shipment.
    status: ShipmentStatus,
    /// Units of the shipment.
    line_items: Vec<LineItem>,
    /// Tracking numbers; empty if the merchant named none.
    tracking_numbers: Vec<String>,
    /// Carrier, as the merchant names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_carrier: Option<String>,
    /// Delivery that was announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_delivery_date: Option<Timestamp>,
    /// Where the units are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_address: Option<Address>,
    /// `tracking_url` and `delivered_at`.
    custom_fields: Vec<CustomField>,
}

impl Fulfillment {
    /// Returns a fulfillment of an order of the store with this slug.
    pub(crate) fn of(details: &OrderDetails, it: &orders::Fulfillment, slug: &str) -> Self {
        let units = |units: &orders::LineUnits| LineItem::units(&details.order, *units);
        let tracking_url = it.tracking_url.as_ref();
        let mut custom_fields: Vec<CustomField> =
            tracking_url.map(|url| CustomField::new("tracking_url", url)).into_iter().collect();
        custom_fields.extend(it.delivered_at.map(|time| CustomField::new("delivered_at", time)));
        let status = match it.delivered_at {
            Some(_) => ShipmentStatus::Delivered,
            None => ShipmentStatus::Shipped,
        };
        let address = details.record(slug, None).shipping_address;
        Self {
            id: it.id,
            created_at: it.shipped_at,
            updated_at: it.delivered_at.unwrap_or(it.shipped_at),
            tenant_id: slug.to_owned(),
            order_id: details.order.id,
            status,
            line_items: it.items.iter().filter_map(units).collect(),
            tracking_numbers: it.tracking_number.clone().into_iter().collect(),
            shipping_carrier: it.carrier.clone(),
            expected_delivery_date: it.expected_by,
            shipping_address: address.map(Address::of),
            custom_fields,
        }
    }
}
