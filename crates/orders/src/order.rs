//! The noun: what was bought.

use primitives::{
    CartId, CheckoutId, ConfirmationId, Currency, KeyId, LineId, Money, OrderId, ProductId,
    Timestamp, VariantId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How sure we are that a person agreed, the weakest first (decisions §8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfirmationLevel {
    /// The agent says so.
    Attested,
    /// Somebody agreed in the agent's own client.
    Elicited,
    /// A person pressed Confirm on our page.
    Hosted,
    /// A verified mandate.
    Mandate,
}

impl ConfirmationLevel {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Attested, "attested"),
        (Self::Elicited, "elicited"),
        (Self::Hosted, "hosted"),
        (Self::Mandate, "mandate"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(level, _)| *level == self).map_or("attested", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(level, _)| *level)
    }
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderStatus {
    /// Its payment is known; the merchant has not looked at it yet.
    Pending,
    /// The merchant took it.
    Confirmed,
    /// It is being packed.
    Processing,
    /// Some of it is on its way.
    PartiallyShipped,
    /// All of it is on its way.
    Shipped,
    /// It arrived.
    Delivered,
    /// It arrived, and the time to return it is over.
    Completed,
    /// Somebody has to look at it.
    ManualReview,
    /// It was called off.
    Canceled,
    /// Its payment was lost.
    Failed,
}

impl OrderStatus {
    const ALL: [(Self, &'static str); 10] = [
        (Self::Pending, "pending"),
        (Self::Confirmed, "confirmed"),
        (Self::Processing, "processing"),
        (Self::PartiallyShipped, "partially_shipped"),
        (Self::Shipped, "shipped"),
        (Self::Delivered, "delivered"),
        (Self::Completed, "completed"),
        (Self::ManualReview, "manual_review"),
        (Self::Canceled, "canceled"),
        (Self::Failed, "failed"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("pending", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }
}

/// A line, as it was bought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderLine {
    /// Its id, as in the cart.
    pub line: LineId,
    /// Which product.
    pub product: ProductId,
    /// Which of its forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<VariantId>,
    /// The merchant's number. Merchant text.
    pub sku: String,
    /// What it was called. Merchant text.
    pub name: String,
    /// How many.
    pub quantity: u32,
    /// What one cost.
    pub unit_minor: i64,
    /// What they cost, after discounts.
    pub total_minor: i64,
}

/// What was bought.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// The session it came of.
    pub checkout: CheckoutId,
    /// The cart that was of.
    pub cart: CartId,
    /// The key it was bought with.
    pub agent: KeyId,
    /// What that was called.
    pub agent_name: String,
    /// Whether a sandbox bought it: no sale.
    pub is_sandbox: bool,
    /// What became of it.
    pub status: OrderStatus,
    /// Who took the payment.
    pub payment_provider: String,
    /// What that one calls the payment.
    pub payment_reference: String,
    /// What it cost.
    pub total: Money,
    /// What was bought.
    pub lines: Vec<OrderLine>,
    /// What the person agreed to.
    pub terms: Value,
    /// The hash of that.
    pub quote_hash: [u8; 32],
    /// How sure we are of it.
    pub confirmation: ConfirmationLevel,
    /// The proof, if there is one.
    pub confirmation_id: Option<ConfirmationId>,
    /// Who bought it, as far as is known.
    pub buyer: Option<Value>,
    /// When its payment was known.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Order {
    /// The currency of all its amounts.
    #[must_use]
    pub fn currency(&self) -> Currency {
        self.total.currency()
    }
}
