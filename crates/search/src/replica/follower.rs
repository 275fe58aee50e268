//! The background task of a replica.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use primitives::{MerchantId, Timestamp};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::ReplicaSettings;
use super::prefetch::Prefetch;
use super::saved_state::{SavedShard, SavedState};
use super::segment_cache::SegmentCache;
use crate::IndexError;
use crate::columns::OpenIndex;
use crate::generation::GenerationState;
use crate::locked_directory::LockedDirectory;
use crate::manifest::{Manifest, ShardId};
use crate::schema::FORMAT;
use crate::snapshot::{IndexSnapshot, ShardSnapshot};
use crate::table::{self, ShardRow};

/// Delay before a failed step is retried.
const RETRY_DELAY: Duration = Duration::from_millis(300);
/// Interval between two checks of the lengths of local files.
const FILE_CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Interval between two purges of unused files.
const PURGE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between two saves of the state if only its age changed.
const SAVE_INTERVAL: Duration = Duration::from_secs(5);

/// Follows publications until the task is aborted.
pub(super) async fn follow(
    database: Database,
    settings: ReplicaSettings,
    snapshot: watch::Sender<Option<Arc<IndexSnapshot>>>,
    damage: Arc<AtomicU64>,
) {
    let (locked, cache) = loop {
        let opened = LockedDirectory::acquire(&settings.directory, "replica")
            .map_err(IndexError::from)
            .and_then(|locked| {
                Ok((SegmentCache::open(&locked.path, settings.objects.clone())?, locked))
            });
        match opened {
            Ok((cache, locked)) => break (locked, Arc::new(cache)),
            Err(error) => {
                tracing::error!(%error, "opening the replica directory failed; it is retried");
            }
        }
        tokio::time::sleep(RETRY_DELAY).await;
    };
    let directory = locked.path.clone();
    let mut follower = Follower {
        database,
        settings,
        directory,
        cache,
        snapshot,
        damage,
        open: HashMap::new(),
        pulls: JoinSet::new(),
        pulling: HashSet::new(),
        failed: HashMap::new(),
        prefetch: Prefetch::default(),
        checks: JoinSet::new(),
        saved: None,
        is_database_unavailable: false,
        last_run: LastRun::new(),
    };
    follower.restore().await;
    let mut poll = tokio::time::interval(follower.settings.poll);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(pulled) = follower.pulls.join_next() => {
                if let Ok(pulled) = pulled {
                    follower.finish_pull(pulled).await;
                }
            }
            Some(()) = follower.prefetch.ended() => {}
            Some(damaged) = follower.checks.join_next() => {
                if let Ok(Ok(damaged)) = damaged {
                    follower.mark_damaged(&damaged);
                }
            }
            _ = poll.tick() => follower.tick().await,
        }
    }
}

/// An open shard.
struct OpenShard {
    /// Checksum of the manifest.
    sha256: String,
    manifest: Manifest,
    index: OpenIndex,
    range: (u16, u16),
    caught_up: CaughtUp,
    /// Local files are missing or changed: the shard is pulled again.
    is_damaged: bool,
}

/// The time up to which changes are included, on the clock of the database and on the monotonic clock of this process.
#[derive(Debug, Clone)]
struct CaughtUp {
    at: Timestamp,
    instant: Instant,
    /// The same for all stores but the `bulk_merchants`.
    small_at: Timestamp,
    small_instant: Instant,
    bulk_merchants: Arc<[MerchantId]>,
}

impl CaughtUp {
    /// Returns the times of a shard; `None` before they are known. `now` is the time of the database at `polled_at`.
    fn of(row: &ShardRow, now: Timestamp, polled_at: Instant) -> Option<Self> {
        let at = row.caught_up_at?;
        let small_at = row.small_caught_up_at.map_or(at, |small_at| small_at.max(at));
        Some(Self {
            at,
            instant: ago(polled_at, now.since(at)),
            small_at,
            small_instant: ago(polled_at, now.since(small_at)),
            bulk_merchants: row.bulk_merchants.as_slice().into(),
        })
    }

    /// Returns whether both are the same times on the clock of the database.
    fn is_same_as(&self, other: &Self) -> bool {
        (self.at, self.small_at, &self.bulk_merchants)
            == (other.at, other.small_at, &other.bulk_merchants)
    }
}

/// The outcome of a pull.
struct Pulled {
    shard_id: ShardId,
    sha256: String,
    range: (u16, u16),
    caught_up: CaughtUp,
    started_at: Instant,
    result: Result<(Manifest, OpenIndex), IndexError>,
}

