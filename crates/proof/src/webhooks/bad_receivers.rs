//! `bad-receivers`: thousands of receivers of which nine in ten hang, send byte by byte, fail or reset the connection. Those that
//! work do not notice.
//!
//! Each store has ten endpoints at addresses of their own: four hang, two send a byte a second, two answer 500, one resets, one
//! works. First only those that work are registered, and events are published at a steady rate: the baseline. Then the others
//! are registered, and the same events go to all of them. The time of a first attempt is that from the begin of the transaction
//! of the event, by the clock of PostgreSQL, to the arrival at the receiver. The 99th percentiles of single periods are printed
//! beside those of the whole time: one moment in which the machine is slow shows as a wide range.
//!
//! Before memory is measured, each of the others has a backlog of more deliveries than a worker keeps in memory for an endpoint:
//! memory that fills up to a limit does not grow without one.
//!
//! One queue for all receivers would fail here: with `SOUK_WEBHOOK_SLOTS` requests of ten seconds each, it delivers a tenth of
//! that per second, and the working receivers wait their turn among the others.
//!
//! In the short form there are few receivers and few slots; the ratio and the memory are not judged, because neither has settled
//! after seconds.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use futures::stream::{self, StreamExt, TryStreamExt};
use primitives::MerchantId;

use super::site::{PATIENCE, Site, Worker, merchant};
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::souk::resident_kilobytes;
use crate::table_print::Spread;

/// The paths of the endpoints of a store; the last one works.
const PATHS: [&str; 10] =
    ["hang", "hang", "hang", "hang", "drip", "drip", "status/500", "status/500", "reset", "ok"];
/// How many first attempts at working receivers may be later than [`LATE`]: one in a hundred.
const LATE: Duration = Duration::from_secs(2);
/// How much later the 99th percentile may be than without the other receivers.
const RATIO_MAX: f64 = 2.0;
/// How much the memory of the worker may grow between a third of the time and its end.
const GROWTH_MAX: f64 = 1.1;
/// How many times faster the backlog is published than the events that are measured.
const BACKLOG_RATE: u32 = 5;
/// Requests at one endpoint at the same time.
const OPEN_MAX: usize = 2;

/// The size of a run.
#[derive(Debug, Clone, Copy)]
struct Scale {
    stores: usize,
    /// Time in which each store has one event.
    period: Duration,
    baseline: Duration,
    /// Time in which the backlog of the other receivers is published, at [`BACKLOG_RATE`] times the rate.
    backlog: Duration,
    mixed: Duration,
    slots: usize,
}

const FAST: Scale = Scale {
    stores: 20,
    period: Duration::from_secs(1),
    baseline: Duration::from_secs(2),
    backlog: Duration::ZERO,
    mixed: Duration::from_secs(9),
    // Few, so that the receivers that hang would take all of them.
    slots: 24,
};
const FULL: Scale = Scale {
    stores: 500,
    period: Duration::from_secs(10),
    baseline: Duration::from_secs(50),
    // Twelve events of each store; of an endpoint that is not healthy a worker reads ten deliveries and keeps two in memory.
    backlog: Duration::from_secs(24),
    mixed: Duration::from_mins(2),
    slots: 512,
};

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let scale = trial.by_tier(FAST, FULL);
    let site = Site::open().await?;
    let worker = site.worker(&[("SOUK_WEBHOOK_SLOTS", scale.slots.to_string())])?;
    register(&site, scale, PATHS.len() - 1..PATHS.len()).await?;
    // The first delivery of each endpoint shows that it works.
    run(&site, scale, scale.period).await?;
    let since = Mark::now(&site).await?;
    run(&site, scale, scale.baseline).await?;
    let baseline = Latencies::since(&site, since).await?;
    register(&site, scale, 0..PATHS.len() - 1).await?;
    trial.progress(|| format!("{} endpoints", scale.stores * PATHS.len()));
    run(&site, Scale { period: scale.period / BACKLOG_RATE, ..scale }, scale.backlog).await?;
    let since = Mark::now(&site).await?;
    let memory = measure(&site, &worker, scale).await?;
    let mixed = Latencies::since(&site, since).await?;
    let most = site.receiver.requests()?.iter().map(|request| request.open).max().unwrap_or(0);
    ensure(most <= OPEN_MAX, || format!("{most} requests at one endpoint at the same time"))?;
    let (before, after) = (baseline.percentile(99), mixed.percentile(99));
    ensure(after < trial.time_max(LATE), || {
        format!("a hundredth of the first attempts is later than {after:?}")
    })?;
    let (ratio, growth) = (after.as_secs_f64() / before.as_secs_f64(), memory.growth());
    let latencies = format!(
        "first attempts at the others p50 {} ms, p99 {} ms, of periods {} ms; without the bad ones p50 {} ms, p99 {} ms, of \
         periods {} ms: {ratio:.2} times as long",
        mixed.percentile(50).as_millis(),
        after.as_millis(),
        mixed.periods(scale).show(0),
        baseline.percentile(50).as_millis(),
        before.as_millis(),
        baseline.periods(scale).show(0),
    );
    let memory = format!(
        "worker {} MB, {growth:.2} times that at a third",
        grouped(memory.last_kilobytes / 1_000)
    );
    if trial.tier == Tier::Full {
        ensure(ratio <= RATIO_MAX && growth <= GROWTH_MAX, || format!("{latencies}; {memory}"))?;
    }
    Ok(format!(
        "{} receivers, 90 % of them bad, {} events: {latencies}; at most {most} requests at an endpoint at once; {memory}",
        grouped(scale.stores * PATHS.len()),
        grouped(mixed.sorted.len()),
    ))
}

