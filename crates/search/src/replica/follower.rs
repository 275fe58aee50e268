//! The task behind a replica.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use primitives::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::ReplicaSettings;
use super::kept::{Kept, KeptShard};
use super::shelf::Shelf;
use crate::IndexError;
use crate::columns::OpenIndex;
use crate::generation::State;
use crate::manifest::{Manifest, Place};
use crate::schema::FORMAT;
use crate::slot::Slot;
use crate::table::{self, ShardRow};
use crate::view::{ShardView, View};

/// The pause before something that failed is tried again.
const PAUSE: Duration = Duration::from_millis(300);
/// How often there is a look whether the files are still there.
const FILES_EVERY: Duration = Duration::from_secs(2);
/// How often files that nothing needs are removed.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// How often the state is kept if only its age changed.
const KEEP_EVERY: Duration = Duration::from_secs(5);

/// Follows what is published, for ever.
pub(super) async fn follow(
    database: Database,
    settings: ReplicaSettings,
    view: watch::Sender<Option<Arc<View>>>,
    damage: Arc<AtomicU64>,
) {
    let (slot, shelf) = loop {
        let opened = Slot::take(&settings.directory, "replica")
            .map_err(IndexError::from)
            .and_then(|slot| Ok((Shelf::open(&slot.path, settings.objects.clone())?, slot)));
        match opened {
            Ok((shelf, slot)) => break (slot, Arc::new(shelf)),
            Err(error) => tracing::error!(%error, "the search index has no place on this machine"),
        }
        tokio::time::sleep(PAUSE).await;
    };
    let directory = slot.path.clone();
    let mut follower = Follower {
        database,
        settings,
        directory,
        shelf,
        view,
        damage,
        open: HashMap::new(),
        pulls: JoinSet::new(),
        pulling: HashSet::new(),
        failed: HashMap::new(),
        checks: JoinSet::new(),
        kept: None,
        is_away: false,
        looked: Watches::new(),
    };
    follower.remember().await;
    let mut poll = tokio::time::interval(follower.settings.poll);
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some(pulled) = follower.pulls.join_next() => {
                if let Ok(pulled) = pulled {
                    follower.receive(pulled).await;
                }
            }
            Some(spoilt) = follower.checks.join_next() => {
                if let Ok(Ok(spoilt)) = spoilt {
                    follower.discard(&spoilt);
                }
            }
            _ = poll.tick() => follower.turn().await,
        }
    }
}

/// A shard that is open.
struct OpenShard {
    sha256: String,
    manifest: Manifest,
    index: OpenIndex,
    range: (u16, u16),
    caught_up: CaughtUp,
    /// Files of it are gone or changed: it is brought here again.
    is_spoilt: bool,
}

/// A moment of the database, and when that was on this machine's own watch.
#[derive(Debug, Clone, Copy)]
struct CaughtUp {
    at: Timestamp,
    instant: Instant,
}

/// What a pull came to.
struct Pulled {
    place: Place,
    sha256: String,
    range: (u16, u16),
    caught_up: CaughtUp,
    since: Instant,
    result: Result<(Manifest, OpenIndex), IndexError>,
}

/// When things were last done.
struct Watches {
    files: Instant,
    scrub: Instant,
    sweep: Instant,
    keep: Instant,
}

impl Watches {
    fn new() -> Self {
        let now = Instant::now();
        Self { files: now, scrub: now, sweep: now, keep: now }
    }
}

struct Follower {
    database: Database,
    settings: ReplicaSettings,
    directory: PathBuf,
    shelf: Arc<Shelf>,
    view: watch::Sender<Option<Arc<View>>>,
    damage: Arc<AtomicU64>,
    open: HashMap<Place, OpenShard>,
    /// One at a time for each shard; a large one holds no other up.
    pulls: JoinSet<Pulled>,
    pulling: HashSet<Place>,
    failed: HashMap<Place, Instant>,
    checks: JoinSet<Result<HashSet<String>, IndexError>>,
    kept: Option<Kept>,
    is_away: bool,
    looked: Watches,
}

impl Follower {
    /// Opens what was there when the last process stopped, as far as every byte of it is right.
    async fn remember(&mut self) {
        let Some(kept) = Kept::load(&self.directory) else { return };
        let mut is_whole = true;
        for shard in &kept.shards {
            let (files, wanted) = (Arc::clone(&self.shelf), shard.clone());
            let opened = tokio::task::spawn_blocking(move || {
                let manifest = files.manifest(wanted.place, &wanted.manifest)?;
                files.check(&manifest)?;
                let index = files.open_index(&manifest)?;
                Ok::<_, IndexError>((manifest, index))
            });
            match opened.await.map_err(IndexError::from).and_then(|opened| opened) {
                Ok((manifest, index)) => {
                    let open = self.opened_again(shard, manifest, index);
                    self.open.insert(shard.place, open);
                }
                Err(error) => {
                    is_whole = false;
                    self.note_damage(shard.place, &error);
                }
            }
        }
        if is_whole {
            let places: Vec<Place> = kept.shards.iter().map(|shard| shard.place).collect();
            self.show(&places);
        }
    }