/// When each periodic task last ran.
struct LastRun {
    file_check: Instant,
    scrub: Instant,
    purge: Instant,
    save: Instant,
}

impl LastRun {
    fn new() -> Self {
        let now = Instant::now();
        Self { file_check: now, scrub: now, purge: now, save: now }
    }
}

struct Follower {
    database: Database,
    settings: ReplicaSettings,
    directory: PathBuf,
    cache: Arc<SegmentCache>,
    snapshot: watch::Sender<Option<Arc<IndexSnapshot>>>,
    damage: Arc<AtomicU64>,
    open: HashMap<ShardId, OpenShard>,
    /// At most one per shard, so that a large one does not delay others.
    pulls: JoinSet<Pulled>,
    pulling: HashSet<ShardId>,
    failed: HashMap<ShardId, Instant>,
    prefetch: Prefetch,
    checks: JoinSet<Result<HashSet<String>, IndexError>>,
    saved: Option<SavedState>,
    is_database_unavailable: bool,
    last_run: LastRun,
}

impl Follower {
    /// Opens the state of the last process, if all its files are valid.
    async fn restore(&mut self) {
        let Some(saved) = SavedState::load(&self.directory) else { return };
        let mut is_complete = true;
        for shard in &saved.shards {
            let (cache, shard_state) = (Arc::clone(&self.cache), shard.clone());
            let opened = tokio::task::spawn_blocking(move || {
                let manifest = cache.manifest(shard_state.shard_id, &shard_state.manifest)?;
                cache.verify(&manifest)?;
                let index = cache.open_index(&manifest)?;
                Ok::<_, IndexError>((manifest, index))
            });
            match opened.await.map_err(IndexError::from).and_then(|opened| opened) {
                Ok((manifest, index)) => {
                    let open = self.restored_shard(shard, manifest, index);
                    self.open.insert(shard.shard_id, open);
                }
                Err(error) => {
                    is_complete = false;
                    self.record_failure(shard.shard_id, &error);
                }
            }
        }
        if is_complete {
            let shard_ids: Vec<ShardId> = saved.shards.iter().map(|shard| shard.shard_id).collect();
            self.serve(&shard_ids);
        }
    }

    fn restored_shard(
        &self,
        saved: &SavedShard,
        manifest: Manifest,
        index: OpenIndex,
    ) -> OpenShard {
        let age = self.database.local_now().since(saved.caught_up_at);
        let (at, instant) = (saved.caught_up_at, ago(Instant::now(), age));
        let (small_at, small_instant, bulk_merchants) = (at, instant, Arc::default());
        OpenShard {
            sha256: saved.manifest.clone(),
            manifest,
            index,
            range: (saved.virtual_from, saved.virtual_to),
            caught_up: CaughtUp { at, instant, small_at, small_instant, bulk_merchants },
            is_damaged: false,
        }
    }

    /// Runs everything that is due.
    async fn tick(&mut self) {
        match self.poll().await {
            Ok(()) => self.is_database_unavailable = false,
            Err(error) => {
                // Logged once, not ten times a second.
                if !self.is_database_unavailable {
                    tracing::warn!(%error, "polling for search index publications failed; the current index keeps serving");
                }
                self.is_database_unavailable = true;
            }
        }
        self.check_files();
        if let Err(error) = self.purge() {
            tracing::warn!(%error, "purging unused search index files failed; it is retried");
        }
        self.record_metrics();
    }

    /// Reads the publications, starts to pull new versions, and serves those that are complete.
    async fn poll(&mut self) -> Result<(), IndexError> {
        let polled_at = Instant::now();
        let (now, rows) = Reading::for_platform(&self.database)
            .run(async |sql| {
                let now = sql.now().await?;
                Ok::<_, IndexError>((now, table::shards(sql, FORMAT).await?))
            })
            .await?;
        for row in &rows {
            let caught_up = CaughtUp::of(row, now, polled_at);
            let Some((manifest, caught_up)) = row.manifest.as_ref().zip(caught_up) else {
                continue;
            };
            match self.open.get_mut(&row.shard_id()) {
                Some(open) if open.sha256 == *manifest && !open.is_damaged => {
                    if !open.caught_up.is_same_as(&caught_up) {
                        open.caught_up = caught_up;
                    }
                }
                _ => self.pull(row, manifest, caught_up),
            }
        }
        let serving = rows.iter().filter(|row| row.state == GenerationState::Serving);
        let serving: Vec<ShardId> = serving.map(ShardRow::shard_id).collect();
        self.serve(&serving);
        let served = self.snapshot.borrow().as_ref().map(|snapshot| snapshot.generation);
        self.open.retain(|shard_id, _| {
            Some(shard_id.generation) == served
                || rows.iter().any(|row| row.shard_id() == *shard_id)
        });
        self.prefetch.retain(|shard_id| self.open.contains_key(&shard_id));
        Ok(())
    }