/// Registers these endpoints of every store.
async fn register(
    site: &Site,
    scale: Scale,
    endpoints: std::ops::Range<usize>,
) -> Result<(), Failure> {
    let stores = 0..scale.stores;
    let pairs = stores.flat_map(|store| endpoints.clone().map(move |endpoint| (store, endpoint)));
    let register = |(store, endpoint): (usize, usize)| async move {
        let number = store * PATHS.len() + endpoint;
        let host =
            format!("127.{}.{}.{}", 100 + number / 62_500, number / 250 % 250, number % 250 + 1);
        let url = site.receiver.url_at(&host, &format!("/{}/{number}", PATHS[endpoint]));
        site.endpoint_at(merchant(store), url).await.map(drop)
    };
    stream::iter(pairs).map(register).buffer_unordered(8).try_collect::<Vec<()>>().await?;
    Ok(())
}

/// Publishes events of all stores in turn for a time, at a steady rate, and waits until the working receivers have them.
async fn run(site: &Site, scale: Scale, time: Duration) -> Result<(), Failure> {
    let (since, interval) = (Instant::now(), scale.period / u32::try_from(scale.stores)?);
    let mut number = 0_u32;
    while since.elapsed() < time {
        let store: MerchantId = merchant(usize::try_from(number)? % scale.stores);
        site.publish(store).await?;
        number += 1;
        tokio::time::sleep((interval * number).saturating_sub(since.elapsed())).await;
    }
    let healthy = "SELECT count(*) FROM webhook_delivery JOIN webhook_endpoint USING (merchant_id, endpoint_id)
                   WHERE url LIKE '%/ok/%'";
    site.until_count("deliveries to working receivers", healthy, 0, PATIENCE).await
}

/// The memory of the worker at two times.
struct Memory {
    first_kilobytes: u64,
    last_kilobytes: u64,
}

impl Memory {
    #[expect(clippy::cast_precision_loss, reason = "memory has few digits")]
    fn growth(&self) -> f64 {
        self.last_kilobytes as f64 / self.first_kilobytes as f64
    }
}

/// Publishes events while the bad receivers exist, and measures the memory of the worker at a third of the time and at its end.
async fn measure(site: &Site, worker: &Worker, scale: Scale) -> Result<Memory, Failure> {
    run(site, scale, scale.mixed / 3).await?;
    let first_kilobytes = resident_kilobytes(worker.souk.pid())?;
    run(site, scale, scale.mixed * 2 / 3).await?;
    Ok(Memory { first_kilobytes, last_kilobytes: resident_kilobytes(worker.souk.pid())? })
}

/// A time of PostgreSQL, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Mark(i64);

impl Mark {
    async fn now(site: &Site) -> Result<Self, Failure> {
        let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
        Ok(Self(site.count(now).await?))
    }
}

/// Times from the transactions of events to their first arrival at a working receiver.
struct Latencies {
    sorted: Vec<Duration>,
    /// The same, each with the time of its event since the begin of the measurement.
    by_time: Vec<(Duration, Duration)>,
}

impl Latencies {
    /// Returns those of the events since a time.
    async fn since(site: &Site, mark: Mark) -> Result<Self, Failure> {
        let events: Vec<(uuid::Uuid, i64)> = sqlx::query_as(
            "SELECT event_id, (extract(epoch FROM created_at) * 1000000)::bigint FROM webhook_event
             WHERE created_at >= to_timestamp($1::float8 / 1000000)",
        )
        .bind(mark.0)
        .fetch_all(&mut site.raw().await)
        .await?;
        let requests = site.receiver.requests()?;
        let mut arrived: HashMap<&str, i64> = HashMap::new();
        for request in requests.iter().filter(|request| request.path.starts_with("/ok/")) {
            arrived.entry(request.event()).or_insert(request.at_micros);
        }
        let mut by_time = Vec::with_capacity(events.len());
        for (event, created_micros) in events {
            let id = format!("evt_{}", event.simple());
            let arrived = arrived.get(id.as_str());
            let arrived = arrived.ok_or_else(|| format!("{id} did not arrive"))?;
            let latency = micros(arrived - created_micros);
            by_time.push((micros(created_micros - mark.0), latency));
        }
        ensure(!by_time.is_empty(), || String::from("no events were published"))?;
        let mut sorted: Vec<Duration> = by_time.iter().map(|(_, latency)| *latency).collect();
        sorted.sort_unstable();
        Ok(Self { sorted, by_time })
    }

    fn percentile(&self, percent: usize) -> Duration {
        percentile(&self.sorted, percent)
    }

    /// Returns the 99th percentiles, in milliseconds, of the periods in which each store has one event.
    fn periods(&self, scale: Scale) -> Spread {
        let mut periods: BTreeMap<u128, Vec<Duration>> = BTreeMap::new();
        for (since, latency) in &self.by_time {
            let period = since.as_micros() / scale.period.as_micros();
            periods.entry(period).or_default().push(*latency);
        }
        // The events at the edges of the time are few.
        periods.retain(|_, latencies| latencies.len() * 2 > scale.stores);
        Spread::of(periods.into_values().map(|mut latencies| {
            latencies.sort_unstable();
            percentile(&latencies, 99).as_secs_f64() * 1_000.0
        }))
    }
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

fn micros(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
