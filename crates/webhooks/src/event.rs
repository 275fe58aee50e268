//! The payloads of webhook events: flat, camelCase (docs/contract/webhooks.md#payloads).

use primitives::{
    CartId, CheckoutId, DisputeId, EventId, FulfillmentId, LineId, Money, OrderId, ProductId,
    RefundId, ReturnId, Timestamp, VariantId,
};
use serde::Serialize;
use uuid::Uuid;

use crate::{EventKind, TrustScoreChanged};

/// A webhook event before it is stored.
#[derive(Debug, Clone)]
pub enum WebhookEvent {
    OrderCreated(OrderCreated),
    CheckoutAbandoned(CheckoutAbandoned),
    OrderChanged(OrderChanged),
    TrustScoreChanged(TrustScoreChanged),
}

/// Something happened to an order after its placement.
#[derive(Debug, Clone)]
pub struct OrderChanged {
    pub order: OrderId,
    /// The slug of the store.
    pub slug: String,
    pub total: Money,
    /// The order's status after the change.
    pub status: &'static str,
    /// The position of the change in the history of the order.
    pub sequence: i32,
    pub reason: Option<String>,
    /// `agent`, `buyer`, `merchant`, `platform` or `system`.
    pub changed_by: &'static str,
    pub change: OrderChange,
}

/// What happened to an order.
#[derive(Debug, Clone)]
pub enum OrderChange {
    /// The order has another status. Shipments name their fulfillment.
    Status {
        previous: &'static str,
        fulfillment: Option<FulfillmentPayload>,
    },
    /// Something changed that is neither the status of the order nor one of the below: `fields` names it. Texts of the buyer,
    /// which are personal data, are not part of the event.
    Updated {
        fields: Vec<&'static str>,
    },
    /// A refund was recorded.
    Refunded(RefundPayload),
    /// The buyer asked to return items.
    ReturnCreated(ReturnPayload),
    /// A return has another status.
    ReturnUpdated(ReturnPayload),
    DisputeOpened(DisputePayload),
    /// A dispute was decided, settled by agreement, or withdrawn.
    DisputeResolved(DisputePayload),
}

/// A shipment in an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FulfillmentPayload {
    pub id: FulfillmentId,
    pub carrier: Option<String>,
    pub tracking_number: Option<String>,
    pub tracking_url: Option<String>,
    pub items: Vec<UnitsPayload>,
}

/// Units of a line in an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitsPayload {
    pub line_id: LineId,
    pub quantity: u32,
}

/// A refund in an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefundPayload {
    pub refund_id: RefundId,
    pub amount: f64,
    /// Sum of all refunds of the order.
    pub refunded_total: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_id: Option<ReturnId>,
}

/// A return in an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnPayload {
    pub return_id: ReturnId,
    pub return_status: &'static str,
    /// `None` in `return.created`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_return_status: Option<&'static str>,
    pub outcome: &'static str,
    pub items: Vec<UnitsPayload>,
}

/// A dispute in an event.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DisputePayload {
    pub dispute_id: DisputeId,
    pub dispute_status: &'static str,
    pub dispute_reason: &'static str,
    /// `None` until the dispute is resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<&'static str>,
    /// The refund that the merchant has to make, in the currency of the order; `None` if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refund_amount: Option<f64>,
    /// Until when the merchant may answer.
    pub respond_by: Timestamp,
}

impl OrderChange {
    const fn kind(&self) -> EventKind {
        match self {
            Self::Status { .. } => EventKind::OrderStatusChanged,
            Self::Updated { .. } => EventKind::OrderUpdated,
            Self::Refunded(_) => EventKind::OrderRefunded,
            Self::ReturnCreated(_) => EventKind::ReturnCreated,
            Self::ReturnUpdated(_) => EventKind::ReturnUpdated,
            Self::DisputeOpened(_) => EventKind::DisputeOpened,
            Self::DisputeResolved(_) => EventKind::DisputeResolved,
        }
    }
}