    fn pull(&mut self, row: &ShardRow, manifest: &str, caught_up: CaughtUp) {
        let shard_id = row.shard_id();
        let is_too_soon =
            self.failed.get(&shard_id).is_some_and(|failed| failed.elapsed() < RETRY_DELAY);
        if is_too_soon || !self.pulling.insert(shard_id) {
            return;
        }
        let number = |number: i16| u16::try_from(number).unwrap_or(0);
        let range = (number(row.virtual_from), number(row.virtual_to));
        let (cache, sha256, started_at) =
            (Arc::clone(&self.cache), manifest.to_owned(), Instant::now());
        self.pulls.spawn(async move {
            let result = pull_and_open(&cache, shard_id, &sha256).await;
            Pulled { shard_id, sha256, range, caught_up, started_at, result }
        });
    }

    /// Serves a version that was pulled, or reports its damage.
    async fn finish_pull(&mut self, pulled: Pulled) {
        let shard_id = pulled.shard_id;
        self.pulling.remove(&shard_id);
        match pulled.result {
            Ok((manifest, index)) => {
                metrics::histogram!("souk_search_pull_seconds")
                    .record(pulled.started_at.elapsed().as_secs_f64());
                self.failed.remove(&shard_id);
                self.prefetch.start(&self.cache, shard_id, &manifest);
                let open = OpenShard {
                    sha256: pulled.sha256,
                    manifest,
                    index,
                    range: pulled.range,
                    caught_up: pulled.caught_up,
                    is_damaged: false,
                };
                self.open.insert(shard_id, open);
                let served: Vec<ShardId> = self.served_shard_ids();
                self.serve(&served);
            }
            Err(error) => {
                self.failed.insert(shard_id, Instant::now());
                self.record_failure(shard_id, &error);
                if error.is_damage() || matches!(error, IndexError::Index(_)) {
                    self.report_damage(shard_id, &pulled.sha256).await;
                }
            }
        }
    }

    fn record_failure(&self, shard_id: ShardId, error: &IndexError) {
        tracing::warn!(%error, ?shard_id, "opening a shard of the search index failed; it is pulled again");
        if !error.is_retryable() {
            self.damage.fetch_add(1, Ordering::Relaxed);
            metrics::counter!("souk_search_damage_total").increment(1);
        }
    }

