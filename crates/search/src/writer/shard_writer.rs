//! One shard: takes its lease, brings its index here or fills it anew, and follows the outbox.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use database::{Database, Reading, shard_of};
use jobs::{Cursor, Event};
use merchants::Store;
use primitives::{Id, MerchantId, ProductId, Timestamp};
use tokio::sync::watch;

use super::collect::{self, Leftovers};
use super::local::{Change, Local};
use super::{PAUSE, WriterSettings, told};
use crate::IndexError;
use crate::lease::Lease;
use crate::manifest::{Manifest, ManifestFile, Place};
use crate::table::Held;

/// What an index needs to hear of.
const TOPICS: [&str; 3] = ["product.changed", "product.retired", "store.changed"];
const STORE_CHANGED: &str = "store.changed";
/// Events read in one go.
const EVENTS: usize = 1_000;
/// Products loaded in one go.
pub(super) const PRODUCTS: usize = 500;
/// The pause between two looks into an outbox that had little to tell.
const POLL: Duration = Duration::from_millis(40);
/// How often the database is asked for the moment, to say how far an idle shard has come.
const MOMENT_EVERY: Duration = Duration::from_millis(250);
/// How often there is a look whether segments were merged.
const MERGES_EVERY: Duration = Duration::from_millis(500);
/// How often there is a look whether what is published is still there.
const OBJECTS_EVERY: Duration = Duration::from_secs(3);
/// How often an idle shard moves its cursor, so that the outbox need not keep what it has read.
const CURSOR_EVERY: Duration = Duration::from_mins(1);

/// Takes the lease, if nobody has it, and writes the shard until the lease is lost, something breaks
/// or the process stops. Whoever started this starts it again.
pub(super) async fn run(
    database: Database,
    settings: WriterSettings,
    directory: PathBuf,
    place: Place,
    mut stopped: watch::Receiver<bool>,
) {
    let (lease, held) = match Lease::take(&database, place, settings.lease).await {
        Ok(Some(taken)) => taken,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%error, ?place, "a shard cannot be taken");
            return;
        }
    };
    let ended = tokio::select! {
        ended = hold(&database, &settings, &directory, &lease, held) => ended,
        () = lease.keep() => IndexError::LeaseLost,
        () = told(&mut stopped) => {
            lease.release().await;
            return;
        }
    };
    tracing::warn!(error = %ended, ?place, "a shard is given up");
    if !matches!(ended, IndexError::LeaseLost) {
        lease.release().await;
    }
}

/// Writes the shard as long as nothing breaks.
async fn hold(
    database: &Database,
    settings: &WriterSettings,
    directory: &Path,
    lease: &Lease,
    held: Held,
) -> IndexError {
    let mut shard = match Shard::open(database, settings, directory, lease, held).await {
        Ok(shard) => shard,
        Err(error) => return error,
    };
    loop {
        match shard.step().await {
            Ok(()) => {}
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, place = ?lease.place, "a step is tried again");
                tokio::time::sleep(PAUSE).await;
            }
            Err(error) => return error,
        }
    }
}

/// A shard in the hands of its writer.
pub(super) struct Shard<'lease> {
    pub(super) database: Database,
    pub(super) reading: Reading,
    pub(super) settings: &'lease WriterSettings,
    pub(super) lease: &'lease Lease,
    /// The working copy of this holding of the lease.
    pub(super) directory: PathBuf,
    /// None only while it is being dropped.
    local: Option<Arc<Mutex<Local>>>,
    /// The virtual shards of merchants that are in it.
    range: RangeInclusive<u16>,
    stores: HashMap<MerchantId, Arc<Store>>,
    /// Everything up to here is in the working copy, though perhaps not committed.
    pub(super) cursor: Cursor,
    /// Where the outbox believes this reader to be.
    pub(super) named: Cursor,
    pub(super) version: i64,
    /// What is published, under its name.
    pub(super) published: Option<(String, Manifest)>,
    /// The files that are in the object store, by their names here.
    pub(super) known: HashMap<String, ManifestFile>,
    /// There is something committed that is not published.
    pub(super) is_unpublished: bool,
    /// There are changes that are not committed.
    pub(super) is_changed: bool,
    /// When something was last published.
    pub(super) published_at: Instant,
    /// Everything that was committed before this moment is in the working copy.
    read_until: Option<Timestamp>,
    leftovers: Leftovers,
    watches: Watches,
}

/// When things were last looked at.
struct Watches {
    moment: Instant,
    merges: Instant,
    objects: Instant,
    leftovers: Instant,
    cursor: Instant,
}

/// Whether a span has passed; if so, it begins again.
fn is_due(last: &mut Instant, every: Duration) -> bool {
    let is_due = last.elapsed() >= every;
    if is_due {
        *last = Instant::now();
    }
    is_due
}

