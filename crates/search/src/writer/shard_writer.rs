//! Writes one shard: acquires its lease, restores its index or fills it from PostgreSQL, and follows the outbox.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use catalog::ProductKey;
use database::{Database, Reading, shard_of};
use jobs::Cursor;
use merchants::Store;
use primitives::MerchantId;
use tokio::sync::watch;

use super::bulk::Bulk;
use super::garbage_collection::{self, UnreferencedObjects};
use super::waiting::Waiting;
use super::working_copy::{Change, WorkingCopy};
use super::written_files::WrittenFiles;
use super::{RETRY_DELAY, WriterSettings, stop_requested};
use crate::IndexError;
use crate::lease::Lease;
use crate::manifest::{Manifest, ManifestFile, ShardId};
use crate::table::LeasedShard;

/// Products per query.
pub(super) const PRODUCTS: usize = 500;
/// Delay after a batch of the outbox that was not full.
const POLL_INTERVAL: Duration = Duration::from_millis(40);
/// Interval between two reads of the database clock, which dates an idle shard.
const CLOCK_INTERVAL: Duration = Duration::from_millis(250);
/// Interval between two checks for merged segments.
const MERGE_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two checks that the current manifest exists.
const OBJECT_CHECK_INTERVAL: Duration = Duration::from_secs(3);
/// Interval at which an idle shard advances its cursor, so that the outbox can delete events.
const CURSOR_INTERVAL: Duration = Duration::from_mins(1);

/// Acquires the lease, if it is free, and writes the shard until the lease is lost, an error occurs or a stop is
/// requested. The caller starts it again.
pub(super) async fn run(
    database: Database,
    settings: WriterSettings,
    directory: PathBuf,
    shard_id: ShardId,
    mut stopped: watch::Receiver<bool>,
) {
    let (lease, held) = match Lease::acquire(&database, shard_id, settings.lease).await {
        Ok(Some(acquired)) => acquired,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, ?shard_id, "acquiring the lease on a shard failed; it is retried");
            return;
        }
    };
    let ended = tokio::select! {
        ended = write_while_leased(&database, &settings, &directory, &lease, held) => ended,
        () = lease.renew_until_lost() => IndexError::LeaseLost,
        () = stop_requested(&mut stopped) => {
            lease.release().await;
            return;
        }
    };
    tracing::warn!(error = %ended, ?shard_id, "stopped writing a shard; it is restarted");
    if !matches!(ended, IndexError::LeaseLost) {
        lease.release().await;
    }
}

/// Writes the shard until an error occurs that cannot be retried.
async fn write_while_leased(
    database: &Database,
    settings: &WriterSettings,
    directory: &Path,
    lease: &Lease,
    held: LeasedShard,
) -> IndexError {
    let mut shard = match ShardWriter::open(database, settings, directory, lease, held).await {
        Ok(shard) => shard,
        Err(error) => return error,
    };
    loop {
        match shard.step().await {
            Ok(()) => {}
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, shard_id = ?lease.shard_id, "a step of the shard writer failed; it is retried");
                tokio::time::sleep(RETRY_DELAY).await;
            }
            Err(error) => return error,
        }
    }
}

