//! The parts of an order's record.

use primitives::{ConfirmationId, FulfillmentId, KeyId, LineId, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActorKind, Fulfillment, HistoryEntry, HistoryKind, LineStatus, LineUnits, Order, OrderLine,
    OrderReturn, OrderStatus, ReturnStatus,
};

/// The agent that bought.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderAgent {
    /// ID of the agent's key.
    pub key_id: KeyId,
    /// Name of the key at the time of the order.
    pub name: String,
}

/// Human confirmation of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderConfirmation {
    /// Always true: a person has to approve every purchase.
    pub required: bool,
    /// Level of confirmation: `attested` (stated by the agent), `elicited` (in the agent's client), `hosted` (on the
    /// confirmation page) or `mandate` (a verified mandate).
    pub level: String,
    /// Confirmation identifier; absent for `attested`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmation_id: Option<ConfirmationId>,
    /// Whether the person approved from the address of the agent; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_address: Option<bool>,
}

impl OrderConfirmation {
    pub(super) fn of(order: &Order) -> Self {
        Self {
            required: true,
            level: order.confirmation.to_string(),
            confirmation_id: order.confirmation_id,
            same_address: order.same_address,
        }
    }
}

/// The buyer of an order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderBuyer {
    /// Email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
}

impl OrderBuyer {
    pub(super) fn of(order: &Order) -> Option<Self> {
        parsed(order.buyer.as_ref()?)
    }
}

/// The address that an order is sent to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OrderAddress {
    /// Name of the recipient.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Street and house number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// State, province or region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// ISO 3166-1 alpha-2 country code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

impl OrderAddress {
    pub(super) fn of(order: &Order) -> Option<Self> {
        parsed(order.destination()?)
    }
}

/// Parses stored data of another crate. Data of another form is left out, as an erased one is.
fn parsed<T: for<'de> Deserialize<'de>>(stored: &Value) -> Option<T> {
    T::deserialize(stored).ok()
}

/// A line of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderItem {
    /// Line identifier, as in the cart.
    pub line_id: LineId,
    /// Product identifier.
    pub product_id: ProductId,
    /// Variant identifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's SKU.
    pub sku: String,
    /// Name of the product or variant.
    pub name: String,
    /// Unit price.
    pub unit_price: f64,
    /// Quantities.
    pub quantity: OrderQuantities,
    /// Price of all ordered units after discounts.
    pub line_total: f64,
    /// Status of the line.
    pub status: LineStatus,
}

/// The quantities of a line of an order.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct OrderQuantities {
    /// Units that were bought.
    pub ordered: i64,
    /// Units that were not canceled.
    pub current: i64,
    /// Units that were shipped.
    pub fulfilled: i64,
    /// Units that are part of a return which was not refused or withdrawn.
    pub returned: i64,
}

impl OrderItem {
    pub(super) fn of(order: &Order, line: &OrderLine) -> Self {
        Self {
            line_id: line.line,
            product_id: line.product,
            variant_id: line.variant,
            sku: line.sku.clone(),
            name: line.name.clone(),
            unit_price: order.money(line.unit_minor).to_decimal(),
            quantity: OrderQuantities {
                ordered: i64::from(line.quantity),
                current: i64::from(line.current()),
                fulfilled: i64::from(line.shipped),
                returned: i64::from(line.returned),
            },
            line_total: order.money(line.total_minor).to_decimal(),
            status: line.status(),
        }
    }
}

/// Totals of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderTotals {
    /// All lines, before discounts.
    pub subtotal: f64,
    /// Sum of all discounts.
    pub discount: f64,
    /// Price of shipping; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping: Option<f64>,
    /// Taxes added to the prices; absent if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tax: Option<f64>,
    /// Amount paid.
    pub total: f64,
    /// Sum of all refunds.
    pub refunded: f64,
}

impl OrderTotals {
    pub(super) fn of(order: &Order) -> Self {
        let money = |minor: i64| order.money(minor).to_decimal();
        let discounts = order.terms["discounts"].as_array();
        let discount_minor = |discount: &Value| discount[1].as_i64().unwrap_or(0);
        Self {
            subtotal: money(order.terms["subtotal_minor"].as_i64().unwrap_or(0)),
            discount: money(discounts.map_or(0, |all| all.iter().map(discount_minor).sum())),
            shipping: order.shipping_minor.map(money),
            tax: order.tax_minor.map(money),
            total: order.total.to_decimal(),
            refunded: money(order.refunded_minor),
        }
    }
}

/// The shipping option that was bought.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderShipping {
    /// Name of the option.
    pub title: String,
    /// Price.
    pub price: f64,
    /// Fastest delivery, in days.
    pub days_min: i64,
    /// Slowest delivery, in days.
    pub days_max: i64,
}

