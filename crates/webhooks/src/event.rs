//! What is told: flat and in camelCase, as spec §2.4 shows it.

use primitives::{
    CartId, CheckoutId, EventId, LineId, Money, OrderId, ProductId, Timestamp, VariantId,
};
use serde::Serialize;
use uuid::Uuid;

/// An event about to be told.
#[derive(Debug, Clone)]
pub enum Announcement {
    /// An order exists.
    OrderCreated(OrderCreated),
    /// A checkout ended without one.
    CheckoutAbandoned(CheckoutAbandoned),
}

/// An order exists.
#[derive(Debug, Clone)]
pub struct OrderCreated {
    /// The order.
    pub order: OrderId,
    /// The session it came of.
    pub checkout: CheckoutId,
    /// The store's name in addresses.
    pub slug: String,
    /// What it costs.
    pub total: Money,
    /// What was bought.
    pub items: Vec<OrderedItem>,
    /// How sure we are that a person agreed.
    pub confirmation: &'static str,
}

/// Something that was bought.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderedItem {
    /// The line.
    pub line_id: LineId,
    /// The product.
    pub product_id: ProductId,
    /// Its form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// The merchant's own number.
    pub sku: String,
    /// How many.
    pub quantity: u32,
    /// What one cost.
    pub unit_price: f64,
}

/// A checkout ended without an order.
#[derive(Debug, Clone)]
pub struct CheckoutAbandoned {
    /// The session.
    pub checkout: CheckoutId,
    /// The cart it was of.
    pub cart: CartId,
    /// The store's name in addresses.
    pub slug: String,
    /// What it would have cost.
    pub total: Money,
    /// `expired` or `canceled`.
    pub status: &'static str,
    /// How far it had come.
    pub stage: &'static str,
    /// What would have been bought.
    pub items: Vec<AbandonedItem>,
    /// When it began.
    pub started_at: Timestamp,
    /// When something was last done with it.
    pub last_activity_at: Timestamp,
    /// Why, if somebody said.
    pub reason_code: Option<String>,
    /// Where the buyer could go on.
    pub recovery_url: Option<String>,
}

/// Something that would have been bought.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedItem {
    /// The product.
    pub product_id: ProductId,
    /// How many.
    pub quantity: u32,
    /// What one costs.
    pub unit_price: f64,
}

/// How sure we are that a person agreed.
#[derive(Debug, Clone, Serialize)]
pub struct HumanConfirmation {
    /// Always.
    pub required: bool,
    /// `attested`, `elicited`, `hosted` or `mandate`.
    pub level: &'static str,
}

impl Announcement {
    /// The kind of event, as on the wire and as a topic of the outbox.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::OrderCreated(_) => "order.created",
            Self::CheckoutAbandoned(_) => "checkout.abandoned",
        }
    }

    /// The thing it happened to.
    pub(crate) fn subject(&self) -> Uuid {
        match self {
            Self::OrderCreated(event) => event.order.uuid(),
            Self::CheckoutAbandoned(event) => event.checkout.uuid(),
        }
    }

    /// The body, byte for byte as it will be sent.
    pub(crate) fn body(&self, id: EventId, at: Timestamp) -> serde_json::Result<String> {
        let event = self.kind();
        match self {
            Self::OrderCreated(told) => serde_json::to_string(&OrderCreatedBody {
                event,
                id,
                timestamp: at,
                order_id: told.order,
                merchant_slug: &told.slug,
                total_amount: told.total.to_decimal(),
                currency: told.total.currency().code(),
                status: "pending",
                checkout_id: told.checkout,
                items: &told.items,
                agent_initiated: true,
                human_confirmation: HumanConfirmation { required: true, level: told.confirmation },
            }),
            Self::CheckoutAbandoned(told) => serde_json::to_string(&CheckoutAbandonedBody {
                event,
                id,
                timestamp: at,
                checkout_id: told.checkout,
                cart_id: told.cart,
                merchant_slug: &told.slug,
                total_amount: told.total.to_decimal(),
                currency: told.total.currency().code(),
                status: told.status,
                stage: told.stage,
                items: &told.items,
                started_at: told.started_at,
                last_activity_at: told.last_activity_at,
                reason_code: told.reason_code.as_deref(),
                recovery_url: told.recovery_url.as_deref(),
            }),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderCreatedBody<'told> {
    event: &'static str,
    id: EventId,
    timestamp: Timestamp,
    order_id: OrderId,
    merchant_slug: &'told str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    checkout_id: CheckoutId,
    items: &'told [OrderedItem],
    agent_initiated: bool,
    human_confirmation: HumanConfirmation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckoutAbandonedBody<'told> {
    event: &'static str,
    id: EventId,
    timestamp: Timestamp,
    checkout_id: CheckoutId,
    cart_id: CartId,
    merchant_slug: &'told str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    stage: &'static str,
    items: &'told [AbandonedItem],
    started_at: Timestamp,
    last_activity_at: Timestamp,
    reason_code: Option<&'told str>,
    recovery_url: Option<&'told str>,
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id};

    use super::*;

    #[test]
    fn an_order_is_told_as_the_specification_shows_it() {
        let told = Announcement::OrderCreated(OrderCreated {
            order: OrderId::from_random(1),
            checkout: CheckoutId::from_random(2),
            slug: String::from("attic"),
            total: Money::new(29_90, Currency::EUR),
            items: Vec::new(),
            confirmation: "hosted",
        });
        let at = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let body = told.body(EventId::from_random(3), at).unwrap();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["event"], "order.created");
        assert_eq!(body["timestamp"], "2027-01-15T08:00:00Z");
        assert!(body["orderId"].as_str().unwrap().starts_with("ord_"));
        assert_eq!((body["totalAmount"].as_f64(), &body["currency"]), (Some(29.9), &"EUR".into()));
        assert_eq!((&body["merchantSlug"], &body["status"]), (&"attic".into(), &"pending".into()));
    }
}
