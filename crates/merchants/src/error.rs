//! What can go wrong with stores.

use database::DatabaseError;
use jobs::QueueError;
use primitives::{Details, ErrorCode, Problem};

/// Why a store cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// It does not exist, or is inactive.
    #[error("there is no active store with this slug")]
    NotFound,
    /// Its trust score is below the threshold.
    #[error("this store is suspended from agent discovery because of its trust score")]
    Suspended,
    /// It is there to be looked at.
    #[error("this store can only be looked at")]
    ReadOnly,
    /// The slug belongs to another merchant.
    #[error("the slug is taken")]
    SlugTaken,
    /// The outbox could not be told.
    #[error(transparent)]
    Queue(std::sync::Arc<QueueError>),
    /// The database was in the way. Shared, because one look-up may serve many callers.
    #[error(transparent)]
    Database(std::sync::Arc<DatabaseError>),
}

impl From<DatabaseError> for StoreError {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error.into())
    }
}

impl From<QueueError> for StoreError {
    fn from(error: QueueError) -> Self {
        Self::Queue(error.into())
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

impl Problem for StoreError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound => ErrorCode::StoreNotFound,
            Self::Suspended => ErrorCode::StoreSuspended,
            Self::ReadOnly => ErrorCode::Forbidden,
            Self::SlugTaken => ErrorCode::InvalidRequest,
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::NotFound => {
                details.insert("field", "slug");
                details.insert(
                    "hint",
                    "GET /api/v1/stores/directory lists the stores and their slugs",
                );
            }
            Self::Suspended => {
                details.insert(
                    "hint",
                    "choose another store; GET /api/v1/stores/directory lists them",
                );
            }
            Self::ReadOnly => {
                details.insert("reason", "read_only_store");
                let hint = "a sandbox key may write here: POST /api/v1/sandbox/key or the tool create_sandbox_key makes one";
                details.insert("hint", hint);
            }
            Self::SlugTaken => details.insert("field", "slug"),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
