//! Admits uploads to a process: a few at a time, each for a limited time, and only while there is enough free disk space.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use primitives::MerchantId;

use crate::CatalogError;

/// Uploads that a process receives at the same time (docs/contract/limits.md#uploads).
const UPLOADS_MAX: usize = 4;
/// Of these, uploads of one store. The second one is admitted only if a further one can begin after it: the last place
/// is for a store without an upload.
const UPLOADS_OF_STORE_MAX: usize = 2;
/// Longest duration of an upload: the grace, and its size at the lowest average rate.
const DURATION_MAX: Duration = Duration::from_hours(2);
const GRACE: Duration = Duration::from_mins(2);
const BYTES_PER_SECOND_MIN: u64 = 512 * 1024;

/// Returns the free disk space, in bytes; `None` if it is unknown.
pub type FreeSpace = Arc<dyn Fn() -> Option<u64> + Send + Sync>;

/// Admits uploads to a process.
#[derive(Clone)]
pub struct UploadGate {
    /// The number of uploads in progress of each store that has any.
    of_stores: Arc<Mutex<HashMap<MerchantId, usize>>>,
    free_space: FreeSpace,
    /// Uploads are refused while less space is free.
    free_bytes_min: u64,
    /// Time that every upload has, whatever its size.
    grace: Duration,
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
        Self { of_stores: Arc::default(), free_space, free_bytes_min, grace: GRACE }
    }

    /// Creates a gate that does not look at disk space.
    #[must_use]
    pub fn without_disk() -> Self {
        Self::new(Arc::new(|| None), 0)
    }

    /// Sets the time that every upload has, whatever its size: for tests.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// Admits an upload, or returns why it cannot begin now.
    pub(crate) fn admit(&self, merchant: MerchantId) -> Result<UploadPermit, CatalogError> {
        self.require_space()?;
        let mut of_stores = self.of_stores.lock().unwrap_or_else(PoisonError::into_inner);
        let own = of_stores.get(&merchant).copied().unwrap_or(0);
        if own >= UPLOADS_OF_STORE_MAX {
            return Err(CatalogError::TooManyUploadsOfStore { limit: UPLOADS_OF_STORE_MAX });
        }
        let free = UPLOADS_MAX.saturating_sub(of_stores.values().sum());
        let needed = if own == 0 { 1 } else { 2 };
        if free < needed {
            metrics::counter!("souk_uploads_refused_total", "reason" => "busy").increment(1);
            return Err(CatalogError::TooManyUploads { limit: UPLOADS_MAX });
        }
        of_stores.insert(merchant, own + 1);
        drop(of_stores);
        Ok(UploadPermit { gate: self.clone(), merchant, since: Instant::now() })
    }

    fn require_space(&self) -> Result<(), CatalogError> {
        let free = (self.free_space)();
        if free.is_some_and(|free| free < self.free_bytes_min) {
            metrics::counter!("souk_uploads_refused_total", "reason" => "disk").increment(1);
            return Err(CatalogError::DiskSpaceLow);
        }
        Ok(())
    }
}

/// The permission to upload, which ends when it is dropped.
pub(crate) struct UploadPermit {
    gate: UploadGate,
    merchant: MerchantId,
    since: Instant,
}

impl UploadPermit {
    /// Returns an error if there is no longer enough disk space.
    pub(crate) fn require_space(&self) -> Result<(), CatalogError> {
        self.gate.require_space()
    }

    /// Returns an error if the upload takes too long for the bytes that have arrived.
    pub(crate) fn require_time(&self, bytes: u64) -> Result<(), CatalogError> {
        if self.since.elapsed() > duration_max(self.gate.grace, bytes) {
            metrics::counter!("souk_uploads_refused_total", "reason" => "slow").increment(1);
            return Err(CatalogError::UploadTooSlow);
        }
        Ok(())
    }
}

/// Returns how long an upload may take of which so many bytes have arrived.
fn duration_max(grace: Duration, bytes: u64) -> Duration {
    (grace + Duration::from_secs(bytes / BYTES_PER_SECOND_MIN)).min(DURATION_MAX)
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut of_stores = self.gate.of_stores.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn two_stores_leave_a_place_for_others() {
        let gate = UploadGate::without_disk();
        let first = [gate.admit(merchant(1)).unwrap(), gate.admit(merchant(1)).unwrap()];
        let second = gate.admit(merchant(2)).unwrap();
        let last = gate.admit(merchant(2)).err();
        assert!(matches!(last, Some(CatalogError::TooManyUploads { limit: 4 })));
        let third = gate.admit(merchant(3)).unwrap();
        drop(first);
        assert!(gate.admit(merchant(2)).is_ok());
        drop((second, third));
        assert!(gate.of_stores.lock().unwrap().is_empty());
    }

    #[test]
    fn an_upload_has_time_for_its_size_and_never_more_than_two_hours() {
        assert_eq!(duration_max(GRACE, 0), Duration::from_mins(2));
        assert_eq!(duration_max(GRACE, 150 << 20), Duration::from_mins(7));
        assert_eq!(duration_max(GRACE, u64::MAX), Duration::from_hours(2));
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
