//! The public store directory.

use database::{Database, Reading};
use primitives::{PageMeta, PageRequest};

use crate::{Store, StoreError, table};

/// Filters and page of a directory query (docs/contract/stores.md#directory).
#[derive(Debug, Clone)]
pub struct DirectoryQuery {
    /// Text that occurs in the name or the description.
    pub words: Option<String>,
    /// Name of a top-level category.
    pub category: Option<String>,
    pub min_trust: Option<f64>,
    /// Platform from which the catalog is synchronized.
    pub platform: Option<String>,
    pub page: PageRequest,
}

/// A page of the directory.
#[derive(Debug)]
pub struct StorePage {
    pub stores: Vec<Store>,
    pub meta: PageMeta,
}

/// Lists active stores that are not suspended, ordered by trust score; stores without a score come last.
pub async fn directory(
    database: &Database,
    query: &DirectoryQuery,
) -> Result<StorePage, StoreError> {
    let reading = Reading::for_platform(database);
    let found: Result<_, StoreError> =
        reading.run(async |sql| Ok(table::directory(sql, query).await?)).await;
    let (stores, total) = found?;
    Ok(StorePage { stores, meta: query.page.meta(total) })
}
