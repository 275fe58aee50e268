//! A reader's copy of the index: follows what is published, brings it here, checks it and swaps it in.
//! What is broken is never opened; the last good state answers until there is a better one.

mod follower;
mod kept;
mod published;
mod shelf;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use database::Database;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::objects::Objects;
use crate::view::View;

/// How a replica works.
#[derive(Debug, Clone)]
pub struct ReplicaSettings {
    /// Where it keeps its files; several replicas may share it.
    pub directory: PathBuf,
    /// Where it fetches them.
    pub objects: Objects,
    /// How often it looks for something new.
    pub poll: Duration,
    /// How often it reads all its files to see whether they are still what they were.
    pub scrub_every: Duration,
}

impl ReplicaSettings {
    /// What fits most machines.
    #[must_use]
    pub fn new(directory: PathBuf, objects: Objects) -> Self {
        let (poll, scrub_every) = (Duration::from_millis(100), Duration::from_mins(10));
        Self { directory, objects, poll, scrub_every }
    }
}

/// A copy of the index that keeps itself up to date, as long as this lives.
pub struct Replica {
    view: watch::Receiver<Option<Arc<View>>>,
    damage: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// What a replica has.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Which index.
    pub generation: i32,
    /// Its shards.
    pub shards: Vec<ShardFigures>,
}

impl Figures {
    /// The age of the oldest shard: everything that was committed earlier is found.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.shards.iter().map(|shard| shard.age).max().unwrap_or(Duration::MAX)
    }

    /// How many products are found.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.documents).sum()
    }
}

/// What a replica has of one shard.
#[derive(Debug, Clone)]
pub struct ShardFigures {
    /// Which.
    pub shard: i16,
    /// The publication it is at.
    pub version: i64,
    /// How many products are found.
    pub documents: u64,
    /// Everything that was committed earlier than this ago is found.
    pub age: Duration,
}

impl Replica {
    /// Starts to follow. What was there when the last process stopped is there at once, if it is
    /// still right, also while the database is away.
    #[must_use]
    pub fn start(database: Database, settings: ReplicaSettings) -> Self {
        let (sender, view) = watch::channel(None);
        let damage = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(follower::follow(database, settings, sender, Arc::clone(&damage)));
        Self { view, damage, task }
    }

    /// What can be searched, now and from now on. Nothing, until there is a whole index.
    pub(crate) fn view(&self) -> watch::Receiver<Option<Arc<View>>> {
        self.view.clone()
    }

    /// What it has; nothing, until there is a whole index.
    #[must_use]
    pub fn figures(&self) -> Option<Figures> {
        let view = self.view.borrow().clone()?;
        let figures = |shard: &crate::view::ShardView| ShardFigures {
            shard: shard.shard,
            version: shard.version,
            documents: shard.index.searcher.num_docs(),
            age: shard.caught_up.elapsed(),
        };
        let shards = view.shards.iter().map(figures).collect();
        Some(Figures { generation: view.generation, shards })
    }

    /// How often something was missing or broken since the start, here or in the object store.
    #[must_use]
    pub fn damage_seen(&self) -> u64 {
        self.damage.load(Ordering::Relaxed)
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}
