//! Keys that make calls repeatable.

use std::fmt;

use primitives::{PaymentId, RefundId};

/// The key by which a processor recognizes a repeated call (`Idempotency-Key`, `PayPal-Request-Id`). It derives from an id of ours, so
/// that every process that repeats a call sends the same key, and the processor creates, captures or refunds once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Returns the key of a payment: of creating it, and of its first capture.
    #[must_use]
    pub fn of_payment(payment: PaymentId) -> Self {
        Self(payment.to_string())
    }

    /// Returns the key of a refund.
    #[must_use]
    pub fn of_refund(refund: RefundId) -> Self {
        Self(refund.to_string())
    }

    /// Returns the key of a later attempt, such as a capture after a declined one, which is a call of its own.
    #[must_use]
    pub fn attempt(&self, number: u32) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    /// Returns the key as it is sent, and as [`PaymentSnapshot::key`](crate::PaymentSnapshot::key) contains it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the key of another operation on the same payment.
    pub(crate) fn operation(&self, name: &str) -> String {
        format!("{}-{name}", self.0)
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    #[test]
    fn a_key_derives_from_an_id_and_differs_for_each_attempt_and_operation() {
        let key = IdempotencyKey::of_payment(PaymentId::from_random(1));
        assert_eq!(key.as_str(), "pay_00000000000000000000000000000001");
        let others = [
            IdempotencyKey::of_payment(PaymentId::from_random(2)).0,
            IdempotencyKey::of_refund(RefundId::from_random(1)).0,
            key.attempt(2).0,
            key.operation("capture"),
            key.attempt(2).operation("capture"),
        ];
        for (index, other) in others.iter().enumerate() {
            assert_ne!(other, key.as_str());
            assert!(!others[..index].contains(other), "{other}");
            assert!(other.len() <= 108, "PayPal accepts no longer key");
        }
    }
}
