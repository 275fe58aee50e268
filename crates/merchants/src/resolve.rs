//! Resolving a slug or a merchant to its store, on every request.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Reading, Work};
use moka::future::Cache;
use primitives::{MerchantId, StoreSlug};

use crate::directory::all_listed;
use crate::{Store, StoreError, table};

/// A cache of recently used stores. Concurrent lookups of the same store are answered by one query, and missing stores
/// are cached too.
#[derive(Clone)]
pub struct StoreCache {
    database: Database,
    by_slug: Cache<StoreSlug, Option<Arc<Store>>>,
    by_merchant: Cache<MerchantId, Option<Arc<Store>>>,
    listed: Cache<(), Arc<Vec<Store>>>,
}

impl StoreCache {
    /// Time to live of an entry.
    pub const AGE_MAX: Duration = Duration::from_secs(2);
    /// Time to live of the list of all stores.
    const LISTED_AGE_MAX: Duration = Duration::from_mins(1);
    /// Most entries.
    const STORES_MAX: u64 = 50_000;

    /// Creates an empty cache. Tests pass zero to see their own writes.
    #[must_use]
    pub fn new(database: Database, age_max: Duration) -> Self {
        let by_slug = Cache::builder().max_capacity(Self::STORES_MAX).time_to_live(age_max).build();
        let by_merchant =
            Cache::builder().max_capacity(Self::STORES_MAX).time_to_live(age_max).build();
        let listed_age_max = if age_max.is_zero() { age_max } else { Self::LISTED_AGE_MAX };
        let listed = Cache::builder().max_capacity(1).time_to_live(listed_age_max).build();
        Self { database, by_slug, by_merchant, listed }
    }

    /// Returns the store with this slug in any state.
    pub async fn find(&self, slug: &StoreSlug) -> Result<Arc<Store>, StoreError> {
        found(self.by_slug.try_get_with_by_ref(slug, load_slug(&self.database, slug)).await)
    }

    /// Returns the store of a merchant in any state, for the merchant's own requests.
    pub async fn find_merchant(&self, merchant: MerchantId) -> Result<Arc<Store>, StoreError> {
        found(self.by_merchant.try_get_with(merchant, load(&self.database, merchant)).await)
    }

    /// Returns all stores of the directory in its order, as they were at most a minute ago.
    pub async fn listed(&self) -> Result<Arc<Vec<Store>>, StoreError> {
        let listed = self.listed.try_get_with((), load_listed(&self.database)).await;
        listed.map_err(|error| StoreError::clone(&error))
    }

    /// Returns the public demo store.
    pub async fn demo(&self) -> Result<Arc<Store>, StoreError> {
        let slug: StoreSlug = StoreSlug::DEMO.parse().map_err(|_| StoreError::NotFound)?;
        self.admit(&slug).await
    }

    /// Returns the store unless it is inactive. It may be suspended, paused or closed: for what stays reachable there
    /// (docs/contract/stores.md#unavailable-exceptions).
    pub async fn find_active(&self, slug: &StoreSlug) -> Result<Arc<Store>, StoreError> {
        let store = self.find(slug).await?;
        if store.active { Ok(store) } else { Err(StoreError::NotFound) }
    }

    /// Returns the store, or an error if agents cannot use it; see [`Store::admit`].
    pub async fn admit(&self, slug: &StoreSlug) -> Result<Arc<Store>, StoreError> {
        let store = self.find(slug).await?;
        store.admit()?;
        Ok(store)
    }
}

/// Reads the merchant of the store with this slug in any state from the database, for commands.
pub async fn merchant_of(database: &Database, slug: &StoreSlug) -> Result<MerchantId, StoreError> {
    let store = load_slug(database, slug).await?.ok_or(StoreError::NotFound)?;
    Ok(store.merchant)
}

/// Reads the store of a merchant from the database.
pub async fn store(reading: &Reading, merchant: MerchantId) -> Result<Store, StoreError> {
    reading.run(async |sql| table::store(sql, merchant).await?.ok_or(StoreError::NotFound)).await
}

/// Reads the store of a merchant as a transaction sees it, for rules that must not rely on a cache.
pub async fn store_now(work: &mut Work, merchant: MerchantId) -> Result<Store, StoreError> {
    table::store(work.sql(), merchant).await?.ok_or(StoreError::NotFound)
}

fn found(result: Result<Option<Arc<Store>>, Arc<StoreError>>) -> Result<Arc<Store>, StoreError> {
    match result {
        Ok(Some(store)) => Ok(store),
        Ok(None) => Err(StoreError::NotFound),
        Err(error) => Err(StoreError::clone(&error)),
    }
}

async fn load_slug(
    database: &Database,
    slug: &StoreSlug,
) -> Result<Option<Arc<Store>>, StoreError> {
    let merchant: Result<Option<MerchantId>, StoreError> = Reading::for_platform(database)
        .run(async |sql| Ok(table::merchant_by_slug(sql, slug).await?))
        .await;
    match merchant? {
        Some(merchant) => load(database, merchant).await,
        None => Ok(None),
    }
}

async fn load(database: &Database, merchant: MerchantId) -> Result<Option<Arc<Store>>, StoreError> {
    match store(&Reading::for_store(database, merchant)?, merchant).await {
        Ok(store) => Ok(Some(Arc::new(store))),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn load_listed(database: &Database) -> Result<Arc<Vec<Store>>, StoreError> {
    Ok(Arc::new(all_listed(database).await?))
}
