//! What can go wrong with the catalog.

use database::DatabaseError;
use jobs::{JobError, QueueError};
use merchants::{SettingsError, StoreError};
use primitives::{Details, ErrorCode, Problem};

/// Why the catalog could not answer.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// There is no such product here, or agents may not see it.
    #[error("there is no such product in this store")]
    ProductNotFound,
    /// There is no such category here.
    #[error("there is no such category in this store")]
    CategoryNotFound {
        /// The paths that do exist at the top.
        allowed: Vec<String>,
    },
    /// There is no such run of this store.
    #[error("there is no such job in this store")]
    RunNotFound,
    /// The store could not be told.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store's settings could not be read.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The outbox could not be told.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for CatalogError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<CatalogError> for JobError {
    fn from(error: CatalogError) -> Self {
        match error {
            CatalogError::Database(error) => Self::Database(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Problem for CatalogError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::ProductNotFound => ErrorCode::ProductNotFound,
            Self::CategoryNotFound { .. } | Self::RunNotFound => ErrorCode::NotFound,
            Self::Store(error) => error.code(),
            Self::Settings(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::ProductNotFound => {
                details.insert("field", "product_id");
                details.insert(
                    "hint",
                    "product ids belong to one store; take one from this store's own answers",
                );
            }
            Self::CategoryNotFound { allowed } => {
                details.insert("field", "parent");
                details.insert("allowed", allowed.clone());
                details.insert(
                    "hint",
                    "call browse_categories without parent to see the top of the tree",
                );
            }
            Self::RunNotFound => {
                details.insert("field", "job_id");
                details.insert(
                    "hint",
                    "job ids come from PUT /merchant/products and POST /merchant/imports",
                );
            }
            Self::Store(error) => error.details(details),
            Self::Settings(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
