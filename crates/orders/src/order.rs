//! The noun: a placed order.

use std::time::Duration;

use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, KeyId, LineId, Money, OrderId, ProductId,
    Timestamp, VariantId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use webhooks::LineItem;

use crate::OrderStatus;

primitives::text_enum! {
    /// Level of human confirmation, the weakest first (docs/contract/confirmation.md#levels).
    #[strum(serialize_all = "snake_case")]
    pub enum ConfirmationLevel {
        /// The agent states that a person approved.
        Attested,
        /// A person approved in the agent's client.
        Elicited,
        /// A person approved on the hosted confirmation page.
        Hosted,
        /// A verified mandate.
        Mandate,
    }
}

primitives::text_enum! {
    /// What is known of the payment of an order.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentStatus {
        Unpaid,
        Authorized,
        Paid,
        /// A part was refunded. Derived from the refunds.
        PartiallyRefunded,
        /// Everything was refunded. Derived from the refunds.
        Refunded,
        Failed,
        /// The buyer disputes the payment with its provider.
        Disputed,
    }
}

primitives::text_enum! {
    /// How much of an order is fulfilled. Derived from the lines.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum FulfillmentStatus {
        Unfulfilled,
        PartiallyFulfilled,
        Fulfilled,
    }
}

primitives::text_enum! {
    /// Status of a line. Derived from its quantities.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum LineStatus {
        /// All units were canceled.
        Removed,
        /// All units that were not canceled are shipped.
        Fulfilled,
        /// Some units are shipped.
        Partial,
        /// No unit is shipped.
        Processing,
    }
}

/// A line of an order. Amounts are minor units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    /// The line's id in the cart.
    pub line: LineId,
    pub product: ProductId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<VariantId>,
    /// Merchant text.
    pub sku: String,
    /// Merchant text.
    pub name: String,
    pub quantity: u32,
    pub unit_minor: i64,
    /// After discounts.
    pub total_minor: i64,
    /// Units that were canceled after the purchase.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub canceled: u32,
    /// Units that were shipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shipped: u32,
    /// Shipped units that are part of a return which was not refused or withdrawn.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub returned: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
const fn is_zero(quantity: &u32) -> bool {
    *quantity == 0
}

impl OrderLine {
    /// Returns the line as it is in the payload of a webhook.
    #[must_use]
    pub fn line_item(&self, currency: Currency) -> LineItem {
        LineItem {
            line_id: self.line,
            product_id: self.product,
            variant_id: self.variant,
            sku: self.sku.clone(),
            quantity: self.quantity,
            unit_price: Money::new(self.unit_minor, currency).to_decimal(),
        }
    }

    /// Returns the units that were not canceled.
    #[must_use]
    pub const fn current(&self) -> u32 {
        self.quantity.saturating_sub(self.canceled)
    }

    /// Returns the units that are still to be shipped.
    #[must_use]
    pub const fn unshipped(&self) -> u32 {
        self.current().saturating_sub(self.shipped)
    }

    /// Returns the status of the line.
    #[must_use]
    pub const fn status(&self) -> LineStatus {
        match (self.current(), self.shipped) {
            (0, _) => LineStatus::Removed,
            (current, shipped) if shipped >= current => LineStatus::Fulfilled,
            (_, 0) => LineStatus::Processing,
            _ => LineStatus::Partial,
        }
    }
}

/// Units of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineUnits {
    pub line: LineId,
    pub quantity: u32,
}