/// An order was placed.
#[derive(Debug, Clone)]
pub struct OrderCreated {
    pub order: OrderId,
    pub checkout: CheckoutId,
    /// The slug of the store.
    pub slug: String,
    pub total: Money,
    /// The order's first status.
    pub status: &'static str,
    pub items: Vec<LineItem>,
    /// The level of human confirmation: `attested`, `elicited`, `hosted` or `mandate`.
    pub confirmation: &'static str,
}

/// A line of an order or of a checkout.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
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
    pub items: Vec<LineItem>,
    pub started_at: Timestamp,
    pub last_activity_at: Timestamp,
    /// The reason given with the cancellation, if there was one.
    pub reason_code: Option<String>,
    /// Where the buyer can resume the purchase in the merchant's shop; `None` if the store has no such links.
    pub recovery_url: Option<String>,
}

/// Human confirmation of an order.
#[derive(Debug, Clone, Serialize)]
struct HumanConfirmation {
    /// Always true.
    required: bool,
    /// `attested`, `elicited`, `hosted` or `mandate`.
    level: &'static str,
}

impl WebhookEvent {
    /// Returns the kind of the event, on the wire and as the topic of the outbox.
    pub(crate) const fn kind(&self) -> EventKind {
        match self {
            Self::OrderCreated(_) => EventKind::OrderCreated,
            Self::CheckoutAbandoned(_) => EventKind::CheckoutAbandoned,
            Self::OrderChanged(event) => event.change.kind(),
            Self::TrustScoreChanged(_) => EventKind::TrustScoreChanged,
        }
    }

    /// Returns the id of the order, session or merchant that the event is about.
    pub(crate) fn subject(&self) -> Uuid {
        match self {
            Self::OrderCreated(event) => event.order.uuid(),
            Self::CheckoutAbandoned(event) => event.checkout.uuid(),
            Self::OrderChanged(event) => event.order.uuid(),
            Self::TrustScoreChanged(event) => event.merchant.uuid(),
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
                status: order.status,
                sequence: 1,
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
            Self::OrderChanged(changed) => changed.body(event, id, at),
            Self::TrustScoreChanged(changed) => changed.body(event, id, at),
        }
    }
}