    fn opened_again(&self, kept: &KeptShard, manifest: Manifest, index: OpenIndex) -> OpenShard {
        let age = self.database.local_now().since(kept.caught_up_at);
        OpenShard {
            sha256: kept.manifest.clone(),
            manifest,
            index,
            range: (kept.virtual_from, kept.virtual_to),
            caught_up: CaughtUp { at: kept.caught_up_at, instant: ago(Instant::now(), age) },
            is_spoilt: false,
        }
    }

    /// One look at everything.
    async fn turn(&mut self) {
        match self.look().await {
            Ok(()) => self.is_away = false,
            Err(error) => {
                // Said once, not ten times a second.
                if !self.is_away {
                    tracing::warn!(%error, "what is published of the search index is not known");
                }
                self.is_away = true;
            }
        }
        self.watch_files();
        if let Err(error) = self.sweep() {
            tracing::warn!(%error, "old files of the search index stay");
        }
        self.measure();
    }

    /// Looks what is published, and starts to bring here what is new.
    async fn look(&mut self) -> Result<(), IndexError> {
        let asked = Instant::now();
        let mut snapshot = Reading::for_platform(&self.database).open().await?;
        let now = snapshot.now().await?;
        let rows = table::shards(&mut snapshot, FORMAT).await?;
        snapshot.close().await?;
        for row in &rows {
            let (Some(manifest), Some(at)) = (&row.manifest, row.caught_up_at) else { continue };
            let caught_up = CaughtUp { at, instant: ago(asked, now.since(at)) };
            match self.open.get_mut(&row.place()) {
                Some(open) if open.sha256 == *manifest && !open.is_spoilt => {
                    if open.caught_up.at != at {
                        open.caught_up = caught_up;
                    }
                }
                _ => self.pull(row, manifest, caught_up),
            }
        }
        let serving = rows.iter().filter(|row| row.state() == State::Serving);
        let serving: Vec<Place> = serving.map(ShardRow::place).collect();
        self.show(&serving);
        let shown = self.view.borrow().as_ref().map(|view| view.generation);
        self.open.retain(|place, _| {
            Some(place.generation) == shown || rows.iter().any(|row| row.place() == *place)
        });
        Ok(())
    }

    fn pull(&mut self, row: &ShardRow, manifest: &str, caught_up: CaughtUp) {
        let place = row.place();
        let is_too_soon = self.failed.get(&place).is_some_and(|failed| failed.elapsed() < PAUSE);
        if is_too_soon || !self.pulling.insert(place) {
            return;
        }
        let number = |number: i16| u16::try_from(number).unwrap_or(0);
        let range = (number(row.virtual_from), number(row.virtual_to));
        let (files, sha256, since) = (Arc::clone(&self.shelf), manifest.to_owned(), Instant::now());
        self.pulls.spawn(async move {
            let result = bring(&files, place, &sha256).await;
            Pulled { place, sha256, range, caught_up, since, result }
        });
    }

    /// Takes what a pull brought.
    async fn receive(&mut self, pulled: Pulled) {
        let place = pulled.place;
        self.pulling.remove(&place);
        match pulled.result {
            Ok((manifest, index)) => {
                metrics::histogram!("souk_search_pull_seconds")
                    .record(pulled.since.elapsed().as_secs_f64());
                self.failed.remove(&place);
                let open = OpenShard {
                    sha256: pulled.sha256,
                    manifest,
                    index,
                    range: pulled.range,
                    caught_up: pulled.caught_up,
                    is_spoilt: false,
                };
                self.open.insert(place, open);
                let shown: Vec<Place> = self.shown_places();
                self.show(&shown);
            }
            Err(error) => {
                self.failed.insert(place, Instant::now());
                self.note_damage(place, &error);
                if error.is_damage() || matches!(error, IndexError::Index(_)) {
                    self.report(place, &pulled.sha256).await;
                }
            }
        }
    }

    fn note_damage(&self, place: Place, error: &IndexError) {
        tracing::warn!(%error, ?place, "a part of the search index cannot be opened");
        if !error.is_passing() {
            self.damage.fetch_add(1, Ordering::Relaxed);
            metrics::counter!("souk_search_damage_total").increment(1);
        }
    }

    /// Tells the writer.
    async fn report(&self, place: Place, manifest: &str) {
        let reported = async {
            let mut work = Work::for_platform(&self.database).await?;
            table::report_damage(&mut work, place, manifest).await?;
            work.commit().await?;
            Ok::<(), IndexError>(())
        };
        if let Err(error) = reported.await {
            tracing::warn!(%error, ?place, "the writer does not know yet");
        }
    }

