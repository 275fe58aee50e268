//! Errors of payments.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};

/// Why a payment could not be created, read or updated.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// Another payment of the session is pending or paid.
    #[error("payment already processed: another payment of this checkout is pending or paid")]
    AlreadyProcessed,
    #[error("a stored payment could not be decoded")]
    Unreadable,
    #[error(transparent)]
    Database(DatabaseError),
}

impl From<DatabaseError> for PaymentError {
    fn from(error: DatabaseError) -> Self {
        match error.constraint() {
            Some("payment_once") => Self::AlreadyProcessed,
            _ => Self::Database(error),
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
            Self::Unreadable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::AlreadyProcessed => {
                details.insert("hint", "read the checkout again to see the outcome of the payment");
            }
            Self::Unreadable => {}
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
