//! Returns.

use orders::{
    OrderDetails, OrderReturn, ReturnCondition, ReturnOutcome, ReturnReason, ReturnStatus,
};
use primitives::{LineId, OrderId, ReturnId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::CustomField;

/// A return.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of onX")]
pub(crate) struct Return {
    /// Return identifier.
    id: ReturnId,
    /// When the return was requested.
    created_at: Timestamp,
    /// When the return last changed.
    updated_at: Timestamp,
    /// Slug of the store.
    tenant_id: String,
    /// Order identifier.
    order_id: OrderId,
    /// Status of the return.
    status: ReturnStatus,
    /// How the return is to be settled.
    outcome: ReturnOutcome,
    /// Units of the return.
    return_line_items: Vec<ReturnLineItem>,
    /// All units.
    total_quantity: i64,
    /// How to send the items back, as the merchant says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_instructions: Option<String>,
    /// Shipment of the items on their way back; empty if it is not known.
    labels: Vec<Label>,
    /// Amount refunded for the return; absent until it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    refund_amount: Option<f64>,
    /// Fee that the merchant kept; absent until the return is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    restocking_fee: Option<f64>,
    /// Why the return was declined or rejected: a code.
    #[serde(skip_serializing_if = "Option::is_none")]
    decline_reason: Option<String>,
    /// Note of the buyer.
    #[serde(skip_serializing_if = "Option::is_none")]
    customer_note: Option<String>,
    /// When the return was requested.
    requested_at: Timestamp,
    /// When the merchant received the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    received_at: Option<Timestamp>,
    /// When the return was refunded, exchanged or rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    /// Page of the order, for the buyer.
    status_page_url: String,
    /// `currency` of the amounts.
    custom_fields: Vec<CustomField>,
}

/// Units of a return.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReturnLineItem {
    /// Line identifier.
    order_line_item_id: LineId,
    /// The merchant's SKU.
    sku: String,
    /// Units.
    quantity_returned: i64,
    /// Why they are returned.
    return_reason: ReturnReason,
    /// Result of the inspection; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    inspection: Option<Inspection>,
    /// Unit price.
    unit_price: f64,
    /// Name of the product or variant.
    name: String,
}

/// The result of an inspection.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Inspection {
    /// Condition of the items.
    condition_category: ReturnCondition,
}

/// A shipment of returned items.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Label {
    /// Carrier.
    carrier: String,
    /// Tracking number.
    tracking_number: String,
}

impl Return {
    /// Returns a return of an order of the store with this slug. `page_url` is the buyer's page of the order.
    pub(crate) fn of(
        details: &OrderDetails,
        it: &OrderReturn,
        slug: &str,
        page_url: String,
    ) -> Self {
        let order = &details.order;
        let money = |minor: i64| order.money(minor).to_decimal();
        let items = it.items.iter().filter_map(|item| ReturnLineItem::of(order, item));
        let label = it.carrier.clone().zip(it.tracking_number.clone());
        let label = label.map(|(carrier, tracking_number)| Label { carrier, tracking_number });
        Self {
            id: it.id,
            created_at: it.requested_at,
            updated_at: it.updated_at,
            tenant_id: slug.to_owned(),
            order_id: order.id,
            status: it.status,
            outcome: it.outcome,
            return_line_items: items.collect(),
            total_quantity: it.items.iter().map(|item| i64::from(item.quantity)).sum(),
            return_instructions: it.instructions.clone(),
            labels: label.into_iter().collect(),
            refund_amount: it.refund_minor.map(money),
            restocking_fee: it.restocking_fee_minor.map(money),
            decline_reason: it.decline_reason.map(|reason| reason.to_string()),
            customer_note: it.customer_note.clone(),
            requested_at: it.requested_at,
            received_at: it.received_at,
            completed_at: it.settled_at,
            status_page_url: page_url,
            custom_fields: vec![CustomField::new("currency", order.currency())],
        }
    }
}

impl ReturnLineItem {
    fn of(order: &orders::Order, item: &orders::ReturnItem) -> Option<Self> {
        let line = order.line(item.line)?;
        let inspection = |condition_category: ReturnCondition| Inspection { condition_category };
        Some(Self {
            order_line_item_id: line.line,
            sku: line.sku.clone(),
            quantity_returned: i64::from(item.quantity),
            return_reason: item.reason,
            inspection: item.condition.map(inspection),
            unit_price: order.money(line.unit_minor).to_decimal(),
            name: line.name.clone(),
        })
    }
}
