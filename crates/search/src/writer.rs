//! The writer: one task per shard follows the outbox and publishes what changed.

mod collect;
mod fill;
mod local;
mod publish;
mod shard;
mod unsynced;

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::Database;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::manifest::Place;
use crate::objects::Objects;
use crate::slot::Slot;
use crate::{IndexError, generation};

/// How often a writer looks which generations there are.
const LOOK: Duration = Duration::from_millis(500);
/// The pause after a step that failed.
pub(crate) const PAUSE: Duration = Duration::from_millis(300);

/// How a writer works.
#[derive(Debug, Clone)]
pub struct WriterSettings {
    /// Where it keeps its working copies; several writers may share it.
    pub directory: PathBuf,
    /// Where it publishes.
    pub objects: Objects,
    /// In how many shards the first index is made.
    pub shards: u16,
    /// How long a lease lasts: after so long another writer takes over from one that died.
    pub lease: Duration,
    /// How often changes are published, at the most: those of so long go together.
    pub commit_every: Duration,
    /// How long objects are kept that nothing published names any more.
    pub collect_after: Duration,
    /// Memory for the changes of one shard.
    pub memory_bytes: usize,
}

impl WriterSettings {
    /// What fits most machines.
    #[must_use]
    pub fn new(directory: PathBuf, objects: Objects) -> Self {
        Self {
            directory,
            objects,
            shards: 1,
            lease: Duration::from_secs(3),
            commit_every: Duration::from_millis(150),
            collect_after: Duration::from_mins(10),
            memory_bytes: 100 << 20,
        }
    }
}

/// Writes every index of this binary's form until told to stop. It never gives up: what is away is
/// waited for.
pub async fn write(
    database: Database,
    settings: WriterSettings,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(slot) = take_slot(&settings, &mut stopped).await else { return };
    let mut writer = Writer {
        database,
        directory: slot.path.clone(),
        settings,
        stopped: stopped.clone(),
        tasks: JoinSet::new(),
        shards: HashMap::new(),
        collected: None,
    };
    while !*stopped.borrow() {
        if let Err(error) = writer.turn().await {
            tracing::warn!(%error, "the search indexes cannot be looked after");
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = told(&mut stopped) => break,
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
    shards: HashMap<Place, AbortHandle>,
    collected: Option<Instant>,
}

impl Writer {
    /// One look: a task for each shard, the turn-over when it is time, and what is outdated away.
    async fn turn(&mut self) -> Result<(), IndexError> {
        while self.tasks.try_join_next().is_some() {}
        self.shards.retain(|_, task| !task.is_finished());
        let rows = generation::ensure(&self.database, self.settings.shards).await?;
        for row in &rows {
            let place = row.place();
            if !self.shards.contains_key(&place) {
                let directory = self.directory.join(place.prefix());
                let task = shard::run(
                    self.database.clone(),
                    self.settings.clone(),
                    directory,
                    place,
                    self.stopped.clone(),
                );
                self.shards.insert(place, self.tasks.spawn(task));
            }
        }
        generation::turn_over(&self.database, &rows).await?;
        let pause = collect::pause(&self.settings);
        if self.collected.is_none_or(|collected| collected.elapsed() >= pause) {
            self.collected = Some(Instant::now());
            let in_use: Vec<i32> = rows.iter().map(|row| row.generation).collect();
            collect::generations(&self.database, &self.settings, &self.directory, &in_use).await?;
        }
        Ok(())
    }
}

/// A directory of this writer's own; waits until there is one.
async fn take_slot(settings: &WriterSettings, stopped: &mut watch::Receiver<bool>) -> Option<Slot> {
    loop {
        match Slot::take(&settings.directory, "writer") {
            Ok(slot) => return Some(slot),
            Err(error) => tracing::error!(%error, "the writer has no place for its working copies"),
        }
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = told(stopped) => return None,
        }
    }
}

/// Waits until the process is to stop.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // Nobody left who could tell means the same.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
