//! Errors of the index and of searches.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::QueueError;
use merchants::StoreError;
use primitives::{Details, ErrorCode, Problem, StoreSlug};

use crate::Query;

/// A failure to write, download or compare the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("object storage: {0}")]
    ObjectStorage(object_store::Error),
    /// An object is missing, or its content is not what was published.
    #[error("damaged object: {0}")]
    Damaged(String),
    /// A local file is missing, unreadable, or not what was written.
    #[error("local file: {0}")]
    LocalFile(String),
    #[error(transparent)]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    Index(#[from] tantivy::TantivyError),
    /// Another writer may hold the lease on the shard.
    #[error("the lease on the shard has expired")]
    LeaseLost,
    #[error("invalid object storage URL: {0}")]
    Address(String),
    #[error("no search index is published")]
    NotPublished,
}

impl IndexError {
    /// Returns whether the same step can be retried: the working copy is still valid.
    pub(crate) fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Database(_)
                | Self::Queue(_)
                | Self::Catalog(_)
                | Self::Store(_)
                | Self::ObjectStorage(_)
        )
    }

    /// Returns whether a published object is damaged.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}

impl From<sqlx::Error> for IndexError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<object_store::Error> for IndexError {
    fn from(error: object_store::Error) -> Self {
        match error {
            object_store::Error::NotFound { path, .. } => {
                Self::Damaged(format!("{path} is missing"))
            }
            error => Self::ObjectStorage(error),
        }
    }
}

impl From<tokio::task::JoinError> for IndexError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::LocalFile(format!("an index task failed: {error}"))
    }
}

/// A failure to answer a search.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("no search index is open")]
    IndexUnavailable,
    /// The store directory is too old to tell which stores are suspended.
    #[error("the store directory is out of date")]
    StoreDirectoryStale,
    /// The queue is full, or the search waited too long in it.
    #[error("too many searches are queued")]
    Overloaded,
    #[error("one of the stores does not exist or is inactive")]
    StoreNotFound(StoreSlug),
    #[error("one of the stores is currently unavailable")]
    StoreSuspended(StoreSlug),
    /// The index has no such product.
    #[error("product not found")]
    ProductNotFound,
    #[error(
        "page numbers reach the first {} results; use the cursor for later ones",
        Query::WINDOW
    )]
    PageTooDeep,
    #[error("the cursor does not belong to this search")]
    InvalidCursor,
    #[error("search index: {0}")]
    Index(#[from] tantivy::TantivyError),
    #[error("a record of the search index cannot be decoded")]
    Unreadable(#[source] serde_json::Error),
    #[error("the search panicked")]
    Panicked,
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Problem for SearchError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::IndexUnavailable | Self::StoreDirectoryStale | Self::Overloaded => {
                ErrorCode::ServiceUnavailable
            }
            Self::StoreNotFound(_) => ErrorCode::StoreNotFound,
            Self::StoreSuspended(_) => ErrorCode::StoreSuspended,
            Self::ProductNotFound => ErrorCode::ProductNotFound,
            Self::PageTooDeep | Self::InvalidCursor => ErrorCode::InvalidRequest,
            Self::Index(_) | Self::Unreadable(_) | Self::Panicked => ErrorCode::InternalError,
            Self::Catalog(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::StoreNotFound(slug) | Self::StoreSuspended(slug) => {
                details.insert("field", "merchants");
                details.insert("merchant", slug.as_str());
                details.insert("hint", "GET /stores/directory lists the available stores");
            }
            Self::ProductNotFound => {
                details.insert("field", "product_id");
                details.insert("hint", "use a product id returned by this service");
            }
            Self::PageTooDeep => {
                details.insert("field", "page");
                details.insert("hint", "send meta.next_cursor of the previous page as cursor");
            }
            Self::InvalidCursor => {
                details.insert("field", "cursor");
                details.insert(
                    "hint",
                    "send the cursor with the same query, filters and sort, or omit it to start from the first page",
                );
            }
            Self::Catalog(error) => error.details(details),
            _ => {}
        }
    }

    fn is_transient(&self) -> bool {
        matches!(self, Self::Catalog(error) if error.is_transient())
    }
}
