//! Errors of stores.

use database::DatabaseError;
use jobs::QueueError;
use primitives::{Details, ErrorCode, Problem};

use crate::Unavailability;

fn unavailable(reason: Unavailability) -> &'static str {
    match reason {
        Unavailability::LowTrustScore => {
            "the store is suspended because its trust score is too low"
        }
        Unavailability::Suspended => "the store is suspended",
        Unavailability::Paused => "the store is closed for a while",
        Unavailability::Closed => "the store is closed",
    }
}

/// Why a store cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The store does not exist or is inactive.
    #[error("there is no active store with this slug")]
    NotFound,
    /// Suspended, paused or closed.
    #[error("{}", unavailable(*.0))]
    Suspended(Unavailability),
    #[error("the store is read-only")]
    ReadOnly,
    #[error("the slug belongs to another merchant")]
    SlugTaken,
    /// An owner wants to change what an operator decided.
    #[error("an operator set the status of the store")]
    StatusOfOperator,
    #[error(transparent)]
    Queue(std::sync::Arc<QueueError>),
    /// Shared, because one cache lookup may serve many callers.
    #[error(transparent)]
    Database(std::sync::Arc<DatabaseError>),
}

impl StoreError {
    /// Returns whether the row of the store could not be decoded.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unreadable())
    }
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
            Self::Suspended(_) => ErrorCode::StoreSuspended,
            Self::ReadOnly => ErrorCode::Forbidden,
            Self::SlugTaken => ErrorCode::InvalidRequest,
            Self::StatusOfOperator => ErrorCode::InvalidStatusTransition,
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
            Self::Suspended(reason) => {
                details.insert("reason", reason.as_str());
                details.insert(
                    "hint",
                    "choose another store; GET /api/v1/stores/directory lists them",
                );
            }
            Self::ReadOnly => {
                details.insert("reason", "read_only_store");
                let hint = "use a sandbox key to write to this store: POST /api/v1/sandbox/key or the tool create_sandbox_key creates one";
                details.insert("hint", hint);
            }
            Self::SlugTaken => details.insert("field", "slug"),
            Self::StatusOfOperator => {
                details.insert("reason", "set_by_operator");
                details.insert("hint", "ask an operator to reopen the store");
            }
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::NotFound
            | Self::Suspended(_)
            | Self::ReadOnly
            | Self::SlugTaken
            | Self::StatusOfOperator => false,
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
