//! The payloads of webhook events: flat, camelCase (docs/contract/webhooks.md#payloads).

use primitives::{
    CartId, CheckoutId, EventId, LineId, Money, OrderId, ProductId, Timestamp, VariantId,
};
use serde::Serialize;
use uuid::Uuid;

/// A webhook event before it is stored.
#[derive(Debug, Clone)]
pub enum WebhookEvent {
    OrderCreated(OrderCreated),
    CheckoutAbandoned(CheckoutAbandoned),
}

/// An order was placed.
#[derive(Debug, Clone)]
pub struct OrderCreated {
    pub order: OrderId,
    pub checkout: CheckoutId,
    /// The slug of the store.
    pub slug: String,
    pub total: Money,
    pub items: Vec<OrderedItem>,
    /// The level of human confirmation: `attested`, `elicited`, `hosted` or `mandate`.
    pub confirmation: &'static str,
}

/// A line of an order.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderedItem {
    pub line_id: LineId,
    pub product_id: ProductId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    pub sku: String,
    pub quantity: u32,
    pub unit_price: f64,
}

/// A checkout was canceled or expired without an order.
#[derive(Debug, Clone)]
pub struct CheckoutAbandoned {
    pub checkout: CheckoutId,
    pub cart: CartId,
    /// The slug of the store.
    pub slug: String,
    pub total: Money,
    /// `expired` or `canceled`.
    pub status: &'static str,
    /// The session's status before it ended.
    pub stage: &'static str,
    pub items: Vec<AbandonedItem>,
    pub started_at: Timestamp,
    pub last_activity_at: Timestamp,
    /// The reason given with the cancellation, if there was one.
    pub reason_code: Option<String>,
    /// Where the buyer can resume the purchase in the merchant's shop; `None` if the store has no such links.
    pub recovery_url: Option<String>,
}

/// A line of an abandoned checkout.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedItem {
    pub product_id: ProductId,
    pub quantity: u32,
    pub unit_price: f64,
}

/// Human confirmation of an order.
#[derive(Debug, Clone, Serialize)]
pub struct HumanConfirmation {
    /// Always true.
    pub required: bool,
    /// `attested`, `elicited`, `hosted` or `mandate`.
    pub level: &'static str,
}

impl WebhookEvent {
    /// Returns the event type, on the wire and as the topic of the outbox.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::OrderCreated(_) => "order.created",
            Self::CheckoutAbandoned(_) => "checkout.abandoned",
        }
    }

    /// Returns the id of the order or session that the event is about.
    pub(crate) fn subject(&self) -> Uuid {
        match self {
            Self::OrderCreated(event) => event.order.uuid(),
            Self::CheckoutAbandoned(event) => event.checkout.uuid(),
        }
    }

    /// Returns the body, byte for byte as it is sent.
    pub(crate) fn body(&self, id: EventId, at: Timestamp) -> serde_json::Result<String> {
        let event = self.kind();
        match self {
            Self::OrderCreated(order) => serde_json::to_string(&OrderCreatedBody {
                event,
                id,
                timestamp: at,
                order_id: order.order,
                merchant_slug: &order.slug,
                total_amount: order.total.to_decimal(),
                currency: order.total.currency().code(),
                status: "pending",
                checkout_id: order.checkout,
                items: &order.items,
                agent_initiated: true,
                human_confirmation: HumanConfirmation { required: true, level: order.confirmation },
            }),
            Self::CheckoutAbandoned(abandoned) => serde_json::to_string(&CheckoutAbandonedBody {
                event,
                id,
                timestamp: at,
                checkout_id: abandoned.checkout,
                cart_id: abandoned.cart,
                merchant_slug: &abandoned.slug,
                total_amount: abandoned.total.to_decimal(),
                currency: abandoned.total.currency().code(),
                status: abandoned.status,
                stage: abandoned.stage,
                items: &abandoned.items,
                started_at: abandoned.started_at,
                last_activity_at: abandoned.last_activity_at,
                reason_code: abandoned.reason_code.as_deref(),
                recovery_url: abandoned.recovery_url.as_deref(),
            }),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderCreatedBody<'event> {
    event: &'static str,
    id: EventId,
    timestamp: Timestamp,
    order_id: OrderId,
    merchant_slug: &'event str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    checkout_id: CheckoutId,
    items: &'event [OrderedItem],
    agent_initiated: bool,
    human_confirmation: HumanConfirmation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckoutAbandonedBody<'event> {
    event: &'static str,
    id: EventId,
    timestamp: Timestamp,
    checkout_id: CheckoutId,
    cart_id: CartId,
    merchant_slug: &'event str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    stage: &'static str,
    items: &'event [AbandonedItem],
    started_at: Timestamp,
    last_activity_at: Timestamp,
    reason_code: Option<&'event str>,
    recovery_url: Option<&'event str>,
}

#[cfg(test)]
mod tests {
    use primitives::{Currency, Id};

    use super::*;

    #[test]
    fn order_created_has_the_documented_payload() {
        let event = WebhookEvent::OrderCreated(OrderCreated {
            order: OrderId::from_random(1),
            checkout: CheckoutId::from_random(2),
            slug: String::from("attic"),
            total: Money::new(29_90, Currency::EUR),
            items: Vec::new(),
            confirmation: "hosted",
        });
        let at = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let body = event.body(EventId::from_random(3), at).unwrap();
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["event"], "order.created");
        assert_eq!(body["timestamp"], "2027-01-15T08:00:00Z");
        assert!(body["orderId"].as_str().unwrap().starts_with("ord_"));
        assert_eq!((body["totalAmount"].as_f64(), &body["currency"]), (Some(29.9), &"EUR".into()));
        assert_eq!((&body["merchantSlug"], &body["status"]), (&"attic".into(), &"pending".into()));
    }
}
