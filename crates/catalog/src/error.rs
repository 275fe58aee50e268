//! Errors of the catalog.

use database::DatabaseError;
use jobs::{IdempotencyError, JobError, QueueError};
use merchants::{SettingsError, StoreError};
use primitives::{Action, Details, ErrorCode, Problem, hint};

use crate::QuotaExceeded;

/// Seconds after which an upload may succeed that had to wait for another one.
const RETRY_SECONDS: u64 = 30;

/// An error of the catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The product does not exist in this store, or agents cannot see it.
    #[error("product not found in this store")]
    ProductNotFound,
    #[error("category not found in this store")]
    CategoryNotFound {
        /// Paths of the top-level categories.
        allowed: Vec<String>,
    },
    #[error("job not found in this store")]
    FeedRunNotFound,
    #[error("quota of the store exceeded: {}", .0.quota)]
    QuotaExceeded(QuotaExceeded),
    #[error("a quota is a whole number of at least 0")]
    InvalidQuota,
    #[error("too many uploads of this store at the same time")]
    TooManyUploadsOfStore { limit: usize },
    /// The process receives as many uploads as it can.
    #[error("too many uploads at the same time")]
    TooManyUploads { limit: usize },
    /// The process sends as many exports as it can.
    #[error("too many exports at the same time")]
    TooManyExports { limit: usize },
    /// Less than the average rate arrived, or the longest duration is over.
    #[error("the upload takes too long")]
    UploadTooSlow,
    #[error("too little disk space for uploads")]
    DiskSpaceLow,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Idempotency(#[from] IdempotencyError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl CatalogError {
    /// Returns whether a stored row could not be decoded: an error of that row alone.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Database(error) if error.is_unreadable())
    }
}

impl From<QuotaExceeded> for CatalogError {
    fn from(exceeded: QuotaExceeded) -> Self {
        Self::QuotaExceeded(exceeded)
    }
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

/// The process is busy with other stores.
fn insert_busy(details: &mut Details, bucket: &'static str, limit: usize) {
    details.insert("bucket", bucket);
    details.insert("limit", limit);
    details.insert("hint", "other stores use all places; try again later");
}

impl Problem for CatalogError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::ProductNotFound => ErrorCode::ProductNotFound,
            Self::CategoryNotFound { .. } | Self::FeedRunNotFound => ErrorCode::NotFound,
            Self::QuotaExceeded(_) | Self::TooManyUploadsOfStore { .. } => {
                ErrorCode::RateLimitExceeded
            }
            Self::InvalidQuota | Self::UploadTooSlow => ErrorCode::InvalidRequest,
            Self::TooManyUploads { .. } | Self::TooManyExports { .. } | Self::DiskSpaceLow => {
                ErrorCode::ServiceUnavailable
            }
            Self::Store(error) => error.code(),
            Self::Settings(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Idempotency(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::ProductNotFound => {
                details.insert("field", "product_id");
                details.insert(
                    "hint",
                    "a product id is valid in one store only; use an id from a response of this store",
                );
            }
            Self::CategoryNotFound { allowed } => {
                details.insert("field", "parent");
                details.insert("allowed", allowed.clone());
                details.hint(hint!(
                    "call ",
                    Action::BrowseCategories,
                    " without parent to list the top-level categories",
                ));
            }
            Self::FeedRunNotFound => {
                details.insert("field", "job_id");
                details.insert(
                    "hint",
                    "use the job_id that PUT /merchant/products or POST /merchant/imports returned",
                );
            }
            Self::QuotaExceeded(exceeded) => {
                details.insert("bucket", exceeded.quota.as_str());
                details.insert("limit", exceeded.limit);
                details.insert("used", exceeded.used);
                details.insert("retry_after_seconds", exceeded.retry_after_seconds);
                details.insert("hint", exceeded.hint());
            }
            Self::InvalidQuota => {
                details.insert("field", "maximum");
                details.insert("allowed", "a whole number of at least 0, or null for the default");
            }
            Self::TooManyUploadsOfStore { limit } => {
                details.insert("bucket", "uploads");
                details.insert("limit", *limit);
                details.insert("used", *limit);
                details.insert("retry_after_seconds", RETRY_SECONDS);
                details.insert("hint", "wait until an upload of this store has ended");
            }
            Self::TooManyUploads { limit } => insert_busy(details, "uploads", *limit),
            Self::TooManyExports { limit } => insert_busy(details, "exports", *limit),
            Self::UploadTooSlow => {
                details.insert("reason", "upload_too_slow");
                details.insert(
                    "hint",
                    "split the feed into parts and import them with mode=merge, or upload over a faster connection",
                );
            }
            Self::DiskSpaceLow => {
                details.insert("reason", "disk_space_low");
                details
                    .insert("hint", "upload the file again later; the operator has to add space");
            }
            Self::Store(error) => error.details(details),
            Self::Settings(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Idempotency(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::ProductNotFound
            | Self::CategoryNotFound { .. }
            | Self::FeedRunNotFound
            | Self::QuotaExceeded(_)
            | Self::InvalidQuota
            | Self::TooManyUploadsOfStore { .. }
            | Self::TooManyUploads { .. }
            | Self::TooManyExports { .. }
            | Self::UploadTooSlow
            | Self::DiskSpaceLow => false,
            Self::Store(error) => error.is_transient(),
            Self::Settings(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Idempotency(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
