//! The history of an order.

use primitives::Timestamp;
use serde_json::Value;

use crate::{Actor, OrderStatus};

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
