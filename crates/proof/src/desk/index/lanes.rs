//! One store replaces all its products at full speed while a hundred others change prices. All are in one shard. The time
//! until a changed price is found is measured over HTTP, until the large store is indexed too.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use catalog::ProductDraft;
use database::Database;
use search::Replica;
use serde_json::json;
use testkit::TestDatabase;
use tokio::task::JoinHandle;

use super::{LARGE, create_stores, merchant, product, put};
use crate::http::Client;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::search::{Deployment, post_search};

/// Stores that change prices.
const OTHERS: u128 = 100;
/// Interval between two of their changes.
const CHANGE_INTERVAL: Duration = Duration::from_millis(20);
/// Products per transaction of the replacement, as in an import.
const BATCH: usize = 500;
/// A word that only the changed products contain.
const WORD: &str = "zorb";
/// Maximum time until a changed price is found, of 95 in 100 changes: of all, and of every ten seconds.
const VISIBLE_P95_MAX: Duration = Duration::from_secs(2);
/// The same in the short form, as a part of the time by which the large store is behind, where that is longer: the short form runs on
/// machines of any speed.
const VISIBLE_P95_PART: u32 = 4;
/// How long searches go on after the last change.
const OBSERVED_AFTER: Duration = Duration::from_secs(8);
/// Changes are grouped by this time, to find the worst of them.
const SLICE: Duration = Duration::from_secs(10);
/// Maximum age of a healthy index.
const AGE_MAX_SECONDS: f64 = 10.0;
/// How long the large store may take to be indexed after its replacement.
const TIMEOUT: Duration = Duration::from_mins(20);

/// A changed price: which store, the price in cents, and when it was committed.
type Changed = (u128, i64, Instant);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let size: usize = trial.by_tier(6_000, 500_000);
    let test = TestDatabase::new().await;
    let deployment = Deployment::new(&test.url(), "lanes").await?;
    let database = deployment.database.clone();
    create_stores(&database, OTHERS + 1).await;
    trial.progress(|| format!("{} products are written", grouped(size)));
    replace(&database, size, 1).await?;
    for store in 1..=OTHERS {
        put(&database, store, &[marker(100)]).await?;
    }
    trial.progress(|| String::from("the first index is built"));
    let _writer = deployment.writer_of_one_shard()?;
    let reader = deployment.ready_reader("reader").await?;
    let replica = Arc::new(deployment.replica("compare")?);
    wait_until_caught_up(&replica).await?;

    trial.progress(|| format!("{} products are replaced", grouped(size)));
    let done = Arc::new(AtomicBool::new(false));
    let changes = tokio::spawn(change_prices(database.clone(), Arc::clone(&done)));
    let seen = tokio::spawn(observe(reader.port, Arc::clone(&done)));
    let ages = tokio::spawn(follow_age(Arc::clone(&replica), Arc::clone(&done)));
    let started = Instant::now();
    replace(&database, size, 2).await?;
    let replaced = started.elapsed();
    wait_until_caught_up(&replica).await?;
    let indexed = started.elapsed();
    done.store(true, Ordering::Relaxed);
    let observed = finish(changes, seen).await?;
    let bulk_age = ages.await?;

    let comparison = search::compare(&deployment.database, &replica).await?;
    ensure(comparison.is_equal(), || format!("the index differs: {comparison:?}"))?;
    let figures = observed.figures()?;
    let summary = format!(
        "{} products replaced in {:.0} s and indexed after {:.0} s; {}; the large store up to {:.0} s behind",
        grouped(size),
        replaced.as_secs_f64(),
        indexed.as_secs_f64(),
        figures.summary,
        bulk_age.as_secs_f64()
    );
    ensure(!bulk_age.is_zero(), || format!("the replacement never waited in bulk: {summary}"))?;
    let most = trial.by_tier(VISIBLE_P95_MAX.max(bulk_age / VISIBLE_P95_PART), VISIBLE_P95_MAX);
    ensure(figures.p95 <= most && observed.age_max_seconds <= AGE_MAX_SECONDS, || {
        format!("too slow, at most {:.2} s: {summary}", most.as_secs_f64())
    })?;
    Ok(summary)
}

