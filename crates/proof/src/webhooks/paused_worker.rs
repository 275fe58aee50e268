//! `paused-worker`: while events are published, the worker that delivers is stopped (SIGSTOP) for longer than its lease. Another
//! one takes over its stores. When the first continues, the results that it had not recorded are refused and counted, and
//! nothing is recorded twice.
//!
//! It is paused wherever it is at that moment: in a request, before a transaction or in one. Receivers answer after a moment, so
//! that requests are in flight. If it is in a transaction that has locked stores, PostgreSQL ends that transaction after ten
//! seconds, and only then another worker can take these stores.
//!
//! Whether a result arrives after the pause, or was given up with its request, is chance: pauses are repeated until one was
//! refused. A worker whose results count after its lease would record some deliveries twice, or not at all.
//!
//! An endpoint has at most two requests at the same time, except in the moment in which a paused worker continues: what it had
//! handed to a connection just before may be sent then. Such a request is known by its signature, which is older than the pause;
//! there are at most two of them at an endpoint, and at most two others beside them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::Clock;
use primitives::{EventId, MerchantId};
use tokio::task::JoinHandle;

use super::evidence::{by_event, check_copies, check_request, time_of};
use super::receiver::Request;
use super::site::{PATIENCE, Registered, Site, Worker, merchant, publish};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};

const STORES: usize = 10;
/// Time between two events.
const INTERVAL: Duration = Duration::from_millis(5);
/// Pauses beyond those of the form, until a result was refused.
const MORE_PAUSES_MAX: usize = 6;
/// Requests of one worker at one endpoint at the same time.
const OPEN_MAX: usize = 2;
/// For how long a request is counted as open that was signed before a pause: longer than its receiver takes.
const OPEN_FOR: Duration = Duration::from_secs(1);
/// How long a worker that continues takes to report what it had.
const REPORTED_MAX: Duration = Duration::from_secs(1);

/// Leases that have expired.
const EXPIRED: &str = "SELECT count(*) FROM webhook_worker WHERE lease_until <= clock_timestamp()";
/// Stores whose owner has lost its lease.
const LEFT_BEHIND: &str = "SELECT count(*) FROM webhook_queue JOIN webhook_worker USING (owner)
                           WHERE lease_until <= clock_timestamp()";
const LEASED: &str = "SELECT count(*) FROM webhook_worker WHERE lease_until > clock_timestamp()";
const REPEATED: &str =
    "SELECT count(*) FROM (SELECT event_id FROM webhook_attempt WHERE outcome = 'delivered'
                        GROUP BY endpoint_id, event_id HAVING count(*) > 1) AS repeated";
const PENDING_BEFORE: &str = "SELECT count(*) FROM webhook_delivery WHERE dead_at IS NULL AND event_at <= to_timestamp($1 / 1000000.0)";
const DEAD: &str = "SELECT count(*) FROM webhook_delivery WHERE dead_at IS NOT NULL";
const ATTEMPTS: &str = "SELECT count(*) FROM webhook_attempt WHERE outcome = 'delivered'";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let wanted = trial.by_tier(1, 6);
    let site = Site::open().await?;
    let mut endpoints = Vec::new();
    for number in 0..STORES {
        endpoints.push(site.endpoint(merchant(number), &format!("/delay/100/{number}")).await?);
    }
    let publisher = Publisher::start(&site, &endpoints);
    let mut worker = site.worker(&[])?;
    site.receiver.until("the first deliveries", PATIENCE, |requests| requests.len() > 50).await?;
    let (mut fenced, mut pauses) = (0.0, Vec::new());
    while pauses.len() < wanted || (fenced < 1.0 && pauses.len() < wanted + MORE_PAUSES_MAX) {
        trial.progress(|| format!("pause {}, {fenced} results refused", pauses.len()));
        let (successor, pause) = take_over(&site, &worker).await?;
        fenced += refused(&worker).await;
        until_delivered(&site, pause.continued_at_micros).await?;
        worker = successor;
        pauses.push(pause);
    }
    let events = publisher.stop().await?;
    site.until_drained(PATIENCE).await?;
    let twice = check(&site, &endpoints, &events).await?;
    let late = check_open(&site.receiver.requests()?, &pauses)?;
    let pauses = pauses.len();
    ensure(fenced > 0.0, || format!("{pauses} pauses, and no result was refused"))?;
    Ok(format!(
        "{pauses} pauses past the lease under load: {} events received, {} of them twice, each recorded as delivered once; \
         {fenced} results of the paused worker refused and counted; {late} requests signed before a pause and sent after it",
        grouped(events.len()),
        grouped(twice),
    ))
}

/// A pause of a worker.
struct Pause {
    /// In seconds, as in a signature.
    stopped_at: i64,
    continued_at_micros: i64,
}

impl Pause {
    /// Returns whether a request was signed before the pause, and arrived after it.
    fn delayed(&self, request: &Request) -> Result<bool, Failure> {
        let signed_at: i64 = time_of(request).parse()?;
        Ok(signed_at <= self.stopped_at && request.at_micros >= self.continued_at_micros)
    }
}

