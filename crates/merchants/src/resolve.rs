//! From a slug or a merchant to its store, on every call.

use std::sync::Arc;
use std::time::Duration;

use database::{Database, Reading, Work};
use moka::future::Cache;
use primitives::{MerchantId, StoreSlug};

use crate::{Store, StoreError, table};

/// Stores that were asked for in the last seconds. A look-up that is under way serves everyone who
/// asks meanwhile, and a slug that does not exist is remembered too.
#[derive(Clone)]
pub struct StoreCache {
    database: Database,
    by_slug: Cache<StoreSlug, Option<Arc<Store>>>,
    by_merchant: Cache<MerchantId, Option<Arc<Store>>>,
}

impl StoreCache {
    /// How old an answer may be.
    pub const AGE_MAX: Duration = Duration::from_secs(2);
    /// How many stores are kept.
    const STORES_MAX: u64 = 50_000;

    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, age_max: Duration) -> Self {
        let by_slug = Cache::builder().max_capacity(Self::STORES_MAX).time_to_live(age_max).build();
        let by_merchant =
            Cache::builder().max_capacity(Self::STORES_MAX).time_to_live(age_max).build();
        Self { database, by_slug, by_merchant }
    }

    /// The store, whatever its state.
    pub async fn find(&self, slug: &StoreSlug) -> Result<Arc<Store>, StoreError> {
        known(self.by_slug.try_get_with_by_ref(slug, load_slug(&self.database, slug)).await)
    }

    /// The store of a merchant, whatever its state: for the merchant's own calls.
    pub async fn find_merchant(&self, merchant: MerchantId) -> Result<Arc<Store>, StoreError> {
        let found = self.by_merchant.try_get_with(merchant, load(&self.database, merchant));
        known(found.await)
    }

    /// The store everybody may look at.
    pub async fn demo(&self) -> Result<Arc<Store>, StoreError> {
        let slug: StoreSlug = StoreSlug::DEMO.parse().map_err(|_| StoreError::NotFound)?;
        self.admit(&slug).await
    }

    /// The store, if agents may call on it.
    pub async fn admit(&self, slug: &StoreSlug) -> Result<Arc<Store>, StoreError> {
        let store = self.find(slug).await?;
        store.admit()?;
        Ok(store)
    }
}

/// A store by its merchant, as it stands in the database.
pub async fn store(reading: &Reading, merchant: MerchantId) -> Result<Store, StoreError> {
    let mut snapshot = reading.open().await?;
    let store = table::store(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    store.ok_or(StoreError::NotFound)
}

/// A store as it stands in the database, in the moment of a work: for what must not rest on a cache.
pub async fn store_now(work: &mut Work, merchant: MerchantId) -> Result<Store, StoreError> {
    table::store(work.sql(), merchant).await?.ok_or(StoreError::NotFound)
}

fn known(found: Result<Option<Arc<Store>>, Arc<StoreError>>) -> Result<Arc<Store>, StoreError> {
    match found {
        Ok(Some(store)) => Ok(store),
        Ok(None) => Err(StoreError::NotFound),
        Err(error) => Err(StoreError::clone(&error)),
    }
}

async fn load_slug(
    database: &Database,
    slug: &StoreSlug,
) -> Result<Option<Arc<Store>>, StoreError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let merchant = table::merchant_by_slug(&mut snapshot, slug).await?;
    snapshot.close().await?;
    match merchant {
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
