//! The public store directory.

use std::collections::HashSet;

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

/// Returns all stores of the directory in its order. A store that moves while the pages are read is returned once.
pub(crate) async fn all_listed(database: &Database) -> Result<Vec<Store>, StoreError> {
    let mut stores: Vec<Store> = Vec::new();
    let mut seen = HashSet::new();
    for number in 1..=i64::from(PageRequest::PAGE_MAX) {
        let page = PageRequest::new(Some(number), Some(i64::from(PageRequest::LIMIT_MAX)));
        let query =
            DirectoryQuery { words: None, category: None, min_trust: None, platform: None, page };
        let found = directory(database, &query).await?;
        stores.extend(found.stores.into_iter().filter(|store| seen.insert(store.merchant)));
        if number * i64::from(page.limit()) >= found.meta.total {
            break;
        }
    }
    Ok(stores)
}
