//! What is searched for, and what is not found. Counted in memory and written down each second, never
//! in the request; what is too much is dropped. Nobody is named: a query that could hold an address or a
//! number of a person is kept as just that.

mod query;
mod read;
mod sweep;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use primitives::{Details, ErrorCode, MerchantId, Problem};

use crate::table;

use query::fold;
pub use read::{SearchTally, searches_without_result, top_searches};
pub use sweep::SweepTallies;

/// How often tallies are written down.
const EVERY: Duration = Duration::from_secs(1);
/// Queries counted at once; what is new beyond them is dropped.
const KEYS_MAX: usize = 10_000;
/// Rows written in one work.
const ROWS_PER_WORK: usize = 500;
/// Parts of the count, so that requests do not get in each other's way.
const PARTS: usize = 8;

/// The kind of a caller: all that is kept of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallerKind {
    /// Somebody without a credential.
    Anonymous,
    /// An agent with a key.
    Agent,
    /// A merchant, in a store of its own.
    Merchant,
}

impl CallerKind {
    /// The name, as in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::Agent => "agent",
            Self::Merchant => "merchant",
        }
    }
}

/// What is counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    /// The store that was searched; none: all of them.
    pub(crate) store: Option<MerchantId>,
    pub(crate) query: String,
    pub(crate) caller: CallerKind,
}

/// What came of the searches of one key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) searches: i64,
    pub(crate) without_result: i64,
    pub(crate) hits: i64,
}

impl Figures {
    fn of_one(hits: u64) -> Self {
        let hits = i64::try_from(hits).unwrap_or(i64::MAX);
        Self { searches: 1, without_result: i64::from(hits == 0), hits }
    }

    fn add(&mut self, more: Self) {
        self.searches = self.searches.saturating_add(more.searches);
        self.without_result = self.without_result.saturating_add(more.without_result);
        self.hits = self.hits.saturating_add(more.hits);
    }
}

type Tallies = HashMap<Key, Figures>;

/// Counts searches. Clones count together.
#[derive(Clone)]
pub struct Insight(Arc<Shared>);

struct Shared {
    database: Database,
    hasher: RandomState,
    parts: [Mutex<Tallies>; PARTS],
    /// What is on its way to PostgreSQL, and stays if that fails.
    pending: tokio::sync::Mutex<Tallies>,
}

impl Insight {
    /// Counts, and writes down each second for as long as somebody counts.
    #[must_use]
    pub fn start(database: Database) -> Self {
        let insight = Self::new(database);
        let shared = Arc::downgrade(&insight.0);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(EVERY).await;
                let Some(shared) = shared.upgrade() else { return };
                if let Err(error) = Self(shared).flush().await {
                    tracing::warn!(%error, "tallies of searches cannot be written down");
                }
            }
        });
        insight
    }

    fn new(database: Database) -> Self {
        let (parts, pending) = (Default::default(), tokio::sync::Mutex::default());
        Self(Arc::new(Shared { database, hasher: RandomState::new(), parts, pending }))
    }

    /// Counts a search of a store, or of all. Never waits: if every part is being used by somebody
    /// else, or is full, the search is not counted.
    pub fn note(&self, store: Option<MerchantId>, query: &str, caller: CallerKind, hits: u64) {
        let Some(query) = fold(query) else { return };
        let key = Key { store, query, caller };
        let first = self.0.hasher.hash_one(&key);
        let first = usize::try_from(first % 1_024).unwrap_or(0);
        for offset in 0..PARTS {
            if let Ok(mut part) = self.0.parts[(first + offset) % PARTS].try_lock() {
                merge(&mut part, key, Figures::of_one(hits), KEYS_MAX / PARTS);
                return;
            }
        }
        count_dropped(1);
    }

    /// Writes down what was counted so far: before the process ends, for instance. What cannot be
    /// written stays and is tried again.
    pub async fn flush(&self) -> Result<(), InsightError> {
        let mut pending = self.0.pending.lock().await;
        for part in &self.0.parts {
            let counted = std::mem::take(&mut *part.lock().unwrap_or_else(PoisonError::into_inner));
            for (key, figures) in counted {
                merge(&mut pending, key, figures, KEYS_MAX);
            }
        }
        // In one order everywhere, so that two processes do not wait for each other.
        let mut keys: Vec<Key> = pending.keys().cloned().collect();
        keys.sort_unstable();
        for keys in keys.chunks(ROWS_PER_WORK) {
            let figures = |key| pending.get(key).map(|figures| (key, *figures));
            let rows: Vec<(&Key, Figures)> = keys.iter().filter_map(figures).collect();
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

/// Adds figures, unless there are too many keys already.
fn merge(tallies: &mut Tallies, key: Key, figures: Figures, keys_max: usize) {
    if tallies.len() >= keys_max && !tallies.contains_key(&key) {
        count_dropped(figures.searches);
        return;
    }
    tallies.entry(key).or_default().add(figures);
}

fn count_dropped(searches: i64) {
    let searches = u64::try_from(searches).unwrap_or(0);
    metrics::counter!("souk_search_tallies_dropped_total").increment(searches);
}

/// Why tallies could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum InsightError {
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for InsightError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for InsightError {
    fn code(&self) -> ErrorCode {
        let Self::Database(error) = self;
        error.code()
    }

    fn details(&self, details: &mut Details) {
        let Self::Database(error) = self;
        error.details(details);
    }
}