    /// The shards of what is shown, so that one of them can be replaced at once.
    fn shown_places(&self) -> Vec<Place> {
        let view = self.view.borrow();
        let Some(view) = view.as_ref() else { return Vec::new() };
        let generation = view.generation;
        view.shards.iter().map(|shard| Place { generation, shard: shard.shard }).collect()
    }

    /// Shows these shards, if all of them are open.
    fn show(&mut self, places: &[Place]) {
        let open: Option<Vec<(Place, &OpenShard)>> =
            places.iter().map(|place| Some((*place, self.open.get(place)?))).collect();
        let Some((open, generation)) = open.zip(places.first().map(|place| place.generation))
        else {
            return;
        };
        let shard_view = |(place, open): &(Place, &OpenShard)| ShardView {
            shard: place.shard,
            index: open.index.clone(),
            version: open.manifest.version,
            caught_up: open.caught_up.instant,
            virtual_from: open.range.0,
            virtual_to: open.range.1,
        };
        let shards: Vec<ShardView> = open.iter().map(shard_view).collect();
        let kept_shard = |(place, open): &(Place, &OpenShard)| KeptShard {
            place: *place,
            virtual_from: open.range.0,
            virtual_to: open.range.1,
            manifest: open.sha256.clone(),
            caught_up_at: open.caught_up.at,
        };
        let kept = Kept::new(open.iter().map(kept_shard).collect());
        let view = View { generation, shards };
        self.view.send_if_modified(|shown| {
            let is_new = !shown.as_ref().is_some_and(|shown| shown.is_same_as(&view));
            if is_new {
                *shown = Some(Arc::new(view));
            }
            is_new
        });
        self.keep(kept);
    }

    /// Keeps the state for the next process, when it is another or some time has passed.
    fn keep(&mut self, kept: Kept) {
        let is_same = self.kept.as_ref().is_some_and(|known| known.is_same_as(&kept));
        if is_same && self.looked.keep.elapsed() < KEEP_EVERY {
            return;
        }
        self.looked.keep = Instant::now();
        match kept.save(&self.directory) {
            Ok(()) => self.kept = Some(kept),
            Err(error) => tracing::warn!(%error, "the state of the search index is not kept"),
        }
    }

    /// Looks now and then whether the files are there, and seldom whether they are what they were.
    fn watch_files(&mut self) {
        let in_full = self.looked.scrub.elapsed() >= self.settings.scrub_every;
        let is_due = in_full || self.looked.files.elapsed() >= FILES_EVERY;
        if !is_due || !self.checks.is_empty() {
            return;
        }
        self.looked.files = Instant::now();
        if in_full {
            self.looked.scrub = Instant::now();
        }
        let files = Arc::clone(&self.shelf);
        self.checks.spawn_blocking(move || files.spoilt(in_full));
    }

    /// Files turned out to be gone or changed: what they belong to is brought here again.
    fn discard(&mut self, spoilt: &HashSet<String>) {
        for (place, open) in &mut self.open {
            let files = &open.manifest.files;
            if files.iter().any(|file| spoilt.contains(&file.sha256)) {
                tracing::warn!(
                    ?place,
                    "files of the search index on this machine are brought again"
                );
                open.is_spoilt = true;
                self.damage.fetch_add(1, Ordering::Relaxed);
                metrics::counter!("souk_search_damage_total").increment(1);
            }
        }
    }

    /// Removes files that nothing open needs, while nothing is being brought.
    fn sweep(&mut self) -> Result<(), IndexError> {
        // Before the database was heard, nobody knows what is needed.
        let is_quiet = self.pulls.is_empty() && self.checks.is_empty() && !self.is_away;
        if !is_quiet || self.looked.sweep.elapsed() < SWEEP_EVERY {
            return Ok(());
        }
        self.looked.sweep = Instant::now();
        let needed = |open: &OpenShard| (open.sha256.clone(), open.manifest.clone());
        let needed: Vec<_> = self.open.values().map(needed).collect();
        self.shelf.sweep(&needed)
    }

    fn measure(&self) {
        let Some(view) = self.view.borrow().clone() else { return };
        for shard in &view.shards {
            let age = shard.caught_up.elapsed().as_secs_f64();
            let label = shard.shard.to_string();
            metrics::gauge!("souk_search_index_age_seconds", "shard" => label).set(age);
        }
    }
}

/// Brings a published state here, and opens it.
async fn bring(
    shelf: &Arc<Shelf>,
    place: Place,
    sha256: &str,
) -> Result<(Manifest, OpenIndex), IndexError> {
    let manifest = shelf.pull(place, sha256).await?;
    let shelf = Arc::clone(shelf);
    let opened = tokio::task::spawn_blocking(move || {
        let index = shelf.open_index(&manifest)?;
        Ok((manifest, index))
    });
    opened.await?
}

/// An instant some time ago.
fn ago(instant: Instant, age: Duration) -> Instant {
    instant.checked_sub(age).unwrap_or(instant)
}