impl OrderChanged {
    fn body(&self, event: EventKind, id: EventId, at: Timestamp) -> serde_json::Result<String> {
        let body = |change| OrderChangedBody {
            event,
            id,
            timestamp: at,
            order_id: self.order,
            merchant_slug: &self.slug,
            total_amount: self.total.to_decimal(),
            currency: self.total.currency().code(),
            status: self.status,
            sequence: self.sequence,
            reason: self.reason.as_deref(),
            changed_by: self.changed_by,
            change,
        };
        serde_json::to_string(&body(match &self.change {
            OrderChange::Status { previous, fulfillment } => {
                ChangeBody::Status { previous_status: previous, fulfillment: fulfillment.as_ref() }
            }
            OrderChange::Updated { fields } => ChangeBody::Updated { fields },
            OrderChange::Refunded(refund) => ChangeBody::Refund(refund),
            OrderChange::ReturnCreated(it) | OrderChange::ReturnUpdated(it) => {
                ChangeBody::Return(it)
            }
            OrderChange::DisputeOpened(it) | OrderChange::DisputeResolved(it) => {
                ChangeBody::Dispute(it)
            }
        }))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderChangedBody<'event> {
    event: EventKind,
    id: EventId,
    timestamp: Timestamp,
    order_id: OrderId,
    merchant_slug: &'event str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    sequence: i32,
    reason: Option<&'event str>,
    changed_by: &'static str,
    #[serde(flatten)]
    change: ChangeBody<'event>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChangeBody<'event> {
    #[serde(rename_all = "camelCase")]
    Status {
        previous_status: &'static str,
        fulfillment: Option<&'event FulfillmentPayload>,
    },
    Updated {
        fields: &'event [&'static str],
    },
    Refund(&'event RefundPayload),
    Return(&'event ReturnPayload),
    Dispute(&'event DisputePayload),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OrderCreatedBody<'event> {
    event: EventKind,
    id: EventId,
    timestamp: Timestamp,
    order_id: OrderId,
    merchant_slug: &'event str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    sequence: i32,
    checkout_id: CheckoutId,
    items: &'event [LineItem],
    agent_initiated: bool,
    human_confirmation: HumanConfirmation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckoutAbandonedBody<'event> {
    event: EventKind,
    id: EventId,
    timestamp: Timestamp,
    checkout_id: CheckoutId,
    cart_id: CartId,
    merchant_slug: &'event str,
    total_amount: f64,
    currency: &'static str,
    status: &'static str,
    stage: &'static str,
    items: &'event [LineItem],
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
            status: "pending",
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

    fn changed(change: OrderChange) -> serde_json::Value {
        let event = WebhookEvent::OrderChanged(OrderChanged {
            order: OrderId::from_random(1),
            slug: String::from("attic"),
            total: Money::new(29_90, Currency::EUR),
            status: "shipped",
            sequence: 4,
            reason: None,
            changed_by: "merchant",
            change,
        });
        let at = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let body = event.body(EventId::from_random(3), at).unwrap();
        serde_json::from_str(&body).unwrap()
    }

    #[test]
    fn order_status_changed_has_the_documented_payload() {
        let items = vec![UnitsPayload { line_id: LineId::from_random(5), quantity: 2 }];
        let fulfillment = FulfillmentPayload {
            id: FulfillmentId::from_random(4),
            carrier: Some(String::from("DHL")),
            tracking_number: None,
            tracking_url: None,
            items,
        };
        let previous = "processing";
        let body = changed(OrderChange::Status { previous, fulfillment: Some(fulfillment) });
        assert_eq!(body["event"], "order.status_changed");
        assert_eq!(
            (&body["status"], &body["previousStatus"]),
            (&"shipped".into(), &previous.into())
        );
        assert_eq!((&body["changedBy"], &body["sequence"]), (&"merchant".into(), &4.into()));
        assert!(body["reason"].is_null() && body["fulfillment"]["trackingNumber"].is_null());
        assert_eq!(body["fulfillment"]["items"][0]["quantity"], 2);
        let body = changed(OrderChange::Status { previous, fulfillment: None });
        assert!(body.as_object().unwrap().contains_key("fulfillment"));
    }

    #[test]
    fn an_update_names_what_changed() {
        let body = changed(OrderChange::Updated { fields: vec!["destination", "note"] });
        assert_eq!((&body["event"], &body["sequence"]), (&"order.updated".into(), &4.into()));
        assert_eq!(body["fields"], serde_json::json!(["destination", "note"]));
        assert!(body.get("previousStatus").is_none() && body.get("fulfillment").is_none());
    }

    #[test]
    fn adjustments_name_their_subject() {
        let refund = RefundPayload {
            refund_id: RefundId::from_random(6),
            amount: 5.5,
            refunded_total: 7.5,
            return_id: None,
        };
        let body = changed(OrderChange::Refunded(refund));
        assert_eq!(
            (&body["event"], &body["refundedTotal"]),
            (&"order.refunded".into(), &7.5.into())
        );
        let mut dispute = DisputePayload {
            dispute_id: DisputeId::from_random(7),
            dispute_status: "withdrawn",
            dispute_reason: "damaged",
            resolution: None,
            refund_amount: None,
            respond_by: Timestamp::from_unix_micros(1_800_000_000_000_000),
        };
        let body = changed(OrderChange::DisputeResolved(dispute.clone()));
        assert_eq!(body["event"], "dispute.resolved");
        assert_eq!(body["disputeStatus"], "withdrawn");
        assert!(body.get("refundAmount").is_none());
        assert_eq!(body["respondBy"], "2027-01-15T08:00:00Z");
        dispute.refund_amount = Some(5.5);
        let body = changed(OrderChange::DisputeResolved(dispute));
        assert_eq!((&body["refundAmount"], &body["currency"]), (&5.5.into(), &"EUR".into()));
    }
}
