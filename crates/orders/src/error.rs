//! Errors of orders.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};
use webhooks::WebhookError;

/// Why an order could not be read or placed.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// No order has this id, or another agent owns it; callers cannot tell which.
    #[error("order not found")]
    NotFound,
    #[error("a stored order could not be decoded")]
    Unreadable,
    #[error(transparent)]
    Webhook(#[from] WebhookError),
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

    fn is_transient(&self) -> bool {
        match self {
            Self::NotFound | Self::Unreadable => false,
            Self::Webhook(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
