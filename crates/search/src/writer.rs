//! The writer: one task per shard follows the outbox and publishes what changed.

mod backfill;
mod bulk;
mod garbage_collection;
mod publish;
mod read_ahead;
mod shard_writer;
mod skipped;
mod unsynced_directory;
mod waiting;
mod working_copy;
mod written_files;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::Database;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::locked_directory::LockedDirectory;
use crate::manifest::ShardId;
use crate::object_storage::ObjectStorage;
use crate::{IndexError, generation};

/// Interval between two checks of the generations.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Delay before a failed step is retried.
pub(crate) const RETRY_DELAY: Duration = Duration::from_millis(300);

/// Settings of a writer.
#[derive(Debug, Clone)]
pub struct WriterSettings {
    /// Local directory of the working copies; several writers may share it.
    pub directory: PathBuf,
    pub objects: ObjectStorage,
    /// Number of shards of the first generation.
    pub shards: u16,
    /// Duration of a lease: another writer takes over this long after a crash.
    pub lease: Duration,
    /// Minimum interval between two publications; changes within it are published together.
    pub commit_every: Duration,
    /// How long objects are retained after the last reference to them is gone.
    pub gc_grace_period: Duration,
    /// Memory budget for the changes of one shard.
    pub memory_bytes: usize,
    /// Files of at least this size are uploaded by the merge that writes them, before a version contains them.
    pub large_file_bytes: u64,
    /// Interval between two attempts to read rows that could not be read.
    pub retry_skipped_every: Duration,
}

impl WriterSettings {
    /// Returns the default settings.
    #[must_use]
    pub fn new(directory: PathBuf, objects: ObjectStorage) -> Self {
        Self {
            directory,
            objects,
            shards: 1,
            lease: Duration::from_secs(3),
            commit_every: Duration::from_millis(150),
            gc_grace_period: Duration::from_mins(10),
            memory_bytes: 100 << 20,
            large_file_bytes: 4 << 20,
            retry_skipped_every: Duration::from_mins(1),
        }
    }
}

/// Writes all generations of this binary's format until a stop is requested. Failures are logged and retried.
pub async fn write(
    database: Database,
    settings: WriterSettings,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(locked) = lock_directory(&settings, &mut stopped).await else { return };
    let mut writer = Writer {
        database,
        directory: locked.path.clone(),
        settings,
        stopped: stopped.clone(),
        tasks: JoinSet::new(),
        shards: HashMap::new(),
        collected_at: None,
    };
    while !*stopped.borrow() {
        if let Err(error) = writer.check_generations().await {
            tracing::warn!(%error, "checking the search index generations failed; it is retried");
        }
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
            () = stop_requested(&mut stopped) => break,
        }
    }
    while writer.tasks.join_next().await.is_some() {}
}

/// The writer of one process.
struct Writer {
    database: Database,
    directory: PathBuf,
    settings: WriterSettings,
    stopped: watch::Receiver<bool>,
    tasks: JoinSet<()>,
    shards: HashMap<ShardId, AbortHandle>,
    /// When garbage collection last ran.
    collected_at: Option<Instant>,
}

impl Writer {
    /// Starts a task for each shard, promotes a generation that is ready, and deletes expired ones.
    async fn check_generations(&mut self) -> Result<(), IndexError> {
        while self.tasks.try_join_next().is_some() {}
        self.shards.retain(|_, task| !task.is_finished());
        let rows = generation::ensure(&self.database, self.settings.shards).await?;
        for row in &rows {
            let shard_id = row.shard_id();
            if !self.shards.contains_key(&shard_id) {
                let directory = self.directory.join(shard_id.prefix());
                let task = shard_writer::run(
                    self.database.clone(),
                    self.settings.clone(),
                    directory,
                    shard_id,
                    self.stopped.clone(),
                );
                self.shards.insert(shard_id, self.tasks.spawn(task));
            }
        }
        generation::promote_if_ready(&self.database, &rows).await?;
        let interval = garbage_collection::interval(&self.settings);
        if self.collected_at.is_none_or(|collected_at| collected_at.elapsed() >= interval) {
            self.collected_at = Some(Instant::now());
            let in_use: Vec<i32> = rows.iter().map(|row| row.generation).collect();
            garbage_collection::delete_generations(
                &self.database,
                &self.settings,
                &self.directory,
                &in_use,
            )
            .await?;
        }
        Ok(())
    }
}

/// Locks a directory for this writer; retries until one is free or a stop is requested.
async fn lock_directory(
    settings: &WriterSettings,
    stopped: &mut watch::Receiver<bool>,
) -> Option<LockedDirectory> {
    loop {
        match LockedDirectory::acquire(&settings.directory, "writer") {
            Ok(locked) => return Some(locked),
            Err(error) => {
                tracing::error!(%error, "locking a directory for working copies failed; it is retried");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(RETRY_DELAY) => {}
            () = stop_requested(stopped) => return None,
        }
    }
}

/// Waits until a stop is requested.
async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    // A dropped sender means the same.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
