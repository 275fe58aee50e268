//! What can go wrong with orders.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};
use webhooks::WebhookError;

/// Why an order could not be had or placed.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// There is none with this id, or it is somebody else's: which of the two is not said.
    #[error("there is no such order")]
    NotFound,
    /// Something kept that cannot be read.
    #[error("an order could not be read")]
    Unreadable,
    /// The merchant could not be told.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for OrderError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for OrderError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::OrderNotFound,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Webhook(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => details.insert("field", "order_id"),
            Self::Unreadable => {}
            Self::Webhook(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
