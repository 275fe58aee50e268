//! Refunds.

use primitives::Money;

use crate::{IdempotencyKey, ProcessorError};

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

impl Refund {
    /// Returns the refund if it is the one that was asked for.
    pub(crate) fn with_reference(self, reference: &str) -> Result<Self, ProcessorError> {
        if self.reference == reference { Ok(self) } else { Err(ProcessorError::malformed()) }
    }
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

#[cfg(test)]
mod tests {
    use primitives::Currency;

    use super::*;

    #[test]
    fn another_refund_is_not_an_answer() {
        let refund = Refund {
            reference: "re_1".to_owned(),
            key: None,
            amount: Money::new(2_50, Currency::EUR),
            state: RefundState::Succeeded,
        };
        assert_eq!(refund.clone().with_reference("re_1"), Ok(refund.clone()));
        assert_eq!(refund.with_reference("re_2"), Err(ProcessorError::malformed()));
    }
}
