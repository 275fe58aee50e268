//! A reader's copy of the index: follows publications, downloads and verifies them, and swaps them in. A damaged
//! version is never opened; the last good one serves until a newer one is verified.

mod follower;
mod manifest_directory;
mod prefetch;
mod saved_state;
mod segment_cache;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use database::Database;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::object_storage::ObjectStorage;
use crate::snapshot::IndexSnapshot;

/// Settings of a replica.
#[derive(Debug, Clone)]
pub struct ReplicaSettings {
    /// Local directory; several replicas may share it.
    pub directory: PathBuf,
    pub objects: ObjectStorage,
    /// Interval between two checks for new publications.
    pub poll: Duration,
    /// Interval between two verifications of all local files.
    pub scrub_every: Duration,
}

impl ReplicaSettings {
    /// Returns the default settings.
    #[must_use]
    pub fn new(directory: PathBuf, objects: ObjectStorage) -> Self {
        let (poll, scrub_every) = (Duration::from_millis(100), Duration::from_mins(10));
        Self { directory, objects, poll, scrub_every }
    }
}

/// A copy of the index that updates itself while this value lives.
pub struct Replica {
    snapshot: watch::Receiver<Option<Arc<IndexSnapshot>>>,
    damage: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// Status of a replica.
#[derive(Debug, Clone)]
pub struct ReplicaStatus {
    pub generation: i32,
    pub shards: Vec<ShardStatus>,
}

impl ReplicaStatus {
    /// Returns the age of the oldest shard: every change committed earlier is included.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.shards.iter().map(|shard| shard.age).max().unwrap_or(Duration::MAX)
    }

    /// Returns the number of products.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.documents).sum()
    }
}

/// Status of one shard of a replica.
#[derive(Debug, Clone)]
pub struct ShardStatus {
    pub shard: i16,
    /// Published version that is open.
    pub version: i64,
    /// Number of products.
    pub documents: u64,
    /// Lag behind the database.
    pub age: Duration,
    /// Lag without stores that change many products at once.
    pub small_age: Duration,
    /// Number of those stores.
    pub bulk_stores: usize,
}

impl Replica {
    /// Starts following publications. The state of the last process is available at once if its files are still
    /// valid, even while the database is unavailable.
    #[must_use]
    pub fn start(database: Database, settings: ReplicaSettings) -> Self {
        let (sender, snapshot) = watch::channel(None);
        let damage = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(follower::follow(database, settings, sender, Arc::clone(&damage)));
        Self { snapshot, damage, task }
    }

    /// Returns the current and later states of the index; `None` until a complete index is open.
    pub(crate) fn snapshot(&self) -> watch::Receiver<Option<Arc<IndexSnapshot>>> {
        self.snapshot.clone()
    }

    /// Returns the status, or `None` until a complete index is open.
    #[must_use]
    pub fn status(&self) -> Option<ReplicaStatus> {
        let snapshot = self.snapshot.borrow().clone()?;
        let shard_status = |shard: &crate::snapshot::ShardSnapshot| ShardStatus {
            shard: shard.shard,
            version: shard.version,
            documents: shard.index.searcher.num_docs(),
            age: shard.caught_up.elapsed(),
            small_age: shard.small_caught_up.elapsed(),
            bulk_stores: shard.bulk_merchants.len(),
        };
        let shards = snapshot.shards.iter().map(shard_status).collect();
        Some(ReplicaStatus { generation: snapshot.generation, shards })
    }

    /// Returns how many missing or damaged files and objects were detected since the start.
    #[must_use]
    pub fn damage_count(&self) -> u64 {
        self.damage.load(Ordering::Relaxed)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}
