//! Errors of webhooks.

use database::DatabaseError;
use jobs::QueueError;
use primitives::{Details, ErrorCode, Problem};

/// Why an event could not be published.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// The body cannot be serialized to JSON: a defect in its type.
    #[error("the body of a webhook event cannot be serialized")]
    Serialize(#[source] serde_json::Error),
    #[error(transparent)]
    Queue(#[from] QueueError),
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
            Self::Serialize(_) => ErrorCode::InternalError,
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Serialize(_) => {}
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Serialize(_) => false,
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
