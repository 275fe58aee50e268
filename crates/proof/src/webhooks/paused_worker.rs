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
//! handed to a connection just before may be sent then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::Clock;
use primitives::{EventId, MerchantId};
use tokio::task::JoinHandle;

use super::evidence::{by_event, check_copies, check_request};
use super::site::{PATIENCE, Registered, Site, Worker, merchant, publish};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};

const STORES: usize = 10;
/// Time between two events.
const INTERVAL: Duration = Duration::from_millis(5);
/// Pauses beyond those of the form, until a result was refused.
const MORE_PAUSES_MAX: u32 = 6;
/// After a paused worker continues: the time in which it may send what it had handed to a connection, on a busy machine.
const SENT_ON: Duration = Duration::from_millis(500);
/// Requests of two workers at one endpoint, and of one.
const OPEN_MAX: usize = 4;
const OPEN_OF_WORKER_MAX: usize = 2;
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
    let (mut fenced, mut pauses, mut continued) = (0.0, 0, Vec::new());
    while pauses < wanted || (fenced < 1.0 && pauses < wanted + MORE_PAUSES_MAX) {
        trial.progress(|| format!("pause {pauses}, {fenced} results refused"));
        let successor = take_over(&site, &worker, &mut continued).await?;
        fenced += refused(&worker).await;
        worker = successor;
        pauses += 1;
    }
    let events = publisher.stop().await?;
    site.until_drained(PATIENCE).await?;
    let twice = check(&site, &endpoints, &events).await?;
    check_open(&site, &continued)?;
    ensure(fenced > 0.0, || format!("{pauses} pauses, and no result was refused"))?;
    Ok(format!(
        "{pauses} pauses past the lease under load: {} events received, {} of them twice, each recorded as delivered once; \
         {fenced} results of the paused worker refused and counted",
        grouped(events.len()),
        grouped(twice),
    ))
}

/// Pauses a worker until another one has taken all its stores, and lets it continue, at a time that is added to the list. Returns
/// the other one.
async fn take_over(
    site: &Site,
    worker: &Worker,
    continued: &mut Vec<i64>,
) -> Result<Worker, Failure> {
    // The lease of the worker before it has to be over, too.
    site.until_count("leases", LEASED, 1, PATIENCE).await?;
    site.until_count("stores of a former worker", LEFT_BEHIND, 0, PATIENCE).await?;
    let before = site.count(EXPIRED).await?;
    worker.souk.signal("STOP")?;
    let successor = site.worker(&[])?;
    // At least: on a busy machine a worker may lose its lease without having been paused.
    site.until("expired leases", EXPIRED, |count| count > before, PATIENCE).await?;
    site.until_count("stores of a paused worker", LEFT_BEHIND, 0, PATIENCE).await?;
    continued.push(Clock::system().local_now().unix_micros());
    worker.souk.signal("CONT")?;
    // It notices that its lease is over, and begins again with another one.
    site.until("leases", LEASED, |count| count >= 2, PATIENCE).await?;
    Ok(successor)
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
    ensure(usize::try_from(recorded)? == events.len(), || format!("{recorded} are recorded"))?;
    Ok(received.values().filter(|copies| copies.len() > 1).count())
}

/// Checks how many requests an endpoint had at the same time.
fn check_open(site: &Site, continued: &[i64]) -> Result<(), Failure> {
    let span = i64::try_from(SENT_ON.as_micros())?;
    for request in site.receiver.requests()? {
        let (at, open) = (request.at_micros, request.open);
        let has_continued = continued.iter().any(|since| (*since..*since + span).contains(&at));
        let most = if has_continued { OPEN_MAX } else { OPEN_OF_WORKER_MAX };
        ensure(open <= most, || format!("{open} requests at one endpoint at the same time"))?;
    }
    Ok(())
}
