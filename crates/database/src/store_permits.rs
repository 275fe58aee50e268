//! Permits for transactions, which divide the connections of the pool: one store never uses all of them, all stores
//! together leave some to the platform, both leave some to checkouts, and checkouts leave some to everything else.
//!
//! A transaction has one permit until it ends. Code that holds a transaction opens no other one: it could wait for itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use primitives::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::DatabaseError;
use crate::tenant::{Access, Tenant};

/// A store uses at most one of so many connections for reads, and as many for writes and for checkouts.
const STORE_SHARE: u32 = 4;
/// Reads and writes of stores leave one of so many connections to the platform and to checkouts.
const RESERVED_SHARE: u32 = 5;
/// Everything but checkouts leaves one of so many connections to them.
const CHECKOUT_SHARE: u32 = 10;
/// Checkouts leave one of so many connections to everything else.
const OTHER_SHARE: u32 = 2;

/// Counts the open transactions, also of each store. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Permits {
    /// For reads and writes of stores.
    of_stores: Arc<Semaphore>,
    /// For reads and writes of stores and of the platform: look-ups of keys and of slugs, lists, jobs.
    ordinary: Arc<Semaphore>,
    of_checkouts: Arc<Semaphore>,
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
pub(crate) struct Permit {
    _own: Option<OwnPermit>,
    _shared: [Option<OwnedSemaphorePermit>; 2],
}

impl Permits {
    pub(crate) fn new(connections_max: u32, timeout: Duration) -> Self {
        let count = |number: u32| usize::try_from(number.max(1)).unwrap_or(usize::MAX);
        let all_but = |share: u32| {
            let reserved = (connections_max / share).max(1);
            Arc::new(Semaphore::new(count(connections_max.saturating_sub(reserved))))
        };
        Self {
            of_stores: all_but(RESERVED_SHARE),
            ordinary: all_but(CHECKOUT_SHARE),
            of_checkouts: all_but(OTHER_SHARE),
            per_store: count(connections_max / STORE_SHARE),
            timeout,
            stores: Arc::default(),
        }
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(
        &self,
        tenant: Tenant,
        access: Access,
    ) -> Result<Permit, DatabaseError> {
        let store = match (tenant, access) {
            (Tenant::Platform, _) => None,
            (
                Tenant::Store(merchant) | Tenant::Checkout(merchant) | Tenant::Orders(merchant),
                Access::Read,
            ) => Some((merchant, Use::Read)),
            (Tenant::Store(merchant) | Tenant::Orders(merchant), Access::Write) => {
                Some((merchant, Use::Write))
            }
            (Tenant::Checkout(merchant), Access::Write) => Some((merchant, Use::Checkout)),
        };
        let permit = tokio::time::timeout(self.timeout, self.acquire_all(store)).await;
        permit.ok().flatten().ok_or_else(|| match store {
            Some(_) => DatabaseError::StoreOverloaded,
            None => DatabaseError::Unavailable(sqlx::Error::PoolTimedOut),
        })
    }

    /// Waits for all that a permit consists of, of the smaller number first: one store never waits in many places for
    /// what all stores share, nor all stores for what they share with the platform.
    async fn acquire_all(&self, store: Option<(MerchantId, Use)>) -> Option<Permit> {
        let one_of =
            async |semaphore: &Arc<Semaphore>| Arc::clone(semaphore).acquire_owned().await.ok();
        let own = match store {
            Some((merchant, purpose)) => Some(self.acquire_own(merchant, purpose).await?),
            None => None,
        };
        let shared = match store {
            Some((_, Use::Checkout)) => [Some(one_of(&self.of_checkouts).await?), None],
            Some((_, Use::Read | Use::Write)) => {
                let of_stores = one_of(&self.of_stores).await?;
                [Some(of_stores), Some(one_of(&self.ordinary).await?)]
            }
            None => [Some(one_of(&self.ordinary).await?), None],
        };
        Some(Permit { _own: own, _shared: shared })
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
    permits: Permits,
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

    fn permits() -> Permits {
        Permits::new(20, Duration::from_millis(50))
    }

    async fn take(permits: &Permits, tenant: Tenant, access: Access) -> Option<Permit> {
        permits.acquire(tenant, access).await.ok()
    }

    fn checkout(number: u128) -> Tenant {
        Tenant::Checkout(MerchantId::from_random(number))
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
        assert!(take(&permits, checkout(99), Access::Write).await.is_some());
        assert!(permits.acquire(Tenant::Platform, Access::Read).await.is_ok());
    }

    #[tokio::test]
    async fn the_platform_and_stores_leave_connections_to_checkouts() {
        let permits = permits();
        let mut held = Vec::new();
        while let Some(permit) = take(&permits, Tenant::Platform, Access::Read).await {
            held.push(permit);
        }
        assert_eq!(held.len(), 18);
        let refused = permits.acquire(Tenant::Platform, Access::Write).await;
        assert!(matches!(refused, Err(DatabaseError::Unavailable(_))));
        let refused = permits.acquire(store(1), Access::Read).await;
        assert!(matches!(refused, Err(DatabaseError::StoreOverloaded)));
        assert!(take(&permits, checkout(1), Access::Write).await.is_some());
        held.pop();
        assert!(take(&permits, store(1), Access::Read).await.is_some());
    }

    #[tokio::test]
    async fn changes_of_orders_are_writes_of_their_store_and_use_no_connection_of_checkouts() {
        let permits = permits();
        let orders = |number| Tenant::Orders(MerchantId::from_random(number));
        let mut held = Vec::new();
        for number in 0..5 {
            let tenant = if number % 2 == 0 { orders(1) } else { store(1) };
            held.push(take(&permits, tenant, Access::Write).await.unwrap());
        }
        assert!(permits.acquire(orders(1), Access::Write).await.is_err());
        for number in 2..20 {
            held.extend(take(&permits, orders(number), Access::Write).await);
        }
        assert_eq!(held.len(), 16);
        let mut purchases = Vec::new();
        for number in 1..20 {
            purchases.extend(take(&permits, checkout(number), Access::Write).await);
        }
        assert_eq!(purchases.len(), 10);
    }

    #[tokio::test]
    async fn checkouts_leave_connections_to_everything_else() {
        let permits = permits();
        let mut held = Vec::new();
        for number in 0..20 {
            held.extend(take(&permits, checkout(number), Access::Write).await);
        }
        assert_eq!(held.len(), 10);
        assert!(take(&permits, Tenant::Platform, Access::Read).await.is_some());
        assert!(take(&permits, store(1), Access::Write).await.is_some());
        held.pop();
        assert!(take(&permits, checkout(99), Access::Write).await.is_some());
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
        let permits = Permits::new(2, Duration::from_millis(50));
        drop(take(&permits, store(1), Access::Read).await.unwrap());
        drop(take(&permits, Tenant::Platform, Access::Write).await.unwrap());
        let _write = take(&permits, store(1), Access::Write).await.unwrap();
        assert!(take(&permits, checkout(1), Access::Write).await.is_some());
    }
}
