//! Examples of events, built from the payload types and serialized as events are.

use merchants::Standing;
use primitives::{
    CartId, CheckoutId, Currency, DisputeId, EndpointId, EventId, FulfillmentId, Id, LineId,
    MerchantId, Money, OrderId, ProductId, RefundId, ReturnId, Timestamp, VariantId,
};

use super::ordered_json::OrderedJson;
use crate::webhook_test::WebhookTest;
use crate::{
    CheckoutAbandoned, DisputePayload, EventKind, FulfillmentPayload, LineItem, OrderChange,
    OrderChanged, OrderCreated, RefundPayload, ReturnPayload, TrustReason, TrustScoreChanged,
    UnitsPayload, WebhookEvent,
};

/// 2027-01-15T08:00:00Z
const AT_MICROS: i64 = 1_800_000_000_000_000;
const MINUTE_MICROS: i64 = 60_000_000;

/// Returns the body of an example.
pub(super) fn example(kind: EventKind) -> OrderedJson {
    let (id, at) = (EventId::from_random(1), at(0));
    let body = match kind {
        EventKind::WebhookTest => {
            let test = WebhookTest { endpoint: EndpointId::from_random(1), slug: slug() };
            test.body(id, at)
        }
        other => event(other).body(id, at),
    };
    let body = body.and_then(|body| serde_json::from_str(&body));
    body.unwrap_or(OrderedJson::Null)
}

fn slug() -> String {
    String::from("kivikiri")
}

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_unix_micros(AT_MICROS + minutes * MINUTE_MICROS)
}

fn event(kind: EventKind) -> WebhookEvent {
    match kind {
        EventKind::OrderCreated => order_created(),
        EventKind::CheckoutAbandoned => checkout_abandoned(),
        EventKind::OrderStatusChanged => shipped(),
        EventKind::OrderUpdated => {
            changed("pending", 2, None, "buyer", OrderChange::Updated { fields: vec!["note"] })
        }
        EventKind::OrderRefunded => {
            let change = OrderChange::Refunded(RefundPayload {
                refund_id: RefundId::from_random(1),
                amount: 12.5,
                refunded_total: 12.5,
                return_id: Some(ReturnId::from_random(1)),
            });
            changed("delivered", 9, Some("returned"), "merchant", change)
        }
        EventKind::ReturnCreated => {
            let change = OrderChange::ReturnCreated(order_return("requested", None));
            changed("delivered", 6, None, "agent", change)
        }
        EventKind::ReturnUpdated => {
            let change = OrderChange::ReturnUpdated(order_return("approved", Some("requested")));
            changed("delivered", 7, None, "merchant", change)
        }
        EventKind::DisputeOpened => {
            let change = OrderChange::DisputeOpened(dispute("open", None, None));
            changed("delivered", 6, Some("damaged"), "agent", change)
        }
        EventKind::TrustScoreChanged => trust_score_changed(),
        // A test has another payload.
        EventKind::DisputeResolved | EventKind::WebhookTest => {
            let change =
                OrderChange::DisputeResolved(dispute("resolved", Some("agreement"), Some(12.5)));
            changed("delivered", 8, None, "agent", change)
        }
    }
}

fn order_created() -> WebhookEvent {
    WebhookEvent::OrderCreated(OrderCreated {
        order: OrderId::from_random(1),
        checkout: CheckoutId::from_random(1),
        slug: slug(),
        total: Money::new(54_90, Currency::EUR),
        status: "pending",
        items: vec![line_item()],
        confirmation: "hosted",
    })
}

fn line_item() -> LineItem {
    LineItem {
        line_id: LineId::from_random(1),
        product_id: ProductId::from_random(1),
        variant_id: Some(VariantId::from_random(1)),
        sku: String::from("POUR-101-S"),
        quantity: 2,
        unit_price: 25.0,
    }
}

fn checkout_abandoned() -> WebhookEvent {
    WebhookEvent::CheckoutAbandoned(CheckoutAbandoned {
        checkout: CheckoutId::from_random(1),
        cart: CartId::from_random(1),
        slug: slug(),
        total: Money::new(54_90, Currency::EUR),
        status: "canceled",
        stage: "requires_escalation",
        items: vec![line_item()],
        started_at: at(-12),
        last_activity_at: at(0),
        reason_code: Some(String::from("changed_mind")),
        recovery_url: Some(String::from("https://shop.example/cart?items=POUR-101-S:2")),
    })
}

fn trust_score_changed() -> WebhookEvent {
    let standing = Standing { score: Some(0.184), provisional: false, computed_at: at(0) };
    WebhookEvent::TrustScoreChanged(TrustScoreChanged {
        merchant: MerchantId::from_random(1),
        slug: slug(),
        score: standing.score,
        previous_score: Some(0.212),
        band: Some("RESTRICTED"),
        previous_band: Some("RESTRICTED"),
        provisional: standing.provisional,
        suspended: standing.is_suspended(),
        previously_suspended: false,
        methodology_version: "2.0",
        reasons: vec![TrustReason {
            component: "availability_accuracy",
            value: 0.04,
            points_lost: 0.118,
            remedy: "Keep stock up to date, and ship orders instead of canceling them as out of stock.",
        }],
        suspension_threshold: merchants::SUSPENSION_THRESHOLD,
        ends: standing.suspension_end(at(10 * 60)),
    })
}

fn shipped() -> WebhookEvent {
    let fulfillment = FulfillmentPayload {
        id: FulfillmentId::from_random(1),
        carrier: Some(String::from("DHL")),
        tracking_number: Some(String::from("JD0146")),
        tracking_url: Some(String::from("https://tracking.example/JD0146")),
        items: units(2),
    };
    let change = OrderChange::Status { previous: "processing", fulfillment: Some(fulfillment) };
    changed("shipped", 5, None, "merchant", change)
}

fn order_return(status: &'static str, previous: Option<&'static str>) -> ReturnPayload {
    ReturnPayload {
        return_id: ReturnId::from_random(1),
        return_status: status,
        previous_return_status: previous,
        outcome: "refund",
        items: units(1),
    }
}

fn dispute(
    status: &'static str,
    resolution: Option<&'static str>,
    refund_amount: Option<f64>,
) -> DisputePayload {
    DisputePayload {
        dispute_id: DisputeId::from_random(1),
        dispute_status: status,
        dispute_reason: "damaged",
        resolution,
        refund_amount,
        respond_by: at(7 * 24 * 60),
    }
}

fn units(quantity: u32) -> Vec<UnitsPayload> {
    vec![UnitsPayload { line_id: LineId::from_random(1), quantity }]
}

fn changed(
    status: &'static str,
    sequence: i32,
    reason: Option<&str>,
    changed_by: &'static str,
    change: OrderChange,
) -> WebhookEvent {
    WebhookEvent::OrderChanged(OrderChanged {
        order: OrderId::from_random(1),
        slug: slug(),
        total: Money::new(54_90, Currency::EUR),
        status,
        sequence,
        reason: reason.map(str::to_owned),
        changed_by,
        change,
    })
}
