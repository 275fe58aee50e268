//! Errors of jobs, the queue and idempotency keys.

use database::DatabaseError;
use primitives::{Details, ErrorCode, JobId, Problem};

use crate::JobState;

/// Error of a job run.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The lease has expired and another run may own the job; nothing is recorded.
    #[error("the lease on the job has expired")]
    LeaseLost,
    /// The attempt failed and is retried later.
    #[error("{0}")]
    Failed(String),
    /// The attempt failed and is not retried.
    #[error("{0}")]
    Permanent(String),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Characters of an error that are stored.
const TEXT_CHARS_MAX: usize = 1_000;

impl JobError {
    /// Returns the message with its causes, for operators.
    pub(crate) fn text(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            let message = error.to_string();
            if !text.ends_with(&message) {
                text = format!("{text}: {message}");
            }
            cause = error.source();
        }
        // PostgreSQL stores no NUL in a text.
        text.chars().filter(|char| *char != '\0').take(TEXT_CHARS_MAX).collect()
    }
}

/// Error of the queue or the outbox.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The job cannot be serialized: a bug in its type.
    #[error("a job of kind {0} cannot be serialized")]
    NotSerializable(&'static str, #[source] serde_json::Error),
    /// Another reader with the same name advanced the cursor first.
    #[error("the cursor {0} was advanced by another reader")]
    CursorMoved(String),
    #[error("job not found: {0}; it may be done, or never existed")]
    JobNotFound(JobId),
    /// Only dead letters are revived and discarded.
    #[error("{0} is no dead letter: it is {1}")]
    NotDead(JobId, JobState),
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
            Self::NotSerializable(..) => ErrorCode::InternalError,
            Self::CursorMoved(_) => ErrorCode::ServiceUnavailable,
            Self::JobNotFound(_) => ErrorCode::NotFound,
            Self::NotDead(..) => ErrorCode::InvalidStatusTransition,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::JobNotFound(_) => {
                details.insert("field", "job_id");
                details.insert(
                    "hint",
                    "GET /api/v1/admin/jobs lists jobs; a job that is done is gone",
                );
            }
            Self::NotDead(_, state) => {
                details.insert("status", state.as_str());
                details.insert(
                    "hint",
                    "it runs by itself; only dead letters are revived or discarded",
                );
            }
            Self::Database(error) => error.details(details),
            Self::NotSerializable(..) | Self::CursorMoved(_) => {}
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::CursorMoved(_) => true,
            Self::Database(error) => error.is_transient(),
            Self::NotSerializable(..) | Self::JobNotFound(_) | Self::NotDead(..) => false,
        }
    }
}

/// Error of an idempotency key.
#[derive(Debug, thiserror::Error)]
pub enum IdempotencyError {
    #[error("the idempotency key was already used with a different request")]
    Conflict,
    #[error("an idempotency key is 1 to 255 printable ASCII characters")]
    InvalidKey,
    /// The request cannot be serialized: a bug.
    #[error("the request cannot be serialized")]
    NotSerializable,
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
            Self::NotSerializable => ErrorCode::InternalError,
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Conflict => {
                details.insert("field", "idempotency_key");
                details.insert("hint", "resend the original request unchanged, or use a new key");
            }
            Self::InvalidKey => details.insert("field", "idempotency_key"),
            Self::NotSerializable => {}
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_transient())
    }
}
