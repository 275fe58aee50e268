//! What can go wrong with jobs.

use database::DatabaseError;
use primitives::{Details, ErrorCode, Problem};

/// Why a run of a job did not end well.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The lease ended and the job belongs to someone else: this run changes nothing.
    #[error("the lease on the job has ended")]
    LeaseLost,
    /// It failed and may be tried again.
    #[error("{0}")]
    Failed(String),
    /// It failed and trying again cannot help.
    #[error("{0}")]
    Hopeless(String),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Why the queue or the outbox could not be used.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The job's fields cannot be kept as JSON: a mistake in the job's type.
    #[error("a job of kind {0} cannot be kept as JSON")]
    NotJson(&'static str, #[source] serde_json::Error),
    /// Another reader of the same name was quicker.
    #[error("the cursor {0} was moved by another reader")]
    CursorMoved(String),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for QueueError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<sqlx::Error> for JobError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<QueueError> for JobError {
    fn from(error: QueueError) -> Self {
        match error {
            QueueError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Problem for QueueError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotJson(..) => ErrorCode::InternalError,
            Self::CursorMoved(_) => ErrorCode::ServiceUnavailable,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        if let Self::Database(error) = self {
            error.details(details);
        }
    }
}

/// Why an idempotency key could not be honoured.
#[derive(Debug, thiserror::Error)]
pub enum IdempotencyError {
    /// The key was used before, with another body.
    #[error("this idempotency key was used before with a different request")]
    Conflict,
    /// No key.
    #[error("an idempotency key is 1 to 255 printable ASCII characters")]
    InvalidKey,
    /// What was asked for cannot be written as JSON: a mistake of ours.
    #[error("the request cannot be written as JSON")]
    Unreadable,
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for IdempotencyError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for IdempotencyError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Conflict => ErrorCode::IdempotencyConflict,
            Self::InvalidKey => ErrorCode::InvalidRequest,
            Self::Unreadable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Conflict => {
                details.insert("field", "idempotency_key");
                details.insert("hint", "send the first request unchanged, or use a new key");
            }
            Self::InvalidKey => details.insert("field", "idempotency_key"),
            Self::Unreadable => {}
            Self::Database(error) => error.details(details),
        }
    }
}
