//! The history of an order.

use primitives::Timestamp;
use serde_json::Value;

use crate::units::unshipped;
use crate::{Actor, Order, OrderError, OrderStatus};

primitives::text_enum! {
    /// What an entry of the history records.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum HistoryKind {
        StatusChanged,
        /// Units were canceled; `details.items` names them.
        LinesCanceled,
        /// Destination or note were changed.
        Updated,
        /// Units were shipped; `details.fulfillment_id` names the fulfillment.
        Shipped,
        /// A fulfillment was delivered; `details.fulfillment_id` names it.
        Delivered,
        /// `details.refund_id` names the refund.
        Refunded,
        /// The payment has another status; `details.payment_status` names it.
        PaymentChanged,
        /// `details.return_id` names the return.
        ReturnRequested,
        /// A return has another status: `details.return_id`, `details.return_status`.
        ReturnChanged,
        /// `details.dispute_id` names the dispute.
        DisputeOpened,
        /// A party added a statement, or the merchant a proposal.
        DisputeAnswered,
        /// A dispute has another status: `details.dispute_id`, `details.dispute_status`.
        DisputeChanged,
    }
}

/// An entry of the history. Entries are never changed.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// From 2; the placement is 1 and is the order itself.
    pub sequence: i32,
    pub kind: HistoryKind,
    pub previous_status: OrderStatus,
    pub status: OrderStatus,
    pub actor: Actor,
    /// A code, never free text.
    pub reason: Option<String>,
    /// An object; names ids and quantities, never personal data.
    pub details: Value,
    pub occurred_at: Timestamp,
}

/// How many entries of one kind an order can have from each of agent, buyer and merchant, where nothing else bounds how often
/// they repeat a change (docs/contract/orders.md#order-limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryLimit {
    entries_max: i32,
    /// The rule, for errors.
    allowed: &'static str,
}

const UPDATES: EntryLimit =
    EntryLimit { entries_max: 50, allowed: "an order with fewer than 50 updates by you" };
const REVIEWS: EntryLimit = EntryLimit {
    entries_max: 20,
    allowed: "an order that you held for review fewer than 20 times",
};
const REFUNDS: EntryLimit = EntryLimit {
    entries_max: 200,
    allowed: "an order with fewer than 200 refunds by you, or the refund of everything that is left",
};
const CANCELLATIONS: EntryLimit = EntryLimit {
    entries_max: 100,
    allowed: "an order with fewer than 100 cancellations by you, or the cancellation of everything that is left",
};

impl EntryLimit {
    /// Returns the limit of an entry about an order as it is after the change; `None` if something else bounds such entries.
    /// Canceling or refunding everything that is left is always possible, and happens once.
    pub(crate) fn of(kind: HistoryKind, order: &Order) -> Option<Self> {
        match kind {
            HistoryKind::StatusChanged if order.status == OrderStatus::ManualReview => {
                Some(REVIEWS)
            }
            HistoryKind::LinesCanceled if unshipped(order) > 0 => Some(CANCELLATIONS),
            HistoryKind::Updated => Some(UPDATES),
            HistoryKind::Refunded if order.refunded_minor < order.total.minor() => Some(REFUNDS),
            HistoryKind::StatusChanged
            | HistoryKind::LinesCanceled
            | HistoryKind::Shipped
            | HistoryKind::Delivered
            | HistoryKind::Refunded
            | HistoryKind::PaymentChanged
            | HistoryKind::ReturnRequested
            | HistoryKind::ReturnChanged
            | HistoryKind::DisputeOpened
            | HistoryKind::DisputeAnswered
            | HistoryKind::DisputeChanged => None,
        }
    }

    /// Returns whether an order with this version can have so many entries of one kind: most have fewer entries at all, and
    /// nothing has to be counted.
    pub(crate) const fn is_within_reach(self, version: i32) -> bool {
        version > self.entries_max
    }

    /// Returns the error of a further entry, if an order has this number of them.
    pub(crate) fn check(self, entries: i64) -> Result<(), OrderError> {
        if entries < i64::from(self.entries_max) {
            return Ok(());
        }
        Err(OrderError::invalid("order_id", self.allowed))
    }
}