impl OrderShipping {
    pub(super) fn of(order: &Order) -> Option<Self> {
        let terms = &order.terms["shipping"];
        Some(Self {
            title: terms["title"].as_str()?.to_owned(),
            price: order.money(terms["price_minor"].as_i64()?).to_decimal(),
            days_min: terms["days_min"].as_i64()?,
            days_max: terms["days_max"].as_i64()?,
        })
    }
}

/// Policies as the buyer agreed to them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderPolicies {
    /// Length of the return window in days, from the delivery. 0: the items cannot be returned.
    pub return_window_days: i64,
    /// Summary of the return policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_summary: Option<String>,
}

impl OrderPolicies {
    pub(super) fn of(order: &Order) -> Self {
        Self {
            return_window_days: i64::from(order.return_window_days()),
            return_summary: order.terms["returns"]["summary"].as_str().map(str::to_owned),
        }
    }
}

primitives::text_enum! {
    /// Status of all returns of an order together.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ReturnProgress {
        /// Returns were requested, and all were refused or withdrawn.
        None,
        /// The merchant has not decided about a return yet.
        Requested,
        /// A return is approved and not settled yet.
        InProgress,
        /// All accepted returns are settled.
        Returned,
    }
}

impl ReturnProgress {
    /// Returns the status of all returns together, or `None` without returns.
    #[must_use]
    pub fn of(returns: &[OrderReturn]) -> Option<Self> {
        let of_one = |it: &OrderReturn| match it.status {
            _ if it.is_accepted() => Self::Returned,
            ReturnStatus::Requested => Self::Requested,
            ReturnStatus::Approved
            | ReturnStatus::InTransit
            | ReturnStatus::Received
            | ReturnStatus::Inspected => Self::InProgress,
            ReturnStatus::Refunded
            | ReturnStatus::Exchanged
            | ReturnStatus::Closed
            | ReturnStatus::Declined
            | ReturnStatus::Rejected
            | ReturnStatus::Canceled => Self::None,
        };
        let found: Vec<Self> = returns.iter().map(of_one).collect();
        [Self::InProgress, Self::Requested, Self::Returned, Self::None]
            .into_iter()
            .find(|progress| found.contains(progress))
    }
}

primitives::text_enum! {
    /// Status of a shipment.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ShipmentStatus {
        /// On its way.
        Shipped,
        /// With the buyer.
        Delivered,
    }
}

/// A shipment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FulfillmentRecord {
    /// Fulfillment identifier.
    pub id: FulfillmentId,
    /// Status of the shipment.
    pub status: ShipmentStatus,
    /// Carrier, as the merchant names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carrier: Option<String>,
    /// Tracking number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_number: Option<String>,
    /// Page where the shipment can be tracked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracking_url: Option<String>,
    /// Units of the shipment.
    pub items: Vec<UnitsRecord>,
    /// Delivery that was announced; absent if none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_by: Option<Timestamp>,
    /// When the units were shipped.
    pub shipped_at: Timestamp,
    /// When the units were delivered; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
}

/// Units of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnitsRecord {
    /// Line identifier.
    pub line_id: LineId,
    /// Units.
    pub quantity: i64,
}

impl UnitsRecord {
    pub(super) fn of(units: &LineUnits) -> Self {
        Self { line_id: units.line, quantity: i64::from(units.quantity) }
    }
}

impl FulfillmentRecord {
    pub(super) fn of(it: &Fulfillment) -> Self {
        let is_delivered = it.delivered_at.is_some();
        Self {
            id: it.id,
            status: if is_delivered { ShipmentStatus::Delivered } else { ShipmentStatus::Shipped },
            carrier: it.carrier.clone(),
            tracking_number: it.tracking_number.clone(),
            tracking_url: it.tracking_url.clone(),
            items: it.items.iter().map(UnitsRecord::of).collect(),
            expected_by: it.expected_by,
            shipped_at: it.shipped_at,
            delivered_at: it.delivered_at,
        }
    }
}

/// An entry of the history of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryEntryRecord {
    /// Position, from 1.
    pub sequence: i32,
    /// What happened; absent for the placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<HistoryKind>,
    /// Status of the order afterwards.
    pub status: OrderStatus,
    /// When it happened.
    pub at: Timestamp,
    /// Kind of whoever did it.
    pub actor: ActorKind,
    /// Code of the reason; absent if none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl HistoryEntryRecord {
    /// Returns the placement, which is not stored as an entry: the first entry names the status before it.
    pub(super) fn placement(order: &Order, first: Option<&HistoryEntry>) -> Self {
        Self {
            sequence: 1,
            kind: None,
            status: first.map_or(order.status, |entry| entry.previous_status),
            at: order.created_at,
            actor: ActorKind::System,
            reason: None,
        }
    }

    pub(super) fn of(entry: &HistoryEntry) -> Self {
        Self {
            sequence: entry.sequence,
            kind: Some(entry.kind),
            status: entry.status,
            at: entry.occurred_at,
            actor: entry.actor.kind,
            reason: entry.reason.clone(),
        }
    }
}