/// A placed order.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    pub id: OrderId,
    pub checkout: CheckoutId,
    pub cart: CartId,
    /// The key of the agent that bought.
    pub agent: KeyId,
    /// The name of that key at the time of the order.
    pub agent_name: String,
    /// Whether a sandbox placed it; such an order is not a sale.
    pub is_sandbox: bool,
    pub status: OrderStatus,
    /// `payments::Provider::name`, or `merchant` if the merchant reported the payment.
    pub payment_provider: String,
    /// The provider's own id of the payment.
    pub payment_reference: String,
    pub total: Money,
    /// Price of shipping; `None` if it is not known.
    pub shipping_minor: Option<i64>,
    /// Tax added to the prices; `None` if it is not known.
    pub tax_minor: Option<i64>,
    pub lines: Vec<OrderLine>,
    /// The approved terms: `carts::Terms` as JSON.
    pub terms: Value,
    /// The hash of the terms.
    pub quote_hash: [u8; 32],
    pub confirmation: ConfirmationLevel,
    /// `None` if the level is `attested`.
    pub confirmation_id: Option<ConfirmationId>,
    /// Whether the person approved from the address of the agent; `None` if it is not known.
    pub same_address: Option<bool>,
    /// `carts::Buyer` as JSON; `None` if the agent named no buyer.
    pub buyer: Option<Value>,
    /// The sequence of the newest entry of the history; 1 for a new order.
    pub version: i32,
    /// The status of the payment without regard to refunds.
    pub payment: PaymentStatus,
    /// Sum of all refunds; never above the total.
    pub refunded_minor: i64,
    /// The latest delivery that the terms promised; `None` if they promised none.
    pub promised_by: Option<Timestamp>,
    /// When the last unit was delivered.
    pub delivered_at: Option<Timestamp>,
    /// The end of the return window; `None` until delivery.
    pub returnable_until: Option<Timestamp>,
    /// `carts::Destination` as JSON, if it was changed after the purchase.
    pub destination: Option<Value>,
    /// A note of the buyer to the merchant.
    pub note: Option<String>,
    /// When the payment succeeded.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Order {
    /// Return window of an order whose terms state none (docs/decisions/0031-orders.md).
    pub const RETURN_WINDOW_DAYS_DEFAULT: u32 = 14;

    /// Returns the currency of all amounts.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.total.currency()
    }

    /// Returns an amount of the order.
    #[must_use]
    pub fn money(&self, minor: i64) -> Money {
        Money::new(minor, self.currency())
    }

    /// Returns the number that people use for the order.
    #[must_use]
    pub fn number(&self) -> String {
        order_number(self.id)
    }

    /// Returns the status of the payment, with regard to refunds.
    #[must_use]
    pub fn payment_status(&self) -> PaymentStatus {
        match self.payment {
            PaymentStatus::Paid if self.refunded_minor == 0 => PaymentStatus::Paid,
            PaymentStatus::Paid if self.refunded_minor >= self.total.minor() => {
                PaymentStatus::Refunded
            }
            PaymentStatus::Paid => PaymentStatus::PartiallyRefunded,
            other => other,
        }
    }

    /// Returns how much of the order is fulfilled.
    #[must_use]
    pub fn fulfillment_status(&self) -> FulfillmentStatus {
        let current: u64 = self.lines.iter().map(|line| u64::from(line.current())).sum();
        let shipped: u64 = self.lines.iter().map(|line| u64::from(line.shipped)).sum();
        match shipped {
            0 => FulfillmentStatus::Unfulfilled,
            shipped if shipped >= current => FulfillmentStatus::Fulfilled,
            _ => FulfillmentStatus::PartiallyFulfilled,
        }
    }

    /// Returns the length of the return window in days, as the buyer approved it. 0: the items cannot be returned.
    #[must_use]
    pub fn return_window_days(&self) -> u32 {
        let stated = self.terms["returns"]["window_days"].as_u64();
        stated.and_then(|days| u32::try_from(days).ok()).unwrap_or(Self::RETURN_WINDOW_DAYS_DEFAULT)
    }

    /// Returns the end of the return window of an order that was delivered at this time.
    pub(crate) fn window_end(&self, delivered_at: Timestamp) -> Timestamp {
        delivered_at.plus(days(self.return_window_days()))
    }

    /// Returns the latest delivery that the terms promise, for an order placed at this time.
    pub(crate) fn promise(&self) -> Option<Timestamp> {
        let slowest = self.terms["shipping"]["days_max"].as_u64()?;
        Some(self.created_at.plus(days(u32::try_from(slowest).ok()?)))
    }

    /// Returns the destination: the changed one, or that of the terms.
    #[must_use]
    pub fn destination(&self) -> Option<&Value> {
        let approved = || self.terms.get("destination").filter(|it| !it.is_null());
        self.destination.as_ref().or_else(approved)
    }

    /// Returns the line with this id.
    #[must_use]
    pub fn line(&self, id: LineId) -> Option<&OrderLine> {
        self.lines.iter().find(|line| line.line == id)
    }
}

/// Returns the number that people use for the order with this id.
#[must_use]
pub fn order_number(id: OrderId) -> String {
    let text = id.uuid().simple().to_string();
    text[..10].to_uppercase()
}

fn days(days: u32) -> Duration {
    Duration::from_hours(u64::from(days) * 24)
}
