//! Orders.

use orders::{OrderDetails, OrderRecord, OrderStatus, PaymentStatus, RefundReason};
use primitives::{OrderId, RefundId, ReturnId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Address, CustomField, LineItem};

/// An order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of onX")]
pub(crate) struct Order {
    /// Order identifier.
    id: OrderId,
    /// When the order was placed.
    created_at: Timestamp,
    /// When the order last changed.
    updated_at: Timestamp,
    /// Slug of the store.
    tenant_id: String,
    /// Number that people use for the order.
    name: String,
    /// Status of the order.
    status: OrderStatus,
    /// Status of the payment, with regard to refunds.
    payment_status: PaymentStatus,
    /// Currency of all amounts.
    currency: String,
    /// Lines of the order; empty if they were not requested.
    line_items: Vec<LineItem>,
    /// All lines, before discounts.
    sub_total_price: f64,
    /// Sum of all discounts.
    order_discount: f64,
    /// Price of shipping; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_price: Option<f64>,
    /// Taxes added to the prices; absent if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_tax: Option<f64>,
    /// Amount paid.
    total_price: f64,
    /// Refunds, the oldest first.
    refunds: Vec<Refund>,
    /// Who receives the receipt; absent if nobody was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    billing_address: Option<Address>,
    /// Where the items are sent; absent if no address is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_address: Option<Address>,
    /// Carrier of the newest shipment.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_carrier: Option<String>,
    /// Shipping option that was bought.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping_class: Option<String>,
    /// Note of the buyer to the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_note: Option<String>,
    /// `fulfillment_status`, `return_status`, the times `promised_by`, `delivered_at` and `returnable_until`, and `order_page`,
    /// the page for the buyer.
    custom_fields: Vec<CustomField>,
}

/// A refund. The merchant moves the money.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Refund {
    /// Refund identifier.
    id: RefundId,
    /// Amount.
    amount: f64,
    /// Reason.
    reason: RefundReason,
    /// Return that the refund settles.
    #[serde(skip_serializing_if = "Option::is_none")]
    return_id: Option<ReturnId>,
    /// When the refund was recorded.
    created_at: Timestamp,
}

impl Order {
    /// Returns an order of the store with this slug. `page_url` is the buyer's page of the order.
    pub(crate) fn of(details: &OrderDetails, slug: &str, page_url: String) -> Self {
        let record = details.record(slug, Some(page_url));
        let refund = |it: &orders::Refund| Refund {
            id: it.id,
            amount: details.order.money(it.amount_minor).to_decimal(),
            reason: it.reason,
            return_id: it.return_id,
            created_at: it.created_at,
        };
        let newest = details.fulfillments.last();
        Self {
            custom_fields: custom_fields(&record),
            id: record.order_id,
            created_at: record.created_at,
            updated_at: record.updated_at,
            tenant_id: record.merchant_slug,
            name: record.order_number,
            status: record.status,
            payment_status: record.payment_status,
            currency: record.currency,
            line_items: record.items.iter().map(LineItem::of).collect(),
            sub_total_price: record.totals.subtotal,
            order_discount: record.totals.discount,
            shipping_price: record.totals.shipping,
            order_tax: record.totals.tax,
            total_price: record.totals.total,
            refunds: details.refunds.iter().map(refund).collect(),
            billing_address: record.buyer.map(Address::of_buyer),
            shipping_address: record.shipping_address.map(Address::of),
            shipping_carrier: newest.and_then(|it| it.carrier.clone()),
            shipping_class: record.shipping_option.map(|option| option.title),
            order_note: record.note,
        }
    }

    /// Removes the lines.
    pub(crate) fn without_line_items(self) -> Self {
        Self { line_items: Vec::new(), ..self }
    }
}

fn custom_fields(record: &OrderRecord) -> Vec<CustomField> {
    let mut fields = vec![CustomField::new("fulfillment_status", record.fulfillment_status)];
    fields.extend(record.return_status.map(|it| CustomField::new("return_status", it)));
    for (name, time) in [
        ("promised_by", record.promised_by),
        ("delivered_at", record.delivered_at),
        ("returnable_until", record.returnable_until),
    ] {
        fields.extend(time.map(|time| CustomField::new(name, time)));
    }
    fields.extend(record.permalink_url.as_ref().map(|url| CustomField::new("order_page", url)));
    fields
}
