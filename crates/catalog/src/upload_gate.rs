//! Admits uploads to a process: a few at a time, and only while there is enough free disk space.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use primitives::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::CatalogError;

/// Uploads that a process receives at the same time (docs/contract/merchant-api.md#quotas).
const UPLOADS_MAX: usize = 4;
/// Of these, uploads of one store.
const UPLOADS_OF_STORE_MAX: usize = 2;

/// Returns the free disk space, in bytes; `None` if it is unknown.
pub type FreeSpace = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Admits uploads to a process.
#[derive(Clone)]
pub struct UploadGate {
    all: Arc<Semaphore>,
    /// Stores with uploads in progress.
    of_stores: Arc<Mutex<HashMap<MerchantId, usize>>>,
    free_space: FreeSpace,
    /// Uploads are refused while less space is free.
    free_bytes_min: u64,
}

impl fmt::Debug for UploadGate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let free_bytes_min = self.free_bytes_min;
        formatter
            .debug_struct("UploadGate")
            .field("free_bytes_min", &free_bytes_min)
            .finish_non_exhaustive()
    }
}

impl UploadGate {
    /// Creates a gate that refuses uploads while less than `free_bytes_min` bytes of disk space are free.
    #[must_use]
    pub fn new(free_space: FreeSpace, free_bytes_min: u64) -> Self {
        let all = Arc::new(Semaphore::new(UPLOADS_MAX));
        Self { all, of_stores: Arc::default(), free_space, free_bytes_min }
    }

    /// Creates a gate that does not look at disk space.
    #[must_use]
    pub fn without_disk() -> Self {
        Self::new(Arc::new(|| None), 0)
    }

    /// Admits an upload, or returns why it cannot begin now.
    pub(crate) fn admit(&self, merchant: MerchantId) -> Result<UploadPermit, CatalogError> {
        self.require_space()?;
        let of_store = self.admit_of_store(merchant)?;
        let any = Arc::clone(&self.all).try_acquire_owned();
        let any = any.map_err(|_| CatalogError::TooManyUploads { limit: UPLOADS_MAX })?;
        Ok(UploadPermit { gate: self.clone(), _of_store: of_store, _any: any })
    }

    fn require_space(&self) -> Result<(), CatalogError> {
        let free = (self.free_space)();
        if free.is_some_and(|free| free < self.free_bytes_min) {
            metrics::counter!("souk_uploads_refused_total", "reason" => "disk").increment(1);
            return Err(CatalogError::DiskSpaceLow);
        }
        Ok(())
    }

    fn admit_of_store(&self, merchant: MerchantId) -> Result<OfStore, CatalogError> {
        let mut of_stores = self.of_stores.lock().unwrap_or_else(PoisonError::into_inner);
        let uploads = of_stores.entry(merchant).or_insert(0);
        if *uploads >= UPLOADS_OF_STORE_MAX {
            return Err(CatalogError::TooManyUploadsOfStore { limit: UPLOADS_OF_STORE_MAX });
        }
        *uploads += 1;
        Ok(OfStore { of_stores: Arc::clone(&self.of_stores), merchant })
    }
}

/// The permission to upload, which ends when it is dropped.
pub(crate) struct UploadPermit {
    gate: UploadGate,
    _of_store: OfStore,
    _any: OwnedSemaphorePermit,
}

impl UploadPermit {
    /// Returns an error if there is no longer enough disk space.
    pub(crate) fn require_space(&self) -> Result<(), CatalogError> {
        self.gate.require_space()
    }
}

/// Counts one upload of a store until it is dropped.
struct OfStore {
    of_stores: Arc<Mutex<HashMap<MerchantId, usize>>>,
    merchant: MerchantId,
}

impl Drop for OfStore {
    fn drop(&mut self) {
        let mut of_stores = self.of_stores.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(uploads) = of_stores.get_mut(&self.merchant) {
            *uploads -= 1;
            if *uploads == 0 {
                of_stores.remove(&self.merchant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use primitives::Id;

    use super::*;

    fn merchant(number: u128) -> MerchantId {
        MerchantId::from_random(number)
    }

    #[test]
    fn a_process_receives_few_uploads_and_fewer_of_one_store() {
        let gate = UploadGate::without_disk();
        let first = gate.admit(merchant(1)).ok();
        let second = gate.admit(merchant(1)).ok();
        assert!(first.is_some() && second.is_some());
        let own = gate.admit(merchant(1)).err();
        assert!(matches!(own, Some(CatalogError::TooManyUploadsOfStore { limit: 2 })));
        let others: Vec<_> = (2..4).map(|number| gate.admit(merchant(number)).ok()).collect();
        assert!(others.iter().all(Option::is_some));
        let fifth = gate.admit(merchant(9)).err();
        assert!(matches!(fifth, Some(CatalogError::TooManyUploads { limit: 4 })));
        drop(first);
        assert!(gate.admit(merchant(9)).is_ok());
        drop((second, others));
        assert!(gate.of_stores.lock().unwrap().is_empty());
    }

    #[test]
    fn uploads_need_free_disk_space() {
        let free = Arc::new(AtomicU64::new(100));
        let measured = Arc::clone(&free);
        let gate = UploadGate::new(Arc::new(move || Some(measured.load(Ordering::Relaxed))), 100);
        let permit = gate.admit(merchant(1)).unwrap();
        assert!(permit.require_space().is_ok());
        free.store(99, Ordering::Relaxed);
        assert!(matches!(permit.require_space(), Err(CatalogError::DiskSpaceLow)));
        assert!(matches!(gate.admit(merchant(2)).err(), Some(CatalogError::DiskSpaceLow)));
    }
}