/// The writer of one shard.
pub(super) struct ShardWriter<'lease> {
    pub(super) database: Database,
    pub(super) reading: Reading,
    pub(super) settings: &'lease WriterSettings,
    pub(super) lease: &'lease Lease,
    /// Directory of the working copy of this acquisition of the lease.
    pub(super) directory: PathBuf,
    /// `None` only during drop.
    working_copy: Option<Arc<Mutex<WorkingCopy>>>,
    /// The files that it has written.
    pub(super) written: WrittenFiles,
    /// Virtual shards of merchants in this shard.
    range: RangeInclusive<u16>,
    pub(super) stores: HashMap<MerchantId, Arc<Store>>,
    /// Changes that are read and wait in memory.
    pub(super) waiting: Waiting,
    /// Stores whose changes wait in PostgreSQL.
    pub(super) bulk: Bulk,
    /// Rows that could not be read.
    pub(super) skipped: HashSet<ProductKey>,
    /// Position in the outbox up to which events are read.
    pub(super) head: Cursor,
    /// Position up to which events are applied to the working copy, though perhaps not committed, or wait in PostgreSQL.
    pub(super) cursor: Cursor,
    /// The cursor as stored in the outbox.
    pub(super) stored_cursor: Cursor,
    pub(super) version: i64,
    /// The current version: checksum of the manifest, and manifest.
    pub(super) published: Option<(String, Manifest)>,
    /// Files in object storage, by name in the working copy.
    pub(super) uploaded: HashMap<String, ManifestFile>,
    /// Whether a commit is not published.
    pub(super) is_unpublished: bool,
    /// Whether changes are not committed.
    pub(super) is_changed: bool,
    /// Time of the last publication.
    pub(super) published_at: Instant,
    unreferenced: UnreferencedObjects,
    last_run: LastRun,
}

/// When each periodic task last ran.
struct LastRun {
    clock: Instant,
    merge_check: Instant,
    object_check: Instant,
    garbage_collection: Instant,
    cursor: Instant,
    skipped: Instant,
}

impl LastRun {
    const fn new(now: Instant) -> Self {
        Self {
            clock: now,
            merge_check: now,
            object_check: now,
            garbage_collection: now,
            cursor: now,
            skipped: now,
        }
    }
}

/// Returns whether the interval has passed; if so, starts the next one.
fn is_due(last: &mut Instant, interval: Duration) -> bool {
    let is_due = last.elapsed() >= interval;
    if is_due {
        *last = Instant::now();
    }
    is_due
}

impl<'lease> ShardWriter<'lease> {
    /// Restores the current version; fills the shard from PostgreSQL if there is none, or if it is damaged.
    pub(super) async fn open(
        database: &Database,
        settings: &'lease WriterSettings,
        directory: &Path,
        lease: &'lease Lease,
        held: LeasedShard,
    ) -> Result<Self, IndexError> {
        let reading = Reading::for_platform(database);
        let stored_cursor = jobs::cursor(&reading, &lease.shard_id.cursor_name()).await?;
        let work = directory.join(lease.token.to_string());
        let objects = settings.objects.clone();
        let written = WrittenFiles::new(lease.shard_id, objects, settings.large_file_bytes);
        let local = Local { root: directory, work: &work, written: &written };
        let restored = match &held.manifest {
            Some(sha256) => restore_or_refill(settings, local, lease.shard_id, sha256)
                .await?
                .map(|restored| (sha256.clone(), restored)),
            None => None,
        };
        let (working_copy, published) = match restored {
            Some((sha256, (working_copy, manifest))) => (working_copy, Some((sha256, manifest))),
            None => (create(settings, local).await?, None),
        };
        // If the outbox has no cursor any more, the one in the manifest is used.
        let resumed = published.as_ref().filter(|_| stored_cursor == Cursor::default());
        let cursor =
            resumed.map_or_else(|| stored_cursor.clone(), |(_, manifest)| manifest.cursor.clone());
        if published.is_some() {
            written.serve();
        }
        let uploaded = published.iter().flat_map(|(_, manifest)| manifest.files.iter());
        let uploaded = uploaded.map(|file| (file.name.clone(), file.clone())).collect();
        let now = Instant::now();
        let mut shard = Self {
            database: database.clone(),
            reading,
            settings,
            lease,
            directory: work,
            working_copy: Some(Arc::new(Mutex::new(working_copy))),
            written,
            range: range(&held),
            stores: HashMap::new(),
            waiting: Waiting::default(),
            bulk: Bulk::default(),
            skipped: HashSet::new(),
            head: cursor.clone(),
            cursor,
            stored_cursor,
            version: held.version,
            published,
            uploaded,
            is_unpublished: false,
            is_changed: false,
            published_at: now,
            unreferenced: UnreferencedObjects::default(),
            last_run: LastRun::new(now),
        };
        shard.load_skipped().await?;
        shard.load_bulk().await?;
        if shard.published.is_none() {
            shard.backfill().await?;
        }
        Ok(shard)
    }