/// Returns how far the large store was behind at most while its changes waited in bulk.
async fn follow_age(replica: Arc<Replica>, done: Arc<AtomicBool>) -> Duration {
    let mut most = Duration::ZERO;
    while !done.load(Ordering::Relaxed) {
        let shards = replica.status().map(|status| status.shards).unwrap_or_default();
        let ages = shards.iter().filter(|shard| shard.bulk_stores > 0).map(|shard| shard.age);
        most = ages.max().unwrap_or_default().max(most);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    most
}

/// Writes all products of the large store, in an edition.
async fn replace(database: &Database, size: usize, edition: i64) -> Result<(), Failure> {
    for first in (0..size).step_by(BATCH) {
        let drafts: Vec<ProductDraft> = (first..(first + BATCH).min(size))
            .map(|number| {
                let name = format!("Vase number {number} in edition {edition}");
                product(&format!("vase-{number}"), &name, 1_000 + edition)
            })
            .collect();
        put(database, LARGE, &drafts).await?;
    }
    Ok(())
}

/// The product of another store whose price changes.
fn marker(cents: i64) -> ProductDraft {
    product("marker", &format!("The {WORD} of the fleet"), cents)
}

/// Raises the price of one store after another, until stopped.
async fn change_prices(database: Database, done: Arc<AtomicBool>) -> Result<Vec<Changed>, Failure> {
    let mut interval = tokio::time::interval(CHANGE_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut changes = Vec::new();
    for round in 101.. {
        for store in 1..=OTHERS {
            if done.load(Ordering::Relaxed) {
                return Ok(changes);
            }
            interval.tick().await;
            put(&database, store, &[marker(round)]).await?;
            changes.push((store, round, Instant::now()));
        }
    }
    Ok(changes)
}

/// What searches showed: for each store and price, when it was first found.
struct Seen {
    at: HashMap<(String, i64), Instant>,
    age_max_seconds: f64,
}

/// Searches for the changed products until stopped, and for some time after that.
async fn observe(port: u16, done: Arc<AtomicBool>) -> Result<Seen, Failure> {
    let mut client = Client::new(port);
    let mut seen = Seen { at: HashMap::new(), age_max_seconds: 0.0 };
    let mut stopped: Option<Instant> = None;
    while stopped.is_none_or(|stopped| stopped.elapsed() < OBSERVED_AFTER) {
        if done.load(Ordering::Relaxed) && stopped.is_none() {
            stopped = Some(Instant::now());
        }
        let found = post_search(&mut client, &json!({ "query": WORD, "limit": 100 })).await?;
        let now = Instant::now();
        for record in found["data"].as_array().into_iter().flatten() {
            let slug = record["merchant"]["slug"].as_str().unwrap_or_default();
            #[expect(clippy::cast_possible_truncation, reason = "prices are small")]
            let cents = (record["price"].as_f64().unwrap_or(0.0) * 100.0).round() as i64;
            seen.at.entry((slug.to_owned(), cents)).or_insert(now);
        }
        let age = found["meta"]["index_age_seconds"].as_f64().unwrap_or(f64::MAX);
        seen.age_max_seconds = seen.age_max_seconds.max(age);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(seen)
}

/// The times until changes were found, in the order of the changes.
struct Observed {
    /// When each change was made, and how long it took.
    taken: Vec<(Instant, Duration)>,
    age_max_seconds: f64,
}

async fn finish(
    changes: JoinHandle<Result<Vec<Changed>, Failure>>,
    seen: JoinHandle<Result<Seen, Failure>>,
) -> Result<Observed, Failure> {
    let (changes, seen) = (changes.await??, seen.await??);
    let mut taken = Vec::with_capacity(changes.len());
    for (store, cents, at) in changes {
        // A later price of the store shows that the change was applied, if the change itself was never seen.
        let later = (cents..cents + 20).find_map(|cents| seen.at.get(&(super::slug(store), cents)));
        let visible =
            later.ok_or_else(|| format!("a change of {} was not found", merchant(store)))?;
        taken.push((at, visible.saturating_duration_since(at)));
    }
    Ok(Observed { taken, age_max_seconds: seen.age_max_seconds })
}

struct Figures {
    summary: String,
    /// Time until a changed price was found, of 95 in 100: of all or of the worst slice, whichever is longer.
    p95: Duration,
}

impl Observed {
    fn figures(&self) -> Result<Figures, Failure> {
        let first = self.taken.first().map(|(at, _)| *at).ok_or("no price changed")?;
        let all: Vec<Duration> = self.taken.iter().map(|(_, taken)| *taken).collect();
        let mut slices: HashMap<u128, Vec<Duration>> = HashMap::new();
        for (at, taken) in &self.taken {
            let slice = (*at - first).as_millis() / SLICE.as_millis();
            slices.entry(slice).or_default().push(*taken);
        }
        // The last slice may have few changes, too few for a percentile.
        let last = slices.keys().max().copied().unwrap_or_default();
        slices.retain(|slice, changes| *slice < last || changes.len() >= 20);
        let slices: Vec<Vec<Duration>> = slices.into_values().collect();
        ensure(slices.iter().all(|slice| slice.len() >= 20), || {
            format!("prices hardly changed for {} s", SLICE.as_secs())
        })?;
        let slices = slices.into_iter();
        let worst = slices.map(|slice| percentile(slice, 95)).max().unwrap_or_default();
        let (median, p95) = (percentile(all.clone(), 50), percentile(all.clone(), 95));
        let slowest = all.iter().max().copied().unwrap_or_default();
        let summary = format!(
            "{} changed prices of {OTHERS} other stores found \
             after {:.2} s (median), {:.2} s (p95), {:.2} s (p95 of the worst {} s), {:.2} s (slowest); index age at most \
             {:.1} s",
            grouped(all.len()),
            median.as_secs_f64(),
            p95.as_secs_f64(),
            worst.as_secs_f64(),
            SLICE.as_secs(),
            slowest.as_secs_f64(),
            self.age_max_seconds,
        );
        Ok(Figures { summary, p95: worst.max(p95) })
    }
}

fn percentile(mut durations: Vec<Duration>, percent: usize) -> Duration {
    durations.sort_unstable();
    let index = (durations.len() * percent).div_ceil(100).saturating_sub(1);
    durations.get(index).copied().unwrap_or_default()
}

/// Waits until everything committed before the call is in the replica, also the changes of the large store.
async fn wait_until_caught_up(replica: &Replica) -> Result<(), Failure> {
    let since = Instant::now();
    while replica.status().is_none_or(|status| status.age() >= since.elapsed()) {
        ensure(since.elapsed() < TIMEOUT, || {
            format!("the index did not catch up: {:?}", replica.status())
        })?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
