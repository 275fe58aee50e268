//! Permits for transactions of stores: one store never uses all connections of the pool, and all stores together leave
//! some for checkouts and for the platform.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use primitives::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DatabaseError;
use crate::tenant::{Access, Tenant};

/// A store uses at most one of so many connections for reads, and as many for writes and for checkouts.
const STORE_SHARE: u32 = 4;
/// Reads and writes of stores leave one of so many connections to checkouts and to the platform.
const RESERVED_SHARE: u32 = 5;

/// Counts the open transactions of each store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct StorePermits {
    /// For reads and writes of all stores.
    shared: Arc<Semaphore>,
    per_store: usize,
    timeout: Duration,
    /// Stores with a transaction that is open or waits for a permit.
    stores: Arc<Mutex<Stores>>,
}

/// The permits of each store.
type Stores = HashMap<(MerchantId, Use), Arc<Semaphore>>;

/// What a store uses a connection for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Use {
    Read,
    Write,
    Checkout,
}

/// The permit for one transaction, released when dropped.
#[derive(Debug)]
pub(crate) struct StorePermit {
    _own: OwnPermit,
    _shared: Option<OwnedSemaphorePermit>,
}

impl StorePermits {
    pub(crate) fn new(connections_max: u32, timeout: Duration) -> Self {
        let count = |number: u32| usize::try_from(number.max(1)).unwrap_or(usize::MAX);
        let reserved = (connections_max / RESERVED_SHARE).max(1);
        Self {
            shared: Arc::new(Semaphore::new(count(connections_max.saturating_sub(reserved)))),
            per_store: count(connections_max / STORE_SHARE),
            timeout,
            stores: Arc::default(),
        }
    }

    /// Waits for a permit; the platform needs none.
    pub(crate) async fn acquire(
        &self,
        tenant: Tenant,
        access: Access,
    ) -> Result<Option<StorePermit>, DatabaseError> {
        let (merchant, purpose) = match (tenant, access) {
            (Tenant::Platform, _) => return Ok(None),
            (Tenant::Store(merchant) | Tenant::Checkout(merchant), Access::Read) => {
                (merchant, Use::Read)
            }
            (Tenant::Store(merchant), Access::Write) => (merchant, Use::Write),
            (Tenant::Checkout(merchant), Access::Write) => (merchant, Use::Checkout),
        };
        let permit = async {
            // The store's own first, so that one store never waits in many places for the shared ones.
            let own = self.acquire_own(merchant, purpose).await?;
            let shared = match purpose {
                Use::Read | Use::Write => {
                    Some(Arc::clone(&self.shared).acquire_owned().await.ok()?)
                }
                Use::Checkout => None,
            };
            Some(StorePermit { _own: own, _shared: shared })
        };
        let permit = tokio::time::timeout(self.timeout, permit).await.ok().flatten();
        permit.map(Some).ok_or(DatabaseError::StoreOverloaded)
    }

    async fn acquire_own(&self, merchant: MerchantId, purpose: Use) -> Option<OwnPermit> {
        let key = (merchant, purpose);
        let semaphore = {
            let mut stores = self.stores.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new(self.per_store));
            Arc::clone(stores.entry(key).or_insert_with(new))
        };
        // Created before the wait, so that a store whose caller gives up is forgotten too.
        let mut own = OwnPermit { permits: self.clone(), key, permit: None };
        own.permit = Some(semaphore.acquire_owned().await.ok()?);
        Some(own)
    }
}

/// A permit of a store. When the last one is dropped the store is forgotten.
#[derive(Debug)]
struct OwnPermit {
    permits: StorePermits,
    key: (MerchantId, Use),
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for OwnPermit {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut stores = self.permits.stores.lock().unwrap_or_else(PoisonError::into_inner);
        // The map has the only reference: nobody has a permit of this store or waits for one.
        if stores.get(&self.key).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            stores.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn store(number: u128) -> Tenant {
        Tenant::Store(MerchantId::from_random(number))
    }

    fn permits() -> StorePermits {
        StorePermits::new(20, Duration::from_millis(50))
    }

    async fn take(permits: &StorePermits, tenant: Tenant, access: Access) -> Option<StorePermit> {
        permits.acquire(tenant, access).await.unwrap_or_default()
    }

    #[tokio::test]
    async fn a_store_has_a_share_of_the_connections() {
        let permits = permits();
        let mut held = Vec::new();
        for _ in 0..5 {
            held.push(take(&permits, store(1), Access::Read).await.unwrap());
        }
        assert!(permits.acquire(store(1), Access::Read).await.is_err());
        assert!(take(&permits, store(1), Access::Write).await.is_some());
        assert!(take(&permits, store(2), Access::Read).await.is_some());
        held.pop();
        assert!(take(&permits, store(1), Access::Read).await.is_some());
    }

    #[tokio::test]
    async fn stores_leave_connections_to_checkouts_and_to_the_platform() {
        let permits = permits();
        let mut held = Vec::new();
        for number in 0..16 {
            let access = if number % 2 == 0 { Access::Read } else { Access::Write };
            held.push(take(&permits, store(number), access).await.unwrap());
        }
        assert!(permits.acquire(store(99), Access::Read).await.is_err());
        assert!(permits.acquire(store(99), Access::Write).await.is_err());
        let checkout = Tenant::Checkout(MerchantId::from_random(99));
        assert!(take(&permits, checkout, Access::Write).await.is_some());
        assert!(permits.acquire(Tenant::Platform, Access::Read).await.is_ok());
    }

    #[tokio::test]
    async fn a_store_without_transactions_is_forgotten() {
        let permits = permits();
        let held = take(&permits, store(1), Access::Write).await;
        drop(take(&permits, store(2), Access::Read).await);
        assert_eq!(permits.stores.lock().unwrap().len(), 1);
        drop(held);
        assert!(permits.stores.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_smallest_pool_serves_reads_and_writes() {
        let permits = StorePermits::new(2, Duration::from_millis(50));
        drop(take(&permits, store(1), Access::Read).await.unwrap());
        let _write = take(&permits, store(1), Access::Write).await.unwrap();
        let checkout = Tenant::Checkout(MerchantId::from_random(1));
        assert!(take(&permits, checkout, Access::Write).await.is_some());
    }
}
