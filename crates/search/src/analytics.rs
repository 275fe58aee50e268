//! Search analytics: queries counted in memory and written to PostgreSQL every second, never within a request.
//! Queries beyond the limit are dropped. No caller is identified: a query that may contain an address or a personal
//! number is stored as `(address)` or `(number)`.

mod normalize;
mod purge;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use primitives::{Details, ErrorCode, MerchantId, Problem};

use crate::table;

use normalize::normalize;
pub use purge::PurgeTallies;
pub use read::{SearchTally, searches_without_result, top_searches};

/// Interval between two writes.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Distinct queries held in memory; further ones are dropped.
const KEYS_MAX: usize = 10_000;
/// Rows per transaction.
const ROWS_PER_WORK: usize = 500;
/// Number of locks, to reduce contention between requests.
const PARTITIONS: usize = 8;

primitives::text_enum! {
    /// The kind of a caller. Nothing else about callers is stored.
    #[strum(serialize_all = "snake_case")]
    pub enum CallerKind {
        /// A caller without a credential.
        Anonymous,
        /// An agent with a key.
        Agent,
        /// A merchant in its own store.
        Merchant,
    }
}

/// What distinguishes two tallies of a day.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TallyKey {
    /// The store that was searched; `None`: all stores.
    pub(crate) store: Option<MerchantId>,
    pub(crate) query: String,
    pub(crate) caller: CallerKind,
}

/// The counts of one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) searches: i64,
    pub(crate) without_result: i64,
    pub(crate) hits: i64,
}

impl Counts {
    fn of_search(hits: u64) -> Self {
        let hits = i64::try_from(hits).unwrap_or(i64::MAX);
        Self { searches: 1, without_result: i64::from(hits == 0), hits }
    }

    fn add(&mut self, other: Self) {
        self.searches = self.searches.saturating_add(other.searches);
        self.without_result = self.without_result.saturating_add(other.without_result);
        self.hits = self.hits.saturating_add(other.hits);
    }
}

type Tallies = HashMap<TallyKey, Counts>;

/// Counts searches. Clones share their counts.
#[derive(Clone)]
pub struct Analytics(Arc<Shared>);

struct Shared {
    database: Database,
    hasher: RandomState,
    partitions: [Mutex<Tallies>; PARTITIONS],
    /// Tallies being written to PostgreSQL; they stay here if that fails.
    pending: tokio::sync::Mutex<Tallies>,
}

impl Analytics {
    /// Starts counting. Tallies are written every second, until the last clone is dropped.
    #[must_use]
    pub fn start(database: Database) -> Self {
        let analytics = Self::new(database);
        let shared = Arc::downgrade(&analytics.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(FLUSH_INTERVAL).await;
                let Some(shared) = shared.upgrade() else { return };
                if let Err(error) = Self(shared).flush().await {
                    tracing::warn!(%error, "writing search tallies failed; they are kept in memory and retried");
                }
            }
        });
        analytics
    }

    fn new(database: Database) -> Self {
        let (partitions, pending) = (Default::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Shared { database, hasher: RandomState::new(), partitions, pending }))
    }

    /// Counts a search of a store, or of all stores. Never blocks: if all partitions are locked, or the one used is
    /// full, the search is not counted.
    pub fn record(&self, store: Option<MerchantId>, query: &str, caller: CallerKind, hits: u64) {
        let Some(query) = normalize(query) else { return };
        let key = TallyKey { store, query, caller };
        let first = self.0.hasher.hash_one(&key);
        let first = usize::try_from(first % 1_024).unwrap_or(0);
        for offset in 0..PARTITIONS {
            if let Ok(mut partition) = self.0.partitions[(first + offset) % PARTITIONS].try_lock() {
                merge(&mut partition, key, Counts::of_search(hits), KEYS_MAX / PARTITIONS);
                return;
            }
        }
        count_dropped(1);
    }

    /// Writes all counts to PostgreSQL, for instance before the process stops. After a failure they are kept and
    /// retried.
    pub async fn flush(&self) -> Result<(), AnalyticsError> {
        let mut pending = self.0.pending.lock().await;
        for partition in &self.0.partitions {
            let counted =
                std::mem::take(&mut *partition.lock().unwrap_or_else(PoisonError::into_inner));
            for (key, counts) in counted {
                merge(&mut pending, key, counts, KEYS_MAX);
            }
        }
        // The same order in all processes, so that they do not deadlock.
        let mut keys: Vec<TallyKey> = pending.keys().cloned().collect();
        keys.sort_unstable();
        for keys in keys.chunks(ROWS_PER_WORK) {
            let row = |key| pending.get(key).map(|counts| (key, *counts));
            let rows: Vec<(&TallyKey, Counts)> = keys.iter().filter_map(row).collect();
            let mut work = Work::for_platform(&self.0.database).await?;
            table::add_tallies(&mut work, &rows).await?;
            work.commit().await?;
            for key in keys {
                pending.remove(key);
            }
        }
        Ok(())
    }
}

/// Adds counts, unless the key is new and there are too many keys already.
fn merge(tallies: &mut Tallies, key: TallyKey, counts: Counts, keys_max: usize) {
    if tallies.len() >= keys_max && !tallies.contains_key(&key) {
        count_dropped(counts.searches);
        return;
    }
    tallies.entry(key).or_default().add(counts);
}

fn count_dropped(searches: i64) {
    let searches = u64::try_from(searches).unwrap_or(0);
    metrics::counter!("souk_search_tallies_dropped_total").increment(searches);
}

/// A failure to write or read tallies.
#[derive(Debug, thiserror::Error)]
pub enum AnalyticsError {
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for AnalyticsError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for AnalyticsError {
    fn code(&self) -> ErrorCode {
        let Self::Database(error) = self;
        error.code()
    }

    fn details(&self, details: &mut Details) {
        let Self::Database(error) = self;
        error.details(details);
    }

    fn is_transient(&self) -> bool {
        let Self::Database(error) = self;
        error.is_transient()
    }
}