impl<'lease> Shard<'lease> {
    /// Goes on from what is published; fills the shard anew if there is nothing, or if it cannot be
    /// had any more.
    async fn open(
        database: &Database,
        settings: &'lease WriterSettings,
        directory: &Path,
        lease: &'lease Lease,
        held: Held,
    ) -> Result<Self, IndexError> {
        let reading = Reading::for_platform(database);
        let named = jobs::cursor(&reading, &lease.place.cursor_name()).await?;
        let work = directory.join(lease.token.to_string());
        let restored = match &held.manifest {
            Some(sha256) => match restore(settings, directory, &work, lease.place, sha256).await {
                Err(error) if error.is_passing() => return Err(error),
                Err(error) => {
                    tracing::error!(%error, place = ?lease.place, "a shard is filled anew");
                    None
                }
                Ok(restored) => Some((sha256.clone(), restored)),
            },
            None => None,
        };
        let (local, published) = match restored {
            Some((sha256, (local, manifest))) => (local, Some((sha256, manifest))),
            None => (create(settings, directory, &work).await?, None),
        };
        // A cursor nobody knows of any more: the manifest has it too.
        let resumed = published.as_ref().filter(|_| named == Cursor::default());
        let cursor = resumed.map_or_else(|| named.clone(), |(_, manifest)| manifest.cursor.clone());
        let known = published.iter().flat_map(|(_, manifest)| manifest.files.iter());
        let known = known.map(|file| (file.name.clone(), file.clone())).collect();
        let now = Instant::now();
        let mut shard = Self {
            database: database.clone(),
            reading,
            settings,
            lease,
            directory: work,
            local: Some(Arc::new(Mutex::new(local))),
            range: range(&held),
            stores: HashMap::new(),
            cursor,
            named,
            version: held.version,
            published,
            known,
            is_unpublished: false,
            is_changed: false,
            published_at: now,
            read_until: None,
            leftovers: Leftovers::default(),
            watches: Watches {
                moment: now,
                merges: now,
                objects: now,
                leftovers: now,
                cursor: now,
            },
        };
        if shard.published.is_none() {
            shard.fill().await?;
        }
        Ok(shard)
    }

