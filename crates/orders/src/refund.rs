//! Refunds: amounts that the merchant returned to the buyer.

use primitives::{RefundId, ReturnId, Timestamp};

primitives::text_enum! {
    /// Why an amount was refunded.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum RefundReason {
        Canceled,
        OutOfStock,
        Returned,
        Damaged,
        NotReceived,
        LateDelivery,
        PriceAdjustment,
        Dispute,
        Goodwill,
        Other,
    }
}

/// A refund. It is recorded by the merchant, who moves the money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    pub id: RefundId,
    /// The return it settles, if any.
    pub return_id: Option<ReturnId>,
    /// In the currency of the order; above 0.
    pub amount_minor: i64,
    pub reason: RefundReason,
    /// Merchant text for the buyer.
    pub note: Option<String>,
    /// The merchant's own reference.
    pub reference: Option<String>,
    pub created_at: Timestamp,
}