/// Pauses a worker until another one has taken all its stores, and lets it continue. Returns the other one.
async fn take_over(site: &Site, worker: &Worker) -> Result<(Worker, Pause), Failure> {
    // The lease of the worker before it has to be over, too.
    site.until_count("leases", LEASED, 1, PATIENCE).await?;
    site.until_count("stores of a former worker", LEFT_BEHIND, 0, PATIENCE).await?;
    let before = site.count(EXPIRED).await?;
    worker.souk.signal("STOP")?;
    let stopped_at = Clock::system().local_now().unix_micros() / 1_000_000;
    let successor = site.worker(&[])?;
    // At least: on a busy machine a worker may lose its lease without having been paused.
    site.until("expired leases", EXPIRED, |count| count > before, PATIENCE).await?;
    site.until_count("stores of a paused worker", LEFT_BEHIND, 0, PATIENCE).await?;
    // Signatures have whole seconds: none of another worker is as old as the pause.
    let mut continued_at_micros = Clock::system().local_now().unix_micros();
    while continued_at_micros / 1_000_000 <= stopped_at {
        tokio::time::sleep(Duration::from_millis(50)).await;
        continued_at_micros = Clock::system().local_now().unix_micros();
    }
    worker.souk.signal("CONT")?;
    // It notices that its lease is over, and begins again with another one.
    site.until("leases", LEASED, |count| count >= 2, PATIENCE).await?;
    Ok((successor, Pause { stopped_at, continued_at_micros }))
}

/// Waits until the events that were published before a time are delivered: one that is in flight at three pauses in a row is
/// quarantined, as after three crashes.
async fn until_delivered(site: &Site, before_micros: i64) -> Result<(), Failure> {
    let (mut sql, since) = (site.raw().await, Instant::now());
    loop {
        let pending: i64 =
            sqlx::query_scalar(PENDING_BEFORE).bind(before_micros).fetch_one(&mut sql).await?;
        if pending == 0 {
            return Ok(());
        }
        ensure(since.elapsed() < PATIENCE * 2, || format!("{pending} events are not delivered"))?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns how many results of a worker were refused, once it has reported those that it had.
async fn refused(worker: &Worker) -> f64 {
    let since = Instant::now();
    loop {
        let count = worker.metric("souk_webhook_fenced_total").await.unwrap_or(0.0);
        if count > 0.0 || since.elapsed() > REPORTED_MAX {
            return count;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Publishes events until it is stopped.
struct Publisher {
    task: JoinHandle<Result<Vec<EventId>, Failure>>,
    ended: Arc<AtomicBool>,
}

impl Publisher {
    fn start(site: &Site, endpoints: &[Registered]) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let (database, stop) = (site.database.clone(), Arc::clone(&ended));
        let merchants: Vec<MerchantId> = endpoints.iter().map(|it| it.merchant).collect();
        let task = tokio::spawn(async move {
            let mut events = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let merchant = merchants[events.len() % merchants.len()];
                events.push(publish(&database, merchant).await?);
                tokio::time::sleep(INTERVAL).await;
            }
            Ok(events)
        });
        Self { task, ended }
    }

    /// Returns the events that were published.
    async fn stop(self) -> Result<Vec<EventId>, Failure> {
        self.ended.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

/// Checks that each event was received and recorded once, and returns how many were received more than once.
async fn check(
    site: &Site,
    endpoints: &[Registered],
    events: &[EventId],
) -> Result<usize, Failure> {
    let requests = site.receiver.requests()?;
    let received = by_event(&requests, "/delay/");
    for (number, event) in events.iter().enumerate() {
        let copies = received.get(event.to_string().as_str()).map(Vec::as_slice);
        let copies = copies.ok_or_else(|| format!("{event} was not received"))?;
        check_copies(copies)?;
        for request in copies {
            check_request(request, &endpoints[number % endpoints.len()].secret)?;
        }
    }
    ensure(received.len() == events.len(), || String::from("an event that was not published"))?;
    let (repeated, recorded) = (site.count(REPEATED).await?, site.count(ATTEMPTS).await?);
    ensure(repeated == 0, || format!("{repeated} events are recorded as delivered twice"))?;
    let dead = site.count(DEAD).await?;
    ensure((recorded, dead) == (i64::try_from(events.len())?, 0), || {
        format!(
            "{recorded} of {} events are recorded as delivered, {dead} as dead letters",
            events.len()
        )
    })?;
    Ok(received.values().filter(|copies| copies.len() > 1).count())
}

/// Checks how many requests an endpoint had at the same time. Returns how many were signed before a pause and sent after it.
fn check_open(requests: &[Request], pauses: &[Pause]) -> Result<usize, Failure> {
    let mut late: Vec<&Request> = Vec::new();
    for pause in pauses {
        let mut paths: BTreeMap<&str, usize> = BTreeMap::new();
        for request in requests {
            if pause.delayed(request)? {
                late.push(request);
                *paths.entry(&request.path).or_default() += 1;
            }
        }
        let most = paths.values().max().copied().unwrap_or(0);
        ensure(most <= OPEN_MAX, || format!("{most} requests of a worker that was paused"))?;
    }
    let span = i64::try_from(OPEN_FOR.as_micros())?;
    for request in requests {
        let since = request.at_micros - span;
        let is_beside = |it: &&&Request| {
            it.path == request.path && (since..=request.at_micros).contains(&it.at_micros)
        };
        let (open, late) = (request.open, late.iter().filter(is_beside).count());
        ensure(open <= OPEN_MAX + late, || {
            format!(
                "{open} requests at one endpoint at the same time, {late} of them signed before a pause"
            )
        })?;
    }
    Ok(late.len())
}