    /// Runs a step of the index where it holds nobody up.
    pub(super) async fn blocking<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut Local) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, IndexError> {
        let Some(local) = self.local.clone() else { return Err(IndexError::LeaseLost) };
        let done = tokio::task::spawn_blocking(move || {
            step(&mut local.lock().unwrap_or_else(PoisonError::into_inner))
        });
        done.await?
    }

    /// Whether a merchant's products belong here.
    pub(super) fn owns(&self, merchant: MerchantId) -> bool {
        self.range.contains(&shard_of(merchant))
    }

    /// Reads on, publishes what is due, and looks after the rest.
    async fn step(&mut self) -> Result<(), IndexError> {
        let mut moment = None;
        if is_due(&mut self.watches.moment, MOMENT_EVERY) {
            let mut snapshot = self.reading.open().await?;
            moment = Some(snapshot.now().await?);
            snapshot.close().await?;
        }
        let limit = i64::try_from(EVENTS).unwrap_or(i64::MAX);
        let batch = jobs::follow_topics(&self.reading, &self.cursor, &TOPICS, limit).await?;
        let is_all = batch.events.len() < EVENTS;
        self.take_in(&batch.events).await?;
        self.cursor = batch.next;
        if is_all {
            // The window is read to its end, and it saw the end of a work that began at this moment:
            // so it saw everything that was committed before.
            let newest = batch.events.iter().map(|event| event.at).max();
            self.read_until = newest.or(moment).max(self.read_until);
        }
        self.publish_if_due().await?;
        self.look_after().await?;
        if is_all {
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Brings the products that events tell of up to date, as they are by now.
    async fn take_in(&mut self, events: &[Event]) -> Result<(), IndexError> {
        let ours = || events.iter().filter(|event| self.owns(event.merchant));
        let (of_stores, of_products): (Vec<&Event>, Vec<&Event>) =
            ours().partition(|event| event.topic == STORE_CHANGED);
        let changed: HashSet<MerchantId> = of_stores.iter().map(|event| event.merchant).collect();
        let key = |event: &&Event| (event.merchant, ProductId::from_uuid(event.subject));
        let keys: HashSet<(MerchantId, ProductId)> = of_products.iter().map(key).collect();
        let mut asked = changed.clone();
        let strange = |merchant: &MerchantId| !self.stores.contains_key(merchant);
        asked.extend(keys.iter().map(|(merchant, _)| *merchant).filter(strange));
        self.learn(asked).await?;
        for merchant in changed {
            self.translate(merchant).await?;
        }
        let keys: Vec<(MerchantId, ProductId)> = keys.into_iter().collect();
        for keys in keys.chunks(PRODUCTS) {
            let listed = catalog::products_of(&self.reading, keys).await?;
            let mut listed: HashMap<ProductId, _> =
                listed.into_iter().map(|(_, product)| (product.id, product)).collect();
            let change = |(merchant, id): &(MerchantId, ProductId)| Change {
                merchant: *merchant,
                id: *id,
                product: listed.remove(id).map(Box::new),
            };
            self.apply(keys.iter().map(change).collect()).await?;
        }
        Ok(())
    }

    /// Reads stores again.
    async fn learn(&mut self, merchants: HashSet<MerchantId>) -> Result<(), IndexError> {
        let merchants: Vec<MerchantId> = merchants.into_iter().collect();
        for merchants in merchants.chunks(PRODUCTS) {
            let stores = merchants::roster_of(&self.reading, merchants).await?;
            self.remember(stores);
        }
        Ok(())
    }

    pub(super) fn remember(&mut self, stores: Vec<Store>) {
        self.stores.extend(stores.into_iter().map(|store| (store.merchant, Arc::new(store))));
    }

    /// Makes the documents of a store anew, if it writes in other languages than they were made for.
    async fn translate(&mut self, merchant: MerchantId) -> Result<(), IndexError> {
        let Some(store) = self.stores.get(&merchant).cloned() else { return Ok(()) };
        let asked = Arc::clone(&store);
        if !self.blocking(move |local| Ok(local.languages.differ(&asked))).await? {
            return Ok(());
        }
        self.put_all(&[merchant]).await?;
        self.blocking(move |local| {
            local.languages.note(&store);
            Ok(())
        })
        .await
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
        self.blocking(move |local| local.apply(&stores, changes)).await
    }

    /// Publishes changes, unless the last publication is too short ago.
    async fn publish_if_due(&mut self) -> Result<(), IndexError> {
        let is_due = self.published_at.elapsed() >= self.settings.commit_every;
        if self.is_changed && is_due || self.is_unpublished {
            self.publish(false).await?;
        }
        if !self.is_changed
            && let Some(moment) = self.read_until
        {
            self.lease.note_caught_up(moment);
        }
        Ok(())
    }

    /// What is done now and then.
    async fn look_after(&mut self) -> Result<(), IndexError> {
        if is_due(&mut self.watches.merges, MERGES_EVERY) && self.is_merged().await? {
            self.publish(false).await?;
        }
        let is_lost = is_due(&mut self.watches.objects, OBJECTS_EVERY) && self.is_lost().await?;
        if is_lost || self.lease.is_damaged() {
            self.mend().await?;
        }
        if is_due(&mut self.watches.leftovers, collect::pause(self.settings))
            && let Some((sha256, manifest)) = &self.published
        {
            let (objects, kept) = (&self.settings.objects, self.settings.collect_after);
            let current = (sha256.as_str(), manifest);
            self.leftovers.collect(objects, self.lease.place, current, kept).await?;
        }
        if is_due(&mut self.watches.cursor, CURSOR_EVERY) && !self.is_changed {
            self.step_cursor().await?;
        }
        Ok(())
    }
}

impl Drop for Shard<'_> {
    /// The index waits for its threads when it ends, which is no work for this one.
    fn drop(&mut self) {
        let local = self.local.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(local));
        }
    }
}

fn range(held: &Held) -> RangeInclusive<u16> {
    let number = |number: i16| u16::try_from(number).unwrap_or(0);
    number(held.virtual_from)..=number(held.virtual_to)
}

/// Brings a published state here. What an earlier working copy has is used, if it is right.
async fn restore(
    settings: &WriterSettings,
    directory: &Path,
    work: &Path,
    place: Place,
    sha256: &str,
) -> Result<(Local, Manifest), IndexError> {
    let manifest = Manifest::fetch(&settings.objects, place, sha256).await?;
    let (from, to, wanted) = (directory.to_owned(), work.to_owned(), manifest.clone());
    let missing = tokio::task::spawn_blocking(move || Local::adopt(&from, &to, &wanted)).await??;
    for file in missing {
        let to = work.join(&file.name);
        settings.objects.fetch(&file.key, &to, &file.sha256, file.bytes).await?;
    }
    let (root, to, wanted) = (directory.to_owned(), work.to_owned(), manifest.clone());
    let memory_bytes = settings.memory_bytes;
    let opened = tokio::task::spawn_blocking(move || {
        let local = Local::open(&to, &wanted, memory_bytes)?;
        Local::leave_only(&root, &to);
        Ok::<_, IndexError>(local)
    });
    Ok((opened.await??, manifest))
}

async fn create(
    settings: &WriterSettings,
    directory: &Path,
    work: &Path,
) -> Result<Local, IndexError> {
    let (root, to) = (directory.to_owned(), work.to_owned());
    let memory_bytes = settings.memory_bytes;
    let created = tokio::task::spawn_blocking(move || {
        let local = Local::create(&to, memory_bytes)?;
        Local::leave_only(&root, &to);
        Ok::<_, IndexError>(local)
    });
    created.await?
}
