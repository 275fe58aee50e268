//! Orders as every door returns them (docs/contract/orders.md#order-record).

mod adjustment;
mod dispute;
mod eligibility;
mod parts;
mod pushed;
mod refund;
mod returns;

use primitives::{CartId, CheckoutId, OrderId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

pub use adjustment::{AdjustmentRecord, AdjustmentStatus, AdjustmentType};
pub use dispute::{DisputeRecord, DisputeStatement, DisputeSummary};
pub use eligibility::{EligibilityRecord, EligibleItem};
pub use parts::{
    FulfillmentRecord, HistoryEntryRecord, OrderAddress, OrderAgent, OrderBuyer, OrderConfirmation,
    OrderItem, OrderPolicies, OrderQuantities, OrderShipping, OrderTotals, ReturnProgress,
    ShipmentStatus, UnitsRecord,
};
pub use pushed::{PushedItemRecord, PushedOrderRecord};
pub use refund::RefundRecord;
pub use returns::{ReturnItemRecord, ReturnRecord};

use crate::{FulfillmentStatus, OrderDetails, OrderStatus, PaymentStatus};

/// An order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OrderRecord {
    /// Order identifier.
    pub order_id: OrderId,
    /// Slug of the store.
    pub merchant_slug: String,
    /// Checkout session that was paid.
    pub checkout_id: CheckoutId,
    /// Cart that was bought.
    pub cart_id: CartId,
    /// Number that people use for the order. Identifiers in calls are `order_id`.
    pub order_number: String,
    /// Version. It rises by one with each entry of `status_history`; send it with a change to exclude concurrent ones.
    pub version: i32,
    /// Status of the order.
    pub status: OrderStatus,
    /// Status of the payment, with regard to refunds.
    pub payment_status: PaymentStatus,
    /// How much of the order is shipped.
    pub fulfillment_status: FulfillmentStatus,
    /// Status of all returns together; absent if none was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_status: Option<ReturnProgress>,
    /// Agent that bought.
    pub agent: OrderAgent,
    /// Human confirmation of the purchase.
    pub human_confirmation: OrderConfirmation,
    /// Who receives the receipt; absent if nobody was named or the data was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buyer: Option<OrderBuyer>,
    /// Lines of the order.
    pub items: Vec<OrderItem>,
    /// Totals of the order.
    pub totals: OrderTotals,
    /// Amount paid. Same as `totals.total`.
    pub total_amount: f64,
    /// Currency of all amounts.
    pub currency: String,
    /// Where the items are sent; absent if no address is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_address: Option<OrderAddress>,
    /// Shipping option that was bought; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_option: Option<OrderShipping>,
    /// Latest delivery that the terms of the purchase promised; absent if they promised none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised_by: Option<Timestamp>,
    /// When the last unit was delivered; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<Timestamp>,
    /// End of the return window; absent until all units are delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returnable_until: Option<Timestamp>,
    /// Shipments, the oldest first.
    pub fulfillments: Vec<FulfillmentRecord>,
    /// Cancellations, refunds, returns and disputes, the oldest first.
    pub adjustments: Vec<AdjustmentRecord>,
    /// Returns with their details, the oldest first.
    pub returns: Vec<ReturnRecord>,
    /// Policies as the buyer agreed to them. They decide about returns, whatever the store states today.
    pub policies: OrderPolicies,
    /// Note of the buyer to the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Page of the order, for the buyer. Whoever has the link can open it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permalink_url: Option<String>,
    /// When the order was placed.
    pub created_at: Timestamp,
    /// When the order last changed.
    pub updated_at: Timestamp,
    /// Everything that happened, the oldest first. The first entry is the placement.
    pub status_history: Vec<HistoryEntryRecord>,
}

impl OrderDetails {
    /// Returns the record for whom the order belongs to: personal data is included. `slug` is the store's.
    #[must_use]
    pub fn record(&self, slug: &str, permalink: Option<String>) -> OrderRecord {
        let order = &self.order;
        OrderRecord {
            order_id: order.id,
            merchant_slug: slug.to_owned(),
            checkout_id: order.checkout,
            cart_id: order.cart,
            order_number: order.number(),
            version: order.version,
            status: order.status,
            payment_status: order.payment_status(),
            fulfillment_status: order.fulfillment_status(),
            return_status: ReturnProgress::of(&self.returns),
            agent: OrderAgent { key_id: order.agent, name: order.agent_name.clone() },
            human_confirmation: OrderConfirmation::of(order),
            buyer: OrderBuyer::of(order),
            items: order.lines.iter().map(|line| OrderItem::of(order, line)).collect(),
            totals: OrderTotals::of(order),
            total_amount: order.total.to_decimal(),
            currency: order.currency().to_string(),
            shipping_address: OrderAddress::of(order),
            shipping_option: OrderShipping::of(order),
            promised_by: order.promised_by,
            delivered_at: order.delivered_at,
            returnable_until: order.returnable_until,
            fulfillments: self.fulfillments.iter().map(FulfillmentRecord::of).collect(),
            adjustments: self.adjustments(),
            returns: self.returns.iter().map(|it| it.record(order.id, order.currency())).collect(),
            policies: OrderPolicies::of(order),
            note: order.note.clone(),
            permalink_url: permalink,
            created_at: order.created_at,
            updated_at: order.updated_at,
            status_history: self.status_history(),
        }
    }

    /// Returns the record for administrators: without personal data, whose owner they are not.
    #[must_use]
    pub fn record_for_administrator(&self, slug: &str) -> OrderRecord {
        let mut record = self.record(slug, None);
        (record.buyer, record.note) = (None, None);
        let country = record.shipping_address.take().and_then(|address| address.country);
        record.shipping_address =
            country.map(|it| OrderAddress { country: Some(it), ..OrderAddress::default() });
        for it in &mut record.returns {
            it.customer_note = None;
        }
        record
    }

    /// Returns the record for the merchant, who delivers to the buyer: personal data is included, the buyer's link is not.
    #[must_use]
    pub fn record_for_merchant(&self, slug: &str) -> OrderRecord {
        self.record(slug, None)
    }

    fn status_history(&self) -> Vec<HistoryEntryRecord> {
        let placement = HistoryEntryRecord::placement(&self.order, self.history.first());
        let changes = self.history.iter().map(HistoryEntryRecord::of);
        std::iter::once(placement).chain(changes).collect()
    }
}