    /// Runs a step on the working copy in a blocking task.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut WorkingCopy) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let Some(working_copy) = self.working_copy.clone() else {
            return Err(IndexError::LeaseLost);
        };
        let result = tokio::task::spawn_blocking(move || {
            step(&mut working_copy.lock().unwrap_or_else(PoisonError::into_inner))
        });
        result.await?
    }

    /// Returns whether a merchant's products belong to this shard.
    pub(super) fn owns(&self, merchant: MerchantId) -> bool {
        self.range.contains(&shard_of(merchant))
    }

    /// Reads the next events, applies changes, publishes if due, and runs maintenance.
    async fn step(&mut self) -> Result<(), IndexError> {
        let mut now = None;
        if is_due(&mut self.last_run.clock, CLOCK_INTERVAL) {
            now = Some(self.reading.run(async |sql| sql.now().await).await?);
        }
        let is_end = self.read_ahead(now).await?;
        self.apply_small().await?;
        self.publish_if_due().await?;
        // After the publication, so that small changes do not wait for it.
        self.apply_bulk().await?;
        self.run_maintenance().await?;
        let is_idle = !self.bulk.is_ready() || !self.is_publication_due();
        if is_end && self.waiting.len() == 0 && is_idle {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Returns whether the store of a merchant is loaded.
    pub(super) fn knows_store(&self, merchant: MerchantId) -> bool {
        self.stores.contains_key(&merchant)
    }

    /// Loads stores from the database.
    pub(super) async fn load_stores(
        &mut self,
        merchants: HashSet<MerchantId>,
    ) -> Result<(), IndexError> {
        let merchants: Vec<MerchantId> = merchants.into_iter().collect();
        for merchants in merchants.chunks(PRODUCTS) {
            let read = merchants::stores_of(&self.reading, merchants).await?;
            self.cache_stores(read.stores);
            self.skip_stores(&read.unreadable).await?;
        }
        Ok(())
    }

    pub(super) fn cache_stores(&mut self, stores: Vec<Store>) {
        self.stores.extend(stores.into_iter().map(|store| (store.merchant, Arc::new(store))));
    }

    pub(super) async fn apply(&mut self, changes: Vec<Change>) -> Result<(), IndexError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.is_changed = true;
        let of_changes: HashSet<MerchantId> =
            changes.iter().map(|change| change.merchant).collect();
        let stores = of_changes.into_iter().filter_map(|merchant| {
            self.stores.get(&merchant).map(|store| (merchant, Arc::clone(store)))
        });
        let stores: HashMap<MerchantId, Arc<Store>> = stores.collect();
        self.blocking(move |working_copy| working_copy.apply(&stores, changes)).await
    }

    /// Returns whether the last publication is long enough ago.
    fn is_publication_due(&self) -> bool {
        self.published_at.elapsed() >= self.settings.commit_every
    }

    /// Publishes changes, unless the last publication is too recent.
    async fn publish_if_due(&mut self) -> Result<(), IndexError> {
        if self.is_changed && self.is_publication_due() || self.is_unpublished {
            self.publish(false).await?;
        }
        self.report_caught_up();
        Ok(())
    }

    /// Runs the periodic tasks that are due.
    async fn run_maintenance(&mut self) -> Result<(), IndexError> {
        if is_due(&mut self.last_run.merge_check, MERGE_CHECK_INTERVAL)
            && (self.written.is_unlisted() || self.is_merged().await?)
        {
            self.publish(false).await?;
        }
        let is_missing = is_due(&mut self.last_run.object_check, OBJECT_CHECK_INTERVAL)
            && self.is_manifest_missing().await?;
        if is_missing || self.lease.is_damaged() {
            self.repair().await?;
        }
        if is_due(
            &mut self.last_run.garbage_collection,
            garbage_collection::interval(self.settings),
        ) && let Some((sha256, manifest)) = &self.published
        {
            let (objects, grace_period) = (&self.settings.objects, self.settings.gc_grace_period);
            let current = (sha256.as_str(), manifest);
            let written = &self.written;
            self.unreferenced
                .collect(objects, self.lease.shard_id, current, written, grace_period)
                .await?;
        }
        if is_due(&mut self.last_run.cursor, CURSOR_INTERVAL) && !self.is_changed {
            self.advance_cursor().await?;
        }
        if is_due(&mut self.last_run.skipped, self.settings.retry_skipped_every) {
            self.retry_skipped().await?;
        }
        Ok(())
    }
}

