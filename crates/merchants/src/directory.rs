//! The public list of stores.

use database::{Database, Reading};
use primitives::{PageMeta, PageRequest};

use crate::{Store, StoreError, table};

/// What to list (decisions §2).
#[derive(Debug, Clone)]
pub struct DirectoryQuery {
    /// Words in the name or the description.
    pub words: Option<String>,
    /// A top category.
    pub category: Option<String>,
    /// The least trust score.
    pub min_trust: Option<f64>,
    /// Where the catalog comes from.
    pub platform: Option<String>,
    /// Which page.
    pub page: PageRequest,
}

/// A page of stores.
#[derive(Debug)]
pub struct StorePage {
    /// The stores, best standing first.
    pub stores: Vec<Store>,
    /// How many there are.
    pub meta: PageMeta,
}

/// Lists active stores that are not suspended: by standing, unscored ones last.
pub async fn directory(
    database: &Database,
    query: &DirectoryQuery,
) -> Result<StorePage, StoreError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let (stores, total) = table::directory(&mut snapshot, query).await?;
    snapshot.close().await?;
    Ok(StorePage { stores, meta: query.page.meta(total) })
}
