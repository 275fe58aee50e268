//! Returns of delivered items.

use primitives::{LineId, ReturnId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::ReturnStatus;

primitives::text_enum! {
    /// How a return is settled.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ReturnOutcome {
        Refund,
        Exchange,
        StoreCredit,
        Replacement,
    }
}

primitives::text_enum! {
    /// Why an item is returned: the values of onX.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum ReturnReason {
        Defective,
        WrongItem,
        NoLongerNeeded,
        SizeIssue,
        QualityIssue,
        DamagedInTransit,
        NotAsDescribed,
        Other,
    }
}

primitives::text_enum! {
    /// The condition of a returned item.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case", rename = "ReturnCondition")]
    #[strum(serialize_all = "snake_case")]
    pub enum ReturnCondition {
        New,
        Opened,
        Used,
        Damaged,
        Defective,
        WrongItem,
    }
}

primitives::text_enum! {
    /// Why a merchant does not take items back.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum DeclineReason {
        WindowClosed,
        FinalSale,
        NotReturnable,
        WrongItem,
        Used,
        Damaged,
        Incomplete,
        Other,
    }
}

primitives::text_enum! {
    /// Why items cannot be returned.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum IneligibleReason {
        /// The return window has ended.
        WindowClosed,
        /// The terms of the purchase exclude returns.
        FinalSale,
        /// All units are part of a return already.
        AlreadyReturned,
        /// No unit was delivered yet.
        NotDelivered,
        /// More units than were delivered and not returned yet.
        QuantityExceeded,
    }
}

/// A line of a return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReturnItem {
    pub line: LineId,
    pub quantity: u32,
    pub reason: ReturnReason,
    /// Set by the inspection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<ReturnCondition>,
}

/// A return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderReturn {
    pub id: ReturnId,
    pub status: ReturnStatus,
    pub outcome: ReturnOutcome,
    pub items: Vec<ReturnItem>,
    /// Text of the buyer.
    pub customer_note: Option<String>,
    /// Merchant text: how to send the items back.
    pub instructions: Option<String>,
    /// `None` unless the return was declined or rejected.
    pub decline_reason: Option<DeclineReason>,
    /// Text of whoever reported that the items were sent: the merchant, the agent or the buyer.
    pub carrier: Option<String>,
    /// Text of the same party.
    pub tracking_number: Option<String>,
    /// Kept by the merchant; `None` until the return is settled.
    pub restocking_fee_minor: Option<i64>,
    /// Refunded for the return; `None` until the return is settled.
    pub refund_minor: Option<i64>,
    pub requested_at: Timestamp,
    pub updated_at: Timestamp,
    pub received_at: Option<Timestamp>,
    pub settled_at: Option<Timestamp>,
}

impl OrderReturn {
    /// Returns whether the return was settled and the merchant kept the items. A rejected return has its reason also once it is
    /// closed.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        match self.status {
            ReturnStatus::Refunded | ReturnStatus::Exchanged => true,
            ReturnStatus::Closed => self.decline_reason.is_none(),
            ReturnStatus::Requested
            | ReturnStatus::Approved
            | ReturnStatus::Declined
            | ReturnStatus::InTransit
            | ReturnStatus::Received
            | ReturnStatus::Inspected
            | ReturnStatus::Rejected
            | ReturnStatus::Canceled => false,
        }
    }
}
