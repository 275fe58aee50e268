//! Disputes about orders.

use primitives::{DisputeId, Timestamp};

use crate::ActorKind;

primitives::text_enum! {
    /// Status of a dispute (docs/contract/orders.md#disputes).
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case", rename = "DisputeStatus")]
    #[strum(serialize_all = "snake_case")]
    pub enum DisputeStatus {
        /// The merchant has not answered yet.
        Open,
        /// The merchant has answered, or did not in time. An administrator decides.
        UnderReview,
        /// Decided, or settled by agreement.
        Resolved,
        /// Taken back by whoever opened it.
        Withdrawn,
    }
}

primitives::text_enum! {
    /// What a dispute is about.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum DisputeReason {
        NotReceived,
        NotAsDescribed,
        Damaged,
        WrongItem,
        UnauthorizedPurchase,
        RefundNotReceived,
        ReturnRefused,
        Other,
    }
}

primitives::text_enum! {
    /// How a dispute was resolved.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Resolution {
        /// An administrator decided for the buyer.
        Buyer,
        /// An administrator decided for the merchant.
        Merchant,
        /// The buyer accepted the merchant's proposal.
        Agreement,
    }
}

/// What a party said. Statements are never changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub actor: ActorKind,
    /// Text of the party.
    pub text: String,
    /// https URLs, never fetched.
    pub evidence: Vec<String>,
    pub created_at: Timestamp,
}

/// A dispute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispute {
    pub id: DisputeId,
    pub status: DisputeStatus,
    pub reason: DisputeReason,
    /// `Agent` or `Buyer`.
    pub opened_by: ActorKind,
    /// Until when the merchant may answer.
    pub respond_by: Timestamp,
    /// Until when an administrator decides; `None` while the merchant may answer.
    pub decide_by: Option<Timestamp>,
    pub reminded_at: Option<Timestamp>,
    pub answered_at: Option<Timestamp>,
    /// The refund that the merchant proposed.
    pub proposed_minor: Option<i64>,
    pub resolution: Option<Resolution>,
    /// The refund that was decided or agreed. The merchant makes it.
    pub refund_minor: Option<i64>,
    /// How many statements there are, also if they were not read.
    pub statement_count: u32,
    /// The oldest first. Only the reads of a dispute, changes of it and the page of the order read them: they are long.
    pub statements: Vec<Statement>,
    pub opened_at: Timestamp,
    pub updated_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
}

impl DisputeStatus {
    /// Returns whether the dispute can still change.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::UnderReview)
    }

    /// Returns the statuses that can follow. A proposal is part of the merchant's answer, so that no dispute is resolved
    /// before it was under review.
    #[must_use]
    pub const fn successors(self) -> &'static [Self] {
        match self {
            Self::Open => &[Self::UnderReview, Self::Withdrawn],
            Self::UnderReview => &[Self::Resolved, Self::Withdrawn],
            Self::Resolved | Self::Withdrawn => &[],
        }
    }
}