impl Drop for ShardWriter<'_> {
    /// Drops the index in a blocking task, because it waits for its threads.
    fn drop(&mut self) {
        self.written.close();
        let working_copy = self.working_copy.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(working_copy));
        }
    }
}

fn range(held: &LeasedShard) -> RangeInclusive<u16> {
    let number = |number: i16| u16::try_from(number).unwrap_or(0);
    number(held.virtual_from)..=number(held.virtual_to)
}

/// The place of a working copy.
#[derive(Clone, Copy)]
struct Local<'open> {
    /// Contains the working copies of all acquisitions of the lease.
    root: &'open Path,
    /// Directory of this one.
    work: &'open Path,
    written: &'open WrittenFiles,
}

/// Restores a published version. Returns `None` if it is damaged: the shard is then filled from PostgreSQL.
async fn restore_or_refill(
    settings: &WriterSettings,
    local: Local<'_>,
    shard_id: ShardId,
    sha256: &str,
) -> Result<Option<(WorkingCopy, Manifest)>, IndexError> {
    match restore(settings, local, shard_id, sha256).await {
        Ok(restored) => Ok(Some(restored)),
        Err(error) if error.is_retryable() => Err(error),
        Err(error) => {
            tracing::error!(%error, ?shard_id, "restoring a shard failed; it is filled from PostgreSQL");
            Ok(None)
        }
    }
}

/// Restores a published version. Valid files of earlier working copies are reused.
async fn restore(
    settings: &WriterSettings,
    local: Local<'_>,
    shard_id: ShardId,
    sha256: &str,
) -> Result<(WorkingCopy, Manifest), IndexError> {
    let manifest = Manifest::download(&settings.objects, shard_id, sha256).await?;
    let (root, work, files) = (local.root.to_owned(), local.work.to_owned(), manifest.clone());
    let missing =
        tokio::task::spawn_blocking(move || WorkingCopy::link_existing_files(&root, &work, &files))
            .await??;
    for file in missing {
        let to = local.work.join(&file.name);
        settings.objects.download(&file.key, &to, &file.sha256, file.bytes).await?;
    }
    let (root, work, files) = (local.root.to_owned(), local.work.to_owned(), manifest.clone());
    let (memory_bytes, written) = (settings.memory_bytes, local.written.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let working_copy = WorkingCopy::open(&work, &files, memory_bytes, written)?;
        WorkingCopy::remove_others(&root, &work);
        Ok::<_, IndexError>(working_copy)
    });
    Ok((opened.await??, manifest))
}

/// Creates an empty working copy.
async fn create(settings: &WriterSettings, local: Local<'_>) -> Result<WorkingCopy, IndexError> {
    let (root, work) = (local.root.to_owned(), local.work.to_owned());
    let (memory_bytes, written) = (settings.memory_bytes, local.written.clone());
    let created = tokio::task::spawn_blocking(move || {
        let working_copy = WorkingCopy::create(&work, memory_bytes, written)?;
        WorkingCopy::remove_others(&root, &work);
        Ok::<_, IndexError>(working_copy)
    });
    created.await?
}
