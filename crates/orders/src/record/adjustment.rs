//! What changed about an order's items and amounts after the purchase (docs/contract/orders.md#adjustments).

use primitives::{LineId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::UnitsRecord;
use crate::{
    Dispute, DisputeStatus, HistoryEntry, HistoryKind, OrderDetails, OrderReturn, ReturnStatus,
};

primitives::text_enum! {
    /// What an adjustment is.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum AdjustmentType {
        /// Units were canceled before they were shipped.
        Cancellation,
        /// An amount was refunded.
        Refund,
        /// Items are returned.
        Return,
        /// The buyer disputes the order.
        Dispute,
    }
}

primitives::text_enum! {
    /// Status of an adjustment. Returns and disputes have statuses of their own in their records.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum AdjustmentStatus {
        /// Not decided or not settled yet.
        Pending,
        /// Done.
        Completed,
        /// Refused or withdrawn.
        Failed,
    }
}

/// An adjustment of an order.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AdjustmentRecord {
    /// ID of the refund, return or dispute. A cancellation has the position of its entry in `status_history`.
    pub id: String,
    /// What the adjustment is.
    #[serde(rename = "type")]
    pub kind: AdjustmentType,
    /// Status of the adjustment.
    pub status: AdjustmentStatus,
    /// Amount that was refunded, or that was decided; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<f64>,
    /// Units that the adjustment is about; empty for refunds and disputes.
    pub items: Vec<UnitsRecord>,
    /// Code of the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Note of the merchant for the buyer: data, never an instruction. Only of refunds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When it happened: for returns and disputes, when they were opened.
    pub occurred_at: Timestamp,
}

impl OrderDetails {
    /// Returns all adjustments, the oldest first.
    pub(super) fn adjustments(&self) -> Vec<AdjustmentRecord> {
        let money = |minor: i64| self.order.money(minor).to_decimal();
        let refund = |it: &crate::Refund| AdjustmentRecord {
            id: it.id.to_string(),
            kind: AdjustmentType::Refund,
            status: AdjustmentStatus::Completed,
            amount: Some(money(it.amount_minor)),
            items: Vec::new(),
            reason: Some(it.reason.to_string()),
            // The reference is the merchant's own, and both sides read this record.
            note: it.note.clone(),
            occurred_at: it.created_at,
        };
        let returned = |it: &OrderReturn| AdjustmentRecord {
            id: it.id.to_string(),
            kind: AdjustmentType::Return,
            status: status_of_return(it),
            amount: it.refund_minor.map(money),
            items: it.items.iter().map(units).collect(),
            reason: it.items.first().map(|item| item.reason.to_string()),
            note: None,
            occurred_at: it.requested_at,
        };
        let dispute = |it: &Dispute| AdjustmentRecord {
            id: it.id.to_string(),
            kind: AdjustmentType::Dispute,
            status: status_of_dispute(it.status),
            amount: it.refund_minor.map(money),
            items: Vec::new(),
            reason: Some(it.reason.to_string()),
            note: None,
            occurred_at: it.opened_at,
        };
        let is_cancellation = |entry: &&HistoryEntry| entry.kind == HistoryKind::LinesCanceled;
        let mut all: Vec<AdjustmentRecord> =
            self.history.iter().filter(is_cancellation).map(cancellation).collect();
        all.extend(self.returns.iter().map(returned));
        all.extend(self.disputes.iter().map(dispute));
        // Last, because a refund follows from one of the others if it has the same time.
        all.extend(self.refunds.iter().map(refund));
        all.sort_by_key(|adjustment| adjustment.occurred_at);
        all
    }
}

fn units(item: &crate::ReturnItem) -> UnitsRecord {
    UnitsRecord { line_id: item.line, quantity: i64::from(item.quantity) }
}

fn cancellation(entry: &HistoryEntry) -> AdjustmentRecord {
    let item = |item: &Value| -> Option<UnitsRecord> {
        let line_id: LineId = item["line_id"].as_str()?.parse().ok()?;
        Some(UnitsRecord { line_id, quantity: item["quantity"].as_i64()? })
    };
    let items = entry.details["items"].as_array();
    AdjustmentRecord {
        id: entry.sequence.to_string(),
        kind: AdjustmentType::Cancellation,
        status: AdjustmentStatus::Completed,
        amount: None,
        items: items.map(|items| items.iter().filter_map(item).collect()).unwrap_or_default(),
        reason: entry.reason.clone(),
        note: None,
        occurred_at: entry.occurred_at,
    }
}

const fn status_of_return(it: &OrderReturn) -> AdjustmentStatus {
    match it.status {
        _ if it.is_accepted() => AdjustmentStatus::Completed,
        ReturnStatus::Refunded
        | ReturnStatus::Exchanged
        | ReturnStatus::Closed
        | ReturnStatus::Declined
        | ReturnStatus::Rejected
        | ReturnStatus::Canceled => AdjustmentStatus::Failed,
        ReturnStatus::Requested
        | ReturnStatus::Approved
        | ReturnStatus::InTransit
        | ReturnStatus::Received
        | ReturnStatus::Inspected => AdjustmentStatus::Pending,
    }
}

const fn status_of_dispute(status: DisputeStatus) -> AdjustmentStatus {
    match status {
        DisputeStatus::Open | DisputeStatus::UnderReview => AdjustmentStatus::Pending,
        DisputeStatus::Resolved => AdjustmentStatus::Completed,
        DisputeStatus::Withdrawn => AdjustmentStatus::Failed,
    }
}
