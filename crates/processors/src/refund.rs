//! Refunds.

use primitives::Money;

use crate::IdempotencyKey;

/// A refund of a payment, or of a part of it.
#[derive(Debug, Clone)]
pub struct RefundRequest {
    /// [`IdempotencyKey::of_refund`]: the processor refunds at most once for it.
    pub key: IdempotencyKey,
    /// [`PaidPayment::reference`](crate::PaidPayment::reference) of the payment.
    pub payment_reference: String,
    /// In the currency of the payment: Stripe takes the number alone.
    pub amount: Money,
}

/// A refund as the processor knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refund {
    /// The processor's id of the refund.
    pub reference: String,
    /// The key of the request; `None` for a refund that was not made by us.
    pub key: Option<String>,
    pub amount: Money,
    pub state: RefundState,
}

primitives::text_enum! {
    /// State of a refund.
    #[strum(serialize_all = "snake_case")]
    pub enum RefundState {
        /// The buyer does not have the money yet, and the refund can still fail.
        Pending,
        Succeeded,
        /// The money stays with the merchant.
        Failed,
        Canceled,
    }
}

impl RefundState {
    /// Returns whether the state is final. At Stripe even a refund that succeeded can fail later, when the bank returns it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Pending)
    }
}
