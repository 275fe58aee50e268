//! Errors of payments.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Money, PaymentId, Problem};

use crate::WebhookRejection;

/// Why a payment could not be created, read or updated.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// Another payment of the session is pending or paid.
    #[error("payment already processed: another payment of this checkout is pending or paid")]
    AlreadyProcessed,
    /// A payment is stored with the name of a provider that this release does not know.
    #[error("{payment} is stored with an unknown payment provider: {name}")]
    UnknownProvider { payment: PaymentId, name: String },
    /// The provider took another amount than the attempt asked for. Nothing is recorded.
    #[error("another amount was paid than the payment asked for")]
    AmountMismatch { expected: Money, found: Money },
    /// The money or the attempt that the provider names belongs to another payment. Nothing is recorded.
    #[error("the payment provider's reference belongs to another payment")]
    ReferenceTaken,
    /// More would be returned than was charged.
    #[error("the refunds of a payment exceed what was charged")]
    ExceedsCharge,
    /// What was signed pays for another purchase.
    #[error("the authorization was used for another payment")]
    AuthorizationUsed,
    /// The agent used the payment identifier for another payment.
    #[error("the payment identifier was used for another payment")]
    IdentifierUsed,
    #[error("a stored payment could not be decoded")]
    Unreadable,
    #[error(transparent)]
    Database(DatabaseError),
}

impl From<DatabaseError> for PaymentError {
    fn from(error: DatabaseError) -> Self {
        match error.constraint() {
            Some("payment_of_session") => Self::AlreadyProcessed,
            Some("payment_reference" | "payment_attempt_reference") => Self::ReferenceTaken,
            Some("x402_authorization_nonce") => Self::AuthorizationUsed,
            Some("x402_authorization_identifier") => Self::IdentifierUsed,
            Some("payment_returned") => Self::ExceedsCharge,
            _ => Self::Database(error),
        }
    }
}

impl Problem for WebhookRejection {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid => ErrorCode::InvalidRequest,
            Self::Unverified => ErrorCode::ServiceUnavailable,
        }
    }

    fn details(&self, details: &mut Details) {
        if *self == Self::Invalid {
            details.insert("reason", "invalid_signature");
        }
    }
}

impl From<sqlx::Error> for PaymentError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl Problem for PaymentError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::AlreadyProcessed => ErrorCode::PaymentAlreadyProcessed,
            Self::ExceedsCharge => ErrorCode::InvalidRequest,
            Self::AuthorizationUsed => ErrorCode::PaymentInvalid,
            Self::IdentifierUsed => ErrorCode::IdempotencyConflict,
            Self::UnknownProvider { .. }
            | Self::AmountMismatch { .. }
            | Self::ReferenceTaken
            | Self::Unreadable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::AlreadyProcessed => {
                details.insert("hint", "read the checkout again to see the outcome of the payment");
            }
            Self::ExceedsCharge => details.insert("field", "amount"),
            Self::AuthorizationUsed => details.insert("reason", "authorization_used"),
            Self::IdentifierUsed => {
                details.insert("field", "extensions.payment-identifier.info.id");
                details.insert("hint", "use a new identifier for a new payment");
            }
            Self::UnknownProvider { .. }
            | Self::AmountMismatch { .. }
            | Self::ReferenceTaken
            | Self::Unreadable => {}
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