    /// Reports a damaged version to the writer, which repairs it.
    async fn report_damage(&self, shard_id: ShardId, manifest: &str) {
        let reported = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::report_damage(&mut work, shard_id, manifest).await?;
            work.commit().await?;
            Ok::<(), IndexError>(())
        };
        if let Err(error) = reported.await {
            tracing::warn!(%error, ?shard_id, "reporting a damaged shard to the writer failed; it is reported again with the next pull");
        }
    }

    /// Returns the shards of the served generation.
    fn served_shard_ids(&self) -> Vec<ShardId> {
        let snapshot = self.snapshot.borrow();
        let Some(snapshot) = snapshot.as_ref() else { return Vec::new() };
        let generation = snapshot.generation;
        snapshot.shards.iter().map(|shard| ShardId { generation, shard: shard.shard }).collect()
    }

    /// Serves these shards, if all of them are open.
    fn serve(&mut self, shard_ids: &[ShardId]) {
        let open: Option<Vec<(ShardId, &OpenShard)>> =
            shard_ids.iter().map(|shard_id| Some((*shard_id, self.open.get(shard_id)?))).collect();
        let Some((open, generation)) =
            open.zip(shard_ids.first().map(|shard_id| shard_id.generation))
        else {
            return;
        };
        let shard_snapshot = |(shard_id, open): &(ShardId, &OpenShard)| ShardSnapshot {
            shard: shard_id.shard,
            index: open.index.clone(),
            version: open.manifest.version,
            caught_up: open.caught_up.instant,
            small_caught_up: open.caught_up.small_instant,
            bulk_merchants: Arc::clone(&open.caught_up.bulk_merchants),
            virtual_from: open.range.0,
            virtual_to: open.range.1,
        };
        let shards: Vec<ShardSnapshot> = open.iter().map(shard_snapshot).collect();
        let saved_shard = |(shard_id, open): &(ShardId, &OpenShard)| SavedShard {
            shard_id: *shard_id,
            virtual_from: open.range.0,
            virtual_to: open.range.1,
            manifest: open.sha256.clone(),
            caught_up_at: open.caught_up.at,
        };
        let saved = SavedState::new(open.iter().map(saved_shard).collect());
        let snapshot = IndexSnapshot { generation, shards };
        self.snapshot.send_if_modified(|served| {
            let is_new = !served.as_ref().is_some_and(|served| served.is_same_as(&snapshot));
            if is_new {
                *served = Some(Arc::new(snapshot));
            }
            is_new
        });
        self.save(saved);
    }

    /// Saves the state for the next process, if it changed or the interval has passed.
    fn save(&mut self, state: SavedState) {
        let is_same = self.saved.as_ref().is_some_and(|saved| saved.is_same_as(&state));
        if is_same && self.last_run.save.elapsed() < SAVE_INTERVAL {
            return;
        }
        self.last_run.save = Instant::now();
        match state.save(&self.directory) {
            Ok(()) => self.saved = Some(state),
            Err(error) => tracing::warn!(%error, "saving the replica state failed; it is retried"),
        }
    }

    /// Starts a check of local files when one is due: often of their lengths, rarely of their checksums.
    fn check_files(&mut self) {
        let full = self.last_run.scrub.elapsed() >= self.settings.scrub_every;
        let is_due = full || self.last_run.file_check.elapsed() >= FILE_CHECK_INTERVAL;
        if !is_due || !self.checks.is_empty() {
            return;
        }
        self.last_run.file_check = Instant::now();
        if full {
            self.last_run.scrub = Instant::now();
        }
        let cache = Arc::clone(&self.cache);
        self.checks.spawn_blocking(move || cache.evict_damaged(full));
    }

    /// Marks the shards of damaged files, so that they are pulled again.
    fn mark_damaged(&mut self, damaged: &HashSet<String>) {
        for (shard_id, open) in &mut self.open {
            let files = &open.manifest.files;
            if files.iter().any(|file| damaged.contains(&file.sha256)) {
                tracing::warn!(
                    ?shard_id,
                    "local files of the search index are missing or damaged; the shard is pulled again"
                );
                open.is_damaged = true;
                self.damage.fetch_add(1, Ordering::Relaxed);
                metrics::counter!("souk_search_damage_total").increment(1);
            }
        }
    }

    /// Purges files that no open shard needs, while nothing is being pulled.
    fn purge(&mut self) -> Result<(), IndexError> {
        // While the database is unavailable it is unknown which files are needed.
        let is_idle = self.pulls.is_empty()
            && self.prefetch.is_idle()
            && self.checks.is_empty()
            && !self.is_database_unavailable;
        if !is_idle || self.last_run.purge.elapsed() < PURGE_INTERVAL {
            return Ok(());
        }
        self.last_run.purge = Instant::now();
        let in_use = |open: &OpenShard| (open.sha256.clone(), open.manifest.clone());
        let in_use: Vec<_> = self.open.values().map(in_use).collect();
        self.cache.purge(&in_use)
    }

    fn record_metrics(&self) {
        let Some(snapshot) = self.snapshot.borrow().clone() else { return };
        for shard in &snapshot.shards {
            let age = shard.small_caught_up.elapsed().as_secs_f64();
            let label = shard.shard.to_string();
            metrics::gauge!("souk_search_index_age_seconds", "shard" => label.clone()).set(age);
            let is_bulk = !shard.bulk_merchants.is_empty();
            let bulk_age = if is_bulk { shard.caught_up.elapsed() } else { Duration::ZERO };
            metrics::gauge!("souk_search_bulk_age_seconds", "shard" => label)
                .set(bulk_age.as_secs_f64());
        }
    }
}

/// Pulls a published version and opens it.
async fn pull_and_open(
    cache: &Arc<SegmentCache>,
    shard_id: ShardId,
    sha256: &str,
) -> Result<(Manifest, OpenIndex), IndexError> {
    let manifest = cache.pull(shard_id, sha256).await?;
    let cache = Arc::clone(cache);
    let opened = tokio::task::spawn_blocking(move || {
        let index = cache.open_index(&manifest)?;
        Ok((manifest, index))
    });
    opened.await?
}

/// Returns the instant this long before another.
fn ago(instant: Instant, age: Duration) -> Instant {
    instant.checked_sub(age).unwrap_or(instant)
}
