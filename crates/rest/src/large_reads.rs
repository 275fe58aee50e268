//! Reads of much data: a few at a time, so that those of one store leave room, connections and cores to others.

use std::sync::Arc;

use catalog::CatalogError;
use limits::{Caller, ConcurrencyLimit, ConcurrencyPermit, LimitExceeded};
use primitives::MerchantId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ErrorResponse;

/// Large reads of one store at the same time, of each kind (docs/contract/limits.md#exports).
const OF_STORE_MAX: usize = 2;
/// Large reads of all stores, of each kind.
const ALL_MAX: usize = 8;

/// Admits the large reads of a process. Exports, which may take hours, and the computation of scores have permits of their own.
#[derive(Clone, Default)]
pub(crate) struct LargeReads {
    exports: ReadLimit,
    scores: ReadLimit,
}

#[derive(Clone)]
struct ReadLimit {
    of_stores: ConcurrencyLimit,
    all: Arc<Semaphore>,
}

/// What a large read occupies until it is dropped.
pub(crate) struct ReadPermit {
    _held: (ConcurrencyPermit, OwnedSemaphorePermit),
}

impl ReadPermit {
    /// Runs a large read to its end, also if its client disconnects: a computation that has begun occupies the permit until it ends.
    pub(crate) async fn run<T, E>(
        self,
        read: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, ErrorResponse>
    where
        T: Send + 'static,
        E: Into<ErrorResponse> + Send + 'static,
    {
        let reading = tokio::spawn(async move {
            let read = read.await;
            drop(self);
            read
        });
        match reading.await {
            Ok(read) => read.map_err(Into::into),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}

impl Default for ReadLimit {
    fn default() -> Self {
        Self { of_stores: ConcurrencyLimit::default(), all: Arc::new(Semaphore::new(ALL_MAX)) }
    }
}

impl ReadLimit {
    fn of_store(&self, merchant: MerchantId) -> Result<ConcurrencyPermit, LimitExceeded> {
        let permit = self.of_stores.try_acquire(&Caller::store(merchant), OF_STORE_MAX);
        permit.ok_or(LimitExceeded::Concurrency { limit: OF_STORE_MAX })
    }
}

impl LargeReads {
    /// Admits an export of products or evidence, or returns why it cannot begin now.
    pub(crate) fn admit_export(&self, merchant: MerchantId) -> Result<ReadPermit, ErrorResponse> {
        let of_store = self.exports.of_store(merchant)?;
        let of_process = Arc::clone(&self.exports.all).try_acquire_owned().ok();
        let of_process = of_process.ok_or(CatalogError::TooManyExports { limit: ALL_MAX })?;
        Ok(ReadPermit { _held: (of_store, of_process) })
    }

    /// Admits the computation of a score for its merchant. Waits for those of other stores, which take seconds at most.
    pub(crate) async fn admit_score(
        &self,
        merchant: MerchantId,
    ) -> Result<ReadPermit, ErrorResponse> {
        let of_store = self.scores.of_store(merchant)?;
        // The semaphore is never closed.
        let of_process = Arc::clone(&self.scores.all).acquire_owned().await.ok();
        let of_process = of_process.ok_or(LimitExceeded::Concurrency { limit: ALL_MAX })?;
        Ok(ReadPermit { _held: (of_store, of_process) })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use primitives::Id;
    use tokio::time::timeout;

    use super::*;

    fn merchant(number: u128) -> MerchantId {
        MerchantId::from_random(number)
    }

    #[tokio::test]
    async fn a_store_has_two_large_reads_of_each_kind_and_a_process_eight() {
        let reads = LargeReads::default();
        let mut held = Vec::new();
        for store in 0..4 {
            for _ in 0..2 {
                held.push(reads.admit_export(merchant(store)).ok().unwrap());
                held.push(reads.admit_score(merchant(store)).await.ok().unwrap());
            }
            assert!(reads.admit_export(merchant(store)).is_err());
            assert!(reads.admit_score(merchant(store)).await.is_err());
        }
        assert!(reads.admit_export(merchant(9)).is_err(), "the process has eight");
        let waiting = timeout(Duration::from_millis(20), reads.admit_score(merchant(9)));
        assert!(waiting.await.is_err(), "a score waits for the others");
        held.clear();
        assert!(reads.admit_export(merchant(9)).is_ok());
        assert!(reads.admit_score(merchant(9)).await.is_ok());
    }

    #[tokio::test]
    async fn a_read_whose_client_leaves_occupies_its_permit_until_it_ends() {
        let reads = LargeReads::default();
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let first = reads.admit_export(merchant(1)).ok().unwrap();
        let second = reads.admit_export(merchant(1)).ok().unwrap();
        let read = first.run(async move {
            let _ = ended.await;
            Ok::<(), ErrorResponse>(())
        });
        assert!(timeout(Duration::from_millis(20), read).await.is_err());
        assert!(reads.admit_export(merchant(1)).is_err());
        end.send(()).unwrap();
        let admitted = async {
            while reads.admit_export(merchant(1)).is_err() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(20), admitted).await.unwrap();
        drop(second);
    }
}
