//! The noun: a placed order.

use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, KeyId, LineId, Money, OrderId, ProductId,
    Timestamp, VariantId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Status of an order.
    #[strum(serialize_all = "snake_case")]
    pub enum OrderStatus {
        /// Paid; not yet accepted by the merchant.
        Pending,
        /// Accepted by the merchant.
        Confirmed,
        Processing,
        PartiallyShipped,
        Shipped,
        Delivered,
        /// Delivered, and the return window has closed.
        Completed,
        /// A person at the merchant has to decide.
        ManualReview,
        Canceled,
        /// The payment failed after the order was placed.
        Failed,
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
    /// When the payment succeeded.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Order {
    /// Returns the currency of all amounts.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.total.currency()
    }
}
