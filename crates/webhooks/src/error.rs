//! What can go wrong when something is told.

use database::DatabaseError;
use jobs::QueueError;
use primitives::{Details, ErrorCode, Problem};

/// Why an event could not be told.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The body cannot be written as JSON: a mistake in its type.
    #[error("the body of an event cannot be written")]
    Unwritable(#[source] serde_json::Error),
    /// The outbox could not be told.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for WebhookError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for WebhookError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unwritable(_) => ErrorCode::InternalError,
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Unwritable(_) => {}
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
