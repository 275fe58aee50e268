//! What happened to an order, in sentences.

use std::collections::HashMap;

use orders::{
    ActorKind, CancelReason, DisputeStatus, HistoryEntry, HistoryKind, OrderDetails, OrderStatus,
    PaymentStatus, Refund, ReturnStatus,
};
use primitives::Money;

use crate::terms_view::format_time;

/// Returns time and sentence of each thing that happened to an order, the oldest first. Codes of the history are never shown
/// themselves.
pub(crate) fn history(details: &OrderDetails) -> Vec<(String, String)> {
    let placed = (format_time(details.order.created_at), String::from("Paid and placed."));
    let amount = |it: &Refund| (it.id.to_string(), details.order.money(it.amount_minor));
    let refunds: Amounts = details.refunds.iter().map(amount).collect();
    let entry = |entry: &HistoryEntry| {
        let (what, by) = (sentence(&refunds, entry), author(entry.actor.kind));
        let why = entry.reason.as_deref().and_then(CancelReason::parse).and_then(canceled);
        let why = why.filter(|_| is_cancellation(entry)).unwrap_or_default();
        (format_time(entry.occurred_at), format!("{what}{by}{why}."))
    };
    std::iter::once(placed).chain(details.history.iter().map(entry)).collect()
}

fn is_cancellation(entry: &HistoryEntry) -> bool {
    entry.kind == HistoryKind::LinesCanceled
}

/// Amounts of refunds by their ids, as entries of the history name them.
type Amounts = HashMap<String, Money>;

fn sentence(refunds: &Amounts, entry: &HistoryEntry) -> String {
    let named = |name: &str| entry.details[name].as_str().unwrap_or_default();
    let text = match entry.kind {
        HistoryKind::StatusChanged => status(entry.status),
        HistoryKind::LinesCanceled => "Items were canceled",
        HistoryKind::Updated => "Address or note were changed",
        HistoryKind::Shipped => "A shipment was sent",
        HistoryKind::Delivered => "A shipment was delivered",
        HistoryKind::Refunded => {
            return refunds.get(named("refund_id")).map_or_else(
                || String::from("A refund was made"),
                |amount| format!("{amount} were refunded"),
            );
        }
        HistoryKind::PaymentChanged => payment(PaymentStatus::parse(named("payment_status"))),
        HistoryKind::ReturnRequested => "A return was requested",
        HistoryKind::ReturnChanged => returned(ReturnStatus::parse(named("return_status"))),
        HistoryKind::DisputeOpened => "A dispute was opened",
        HistoryKind::DisputeAnswered => "A statement was added to the dispute",
        HistoryKind::DisputeChanged => disputed(DisputeStatus::parse(named("dispute_status"))),
    };
    text.to_owned()
}

const fn author(actor: ActorKind) -> &'static str {
    match actor {
        ActorKind::Agent => ", by the agent",
        ActorKind::Buyer => ", on this page",
        ActorKind::Merchant => ", by the store",
        ActorKind::Platform => ", by Souk",
        ActorKind::System => "",
    }
}

const fn status(status: OrderStatus) -> &'static str {
    match status {
        OrderStatus::Pending => "The order was placed",
        OrderStatus::Confirmed => "The order was confirmed",
        OrderStatus::Processing => "Preparation started",
        OrderStatus::PartiallyShipped => "A part of the order is on its way",
        OrderStatus::Shipped => "Everything was shipped",
        OrderStatus::Delivered => "Everything was delivered",
        OrderStatus::Completed => "The time for returns ended",
        OrderStatus::ManualReview => "The order was held for review",
        OrderStatus::Canceled => "The order was canceled",
        OrderStatus::Failed => "The payment failed",
    }
}

const fn canceled(reason: CancelReason) -> Option<&'static str> {
    match reason {
        CancelReason::BuyerRequest => Some(": the buyer wished so"),
        CancelReason::OutOfStock => Some(": out of stock"),
        CancelReason::PriceError => Some(": wrong price"),
        CancelReason::Undeliverable => Some(": cannot be delivered"),
        // Not told to whoever has the link.
        CancelReason::Fraud | CancelReason::Other => None,
    }
}

const fn payment(status: Option<PaymentStatus>) -> &'static str {
    match status {
        Some(PaymentStatus::Paid) => "The payment succeeded",
        Some(PaymentStatus::Authorized) => "The payment was authorized",
        Some(PaymentStatus::Unpaid) => "The payment is open",
        Some(PaymentStatus::Failed) => "The payment failed",
        Some(PaymentStatus::Disputed) => "The payment was disputed with its provider",
        Some(PaymentStatus::PartiallyRefunded | PaymentStatus::Refunded) | None => {
            "The payment changed"
        }
    }
}

const fn returned(status: Option<ReturnStatus>) -> &'static str {
    match status {
        Some(ReturnStatus::Approved) => "A return was approved",
        Some(ReturnStatus::Declined) => "A return was declined",
        Some(ReturnStatus::InTransit) => "Items were sent back",
        Some(ReturnStatus::Received) => "Returned items were received",
        Some(ReturnStatus::Inspected) => "Returned items were inspected",
        Some(ReturnStatus::Refunded) => "A return was refunded",
        Some(ReturnStatus::Exchanged) => "Returned items were exchanged",
        Some(ReturnStatus::Rejected) => "Returned items were not accepted",
        Some(ReturnStatus::Closed) => "A return was closed",
        Some(ReturnStatus::Canceled) => "A return was withdrawn",
        Some(ReturnStatus::Requested) | None => "A return changed",
    }
}

const fn disputed(status: Option<DisputeStatus>) -> &'static str {
    match status {
        Some(DisputeStatus::UnderReview) => "The dispute is under review",
        Some(DisputeStatus::Resolved) => "The dispute was resolved",
        Some(DisputeStatus::Withdrawn) => "The dispute was withdrawn",
        Some(DisputeStatus::Open) | None => "The dispute changed",
    }
}

#[cfg(test)]
mod tests {
    use orders::Actor;
    use primitives::{Currency, Id, RefundId, Timestamp};
    use serde_json::json;

    use super::*;

    #[test]
    fn each_refund_is_told_with_its_own_amount() {
        let id = |number| RefundId::from_random(number);
        let amount = |number: i64| Money::new(number * 100, Currency::EUR);
        let refunds: Amounts =
            [(id(1).to_string(), amount(1)), (id(2).to_string(), amount(2))].into();
        let told = |refund: RefundId| {
            let entry = HistoryEntry {
                sequence: 2,
                kind: HistoryKind::Refunded,
                previous_status: OrderStatus::Pending,
                status: OrderStatus::Pending,
                actor: Actor::BUYER,
                reason: None,
                details: json!({ "refund_id": refund }),
                occurred_at: Timestamp::from_unix_micros(0),
            };
            sentence(&refunds, &entry)
        };
        assert_eq!(told(id(1)), format!("{} were refunded", amount(1)));
        assert_eq!(told(id(2)), format!("{} were refunded", amount(2)));
        assert_eq!(told(id(3)), "A refund was made");
    }
}
