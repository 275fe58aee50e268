//! What can go wrong with the index, sorted by what its keeper can do about it, and with a search.

use catalog::CatalogError;
use database::DatabaseError;
use jobs::QueueError;
use merchants::StoreError;
use primitives::{Details, ErrorCode, Problem, StoreSlug};

use crate::Query;

/// Why the index could not be written, fetched or compared.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The database was in the way: it is tried again.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The outbox was in the way: it is tried again.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The catalog was in the way: it is tried again.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The stores were in the way: it is tried again.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The object store was in the way: it is tried again.
    #[error("the object store: {0}")]
    Objects(object_store::Error),
    /// An object is missing, or is not what was put there.
    #[error("damaged: {0}")]
    Damaged(String),
    /// A file of this machine is missing, or is not what was written.
    #[error("a local file: {0}")]
    Local(String),
    /// The disk was in the way.
    #[error(transparent)]
    Disk(#[from] std::io::Error),
    /// The index refused.
    #[error(transparent)]
    Index(#[from] tantivy::TantivyError),
    /// Another writer has the shard by now.
    #[error("the lease on the shard has ended")]
    LeaseLost,
    /// The address of the object store means nothing.
    #[error("the object store's address: {0}")]
    Address(String),
    /// There is no index to compare with yet.
    #[error("there is no index yet")]
    NoView,
}

impl IndexError {
    /// Whether the same step can be tried again as it is: what stands on this machine is still good.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Database(_)
                | Self::Queue(_)
                | Self::Catalog(_)
                | Self::Store(_)
                | Self::Objects(_)
        )
    }

    /// Whether what was published is at fault.
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
            error => Self::Objects(error),
        }
    }
}

impl From<tokio::task::JoinError> for IndexError {
    fn from(error: tokio::task::JoinError) -> Self {
        Self::Local(format!("a step of the index did not end: {error}"))
    }
}

/// Why a search was not answered.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// No index is open yet.
    #[error("the search index is not open yet")]
    Away,
    /// What is known of the stores is too old to tell who is suspended.
    #[error("the standing of the stores is not known well enough")]
    Stale,
    /// More searches wait than can be answered in time.
    #[error("too many searches wait")]
    Busy,
    /// A store does not exist.
    #[error("one of the stores does not exist or is inactive")]
    StoreNotFound(StoreSlug),
    /// A store is suspended.
    #[error("one of the stores is currently unavailable")]
    StoreSuspended(StoreSlug),
    /// The product is not in the index.
    #[error("there is no such product")]
    ProductNotFound,
    /// The page lies beyond what can be reached by number.
    #[error("pages reach {} results; go on with the cursor of an answer", Query::WINDOW)]
    TooDeep,
    /// The cursor is not one of this search.
    #[error("the cursor does not belong to this search")]
    WrongCursor,
    /// The index could not be read.
    #[error("the index: {0}")]
    Index(#[from] tantivy::TantivyError),
    /// A record of the index is not what it should be.
    #[error("a record of the index cannot be read")]
    Unreadable(#[source] serde_json::Error),
    /// A search broke down.
    #[error("the search broke down")]
    Failed,
    /// The catalog could not be read.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

impl Problem for SearchError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Away | Self::Stale | Self::Busy => ErrorCode::ServiceUnavailable,
            Self::StoreNotFound(_) => ErrorCode::StoreNotFound,
            Self::StoreSuspended(_) => ErrorCode::StoreSuspended,
            Self::ProductNotFound => ErrorCode::ProductNotFound,
            Self::TooDeep | Self::WrongCursor => ErrorCode::InvalidRequest,
            Self::Index(_) | Self::Unreadable(_) | Self::Failed => ErrorCode::InternalError,
            Self::Catalog(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::StoreNotFound(slug) | Self::StoreSuspended(slug) => {
                details.insert("field", "merchants");
                details.insert("merchant", slug.as_str());
                details.insert("hint", "GET /stores/directory lists the stores there are");
            }
            Self::ProductNotFound => {
                details.insert("field", "product_id");
                details.insert("hint", "product ids come from this service's own answers");
            }
            Self::TooDeep => {
                details.insert("field", "page");
                details.insert("hint", "send meta.next_cursor of the last answer as cursor");
            }
            Self::WrongCursor => {
                details.insert("field", "cursor");
                details.insert(
                    "hint",
                    "send the cursor with the same query, filters and sort, or leave it out to begin anew",
                );
            }
            Self::Catalog(error) => error.details(details),
            _ => {}
        }
    }
}
