//! Errors of this crate.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::{JobError, QueueError};
use merchants::StoreError;
use primitives::{Details, ErrorCode, Problem};
use webhooks::WebhookError;

/// A failure to compute, read or store a trust score.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Other transactions computed a score of the same store, again and again.
    #[error("another computation of this score is under way")]
    Busy,
    /// The store has no catalog figures: nothing is known about its products.
    #[error("the catalog figures of this store were never computed")]
    NoFigures,
    /// The facts of before the first epoch could not be counted. They are counted again later.
    #[error("the facts of this store could not be counted")]
    NotCounted,
    /// Another run of the job computes these scores.
    #[error("the lease on the job has expired")]
    LeaseLost,
    /// The evidence cannot be serialized, or a computation panicked: a defect.
    #[error("the score cannot be computed: {0}")]
    Defect(String),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the catalog figures cannot be computed: {0}")]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl TrustError {
    /// Returns whether the database is unavailable for all, so that it does not help to try other stores.
    pub(crate) fn is_outage(&self) -> bool {
        let cause = match self {
            Self::Store(StoreError::Database(error)) => Some(&**error),
            Self::Store(StoreError::Queue(error)) => of_queue(error),
            Self::Queue(error) | Self::Webhook(WebhookError::Queue(error)) => of_queue(error),
            Self::Catalog(CatalogError::Database(error))
            | Self::Webhook(WebhookError::Database(error))
            | Self::Database(error) => Some(error),
            _ => None,
        };
        matches!(cause, Some(DatabaseError::Unavailable(_)))
    }
}

fn of_queue(error: &QueueError) -> Option<&DatabaseError> {
    match error {
        QueueError::Database(error) => Some(error),
        _ => None,
    }
}

impl From<sqlx::Error> for TrustError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<JobError> for TrustError {
    fn from(error: JobError) -> Self {
        match error {
            JobError::LeaseLost => Self::LeaseLost,
            JobError::Database(error) => Self::Database(error),
            JobError::Failed(message) | JobError::Permanent(message) => Self::Defect(message),
        }
    }
}

impl From<TrustError> for JobError {
    fn from(error: TrustError) -> Self {
        match error {
            TrustError::LeaseLost => Self::LeaseLost,
            TrustError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Problem for TrustError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Busy | Self::NoFigures | Self::NotCounted | Self::LeaseLost => {
                ErrorCode::ServiceUnavailable
            }
            Self::Defect(_) => ErrorCode::InternalError,
            Self::Store(error) => error.code(),
            Self::Catalog(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Webhook(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Busy | Self::NoFigures | Self::NotCounted | Self::LeaseLost | Self::Defect(_) => {
            }
            Self::Store(error) => error.details(details),
            Self::Catalog(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Webhook(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Busy | Self::NoFigures | Self::NotCounted | Self::LeaseLost => true,
            Self::Defect(_) => false,
            Self::Store(error) => error.is_transient(),
            Self::Catalog(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Webhook(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
