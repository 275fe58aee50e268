//! What can go wrong with payments.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};

/// Why a payment could not be begun or ended.
#[derive(Debug, thiserror::Error)]
pub enum PaymentError {
    /// One is under way, or it was paid already.
    #[error("a payment is under way or was made already")]
    AlreadyProcessed,
    /// Something kept that cannot be read.
    #[error("a payment could not be read")]
    Unreadable,
    /// The database was in the way.
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
                details.insert("hint", "read the checkout again to see what came of it");
            }
            Self::Unreadable => {}
            Self::Database(error) => error.details(details),
        }
    }
}
