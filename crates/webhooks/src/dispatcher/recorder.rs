//! The task that records results: which of them in one transaction, in which order, and which wait for a lock.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use database::{Database, DatabaseError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use crate::dispatcher::decision::{Plan, Report};
use crate::dispatcher::ownership::LOCK_MAX;
use crate::dispatcher::results::{self, Disposition, Settled};
use crate::table::delivery::{DeliveryKey, EndpointKey};

/// Results that are recorded in one transaction.
const BATCH_MAX: usize = 500;
/// For how long results are collected.
const BATCH_WINDOW: Duration = Duration::from_millis(20);
/// Pause after the database was unavailable, and before a result is tried again that waits for a lock.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How long a batch waits for a lock, behind which the results of all stores wait, and then each of its parts: nine of them meet the
/// same row, and all of them the row of a store that has most of the results.
const BATCH_LOCK_MAX: Duration = Duration::from_millis(50);
const PART_LOCK_MAX: Duration = Duration::from_millis(10);
/// For how long a result is tried again, alone and for up to [`LOCK_MAX`], until it is given up.
const CONTENDED_MAX: Duration = Duration::from_secs(3);

/// Records reports until there are no more.
pub(super) async fn record_all(
    database: Database,
    mut reports: UnboundedReceiver<Report>,
    settled: UnboundedSender<Vec<Settled>>,
) {
    let (waiting, contended) = (VecDeque::new(), Contended::default());
    let mut recorder = Recorder { database, settled, waiting, contended };
    while recorder.collect(&mut reports).await {
        recorder.record_batch().await;
        recorder.record_contended().await;
    }
}

struct Recorder {
    database: Database,
    settled: UnboundedSender<Vec<Settled>>,
    /// Reports that were not tried, in their order.
    waiting: VecDeque<Report>,
    contended: Contended,
}

impl Recorder {
    /// Waits until there is something to record. Returns false once everything is recorded and no more will come.
    async fn collect(&mut self, reports: &mut UnboundedReceiver<Report>) -> bool {
        if self.waiting.is_empty() && self.contended.0.is_empty() {
            match reports.recv().await {
                Some(report) => self.waiting.push_back(report),
                None => return false,
            }
        }
        let until = Instant::now() + BATCH_WINDOW;
        while self.waiting.len() < BATCH_MAX {
            match tokio::time::timeout_at(until, reports.recv()).await {
                Ok(Some(report)) => self.waiting.push_back(report),
                Ok(None) if !self.waiting.is_empty() => break,
                Ok(None) => {
                    tokio::time::sleep_until(until).await;
                    break;
                }
                Err(_) => break,
            }
        }
        true
    }

    /// Records a batch: again while the database is unavailable, and in parts if it refuses one of the reports or another transaction
    /// has locked the row of one. That one is put behind the batches that follow.
    async fn record_batch(&mut self) {
        let batch = next_batch(&mut self.waiting);
        let mut parts = Parts(Some(batch).into_iter().filter(|it| !it.is_empty()).collect());
        let mut lock_max = BATCH_LOCK_MAX;
        while let Some(part) = parts.0.pop_front() {
            let error = match results::record(&self.database, &part, lock_max).await {
                Ok(done) => {
                    self.contended.outdate(&part);
                    self.recorded(&part, done);
                    continue;
                }
                Err(error) => error,
            };
            match Failure::of(&error) {
                Failure::Unavailable => {
                    retry_later(&error, part.len()).await;
                    parts.0.push_front(part);
                }
                Failure::Conflict | Failure::Refused if part.len() > 1 => {
                    lock_max = PART_LOCK_MAX;
                    parts.split(part);
                }
                Failure::Conflict => part.into_iter().for_each(|it| self.contended.add(it)),
                Failure::Refused => part.iter().for_each(|it| self.give_up(it, &error)),
            }
        }
    }

    /// Tries the reports that wait for a lock and whose time has come: any number that are recorded or given up, and one that waits.
    async fn record_contended(&mut self) {
        let until = Instant::now() + LOCK_MAX / 2;
        while Instant::now() < until
            && let Some(waiter) = self.contended.next(Instant::now())
        {
            self.record_waiter(waiter).await;
        }
    }

    async fn record_waiter(&mut self, Waiter { report, until, .. }: Waiter) {
        let left = until.saturating_duration_since(Instant::now());
        let lock_max = left.clamp(PART_LOCK_MAX, LOCK_MAX);
        let only = std::slice::from_ref(&report);
        let error = match results::record(&self.database, only, lock_max).await {
            Ok(done) => return self.recorded(only, done),
            Err(error) => error,
        };
        match Failure::of(&error) {
            Failure::Unavailable => {
                retry_later(&error, 1).await;
                self.contended.0.push_front(Waiter { report, until, at: Instant::now() });
            }
            Failure::Conflict if Instant::now() < until => self.contended.requeue(report, until),
            Failure::Conflict | Failure::Refused => self.give_up(&report, &error),
        }
    }

    /// Passes on what was recorded.
    fn recorded(&self, reports: &[Report], done: Vec<Settled>) {
        count(reports, &done);
        let _ = self.settled.send(done);
    }

    /// Gives up a report: its delivery is sent again.
    fn give_up(&self, report: &Report, error: &DatabaseError) {
        tracing::error!(
            %error, endpoint = %report.key.endpoint.endpoint, event = %report.key.event,
            "the result of a webhook cannot be recorded; it is sent again, and quarantined if that happens three times in a row"
        );
        let unrecordable = Settled::without_health(report, Disposition::Unrecordable);
        let _ = self.settled.send(vec![unrecordable]);
    }
}

/// Why something was not recorded.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// Another transaction has locked a row, for longer than this one waits.
    Conflict,
    /// A row cannot be recorded.
    Refused,
    /// Nothing can be recorded.
    Unavailable,
}

impl Failure {
    const fn of(error: &DatabaseError) -> Self {
        match error {
            DatabaseError::Contended(_) | DatabaseError::TransactionTimeout => Self::Conflict,
            DatabaseError::Internal(_) => Self::Refused,
            DatabaseError::Unavailable(_)
            | DatabaseError::StoreOverloaded
            | DatabaseError::WrongCell { .. } => Self::Unavailable,
        }
    }
}

async fn retry_later(error: &DatabaseError, results: usize) {
    tracing::warn!(%error, results, "results of webhooks cannot be recorded; retrying");
    tokio::time::sleep(RETRY_PAUSE).await;
}

/// Removes the first reports, all of one owner.
fn next_batch(waiting: &mut VecDeque<Report>) -> Vec<Report> {
    let Some(owner) = waiting.front().map(|report| report.owner) else { return Vec::new() };
    let other = waiting.iter().position(|report| report.owner != owner);
    let count = other.unwrap_or(waiting.len()).min(BATCH_MAX);
    waiting.drain(..count).collect()
}

/// The parts of a batch that are not recorded, in the order of their reports: recorded after that of a newer one, the health of an
/// endpoint would be undone by an older one.
#[derive(Debug)]
struct Parts(VecDeque<Vec<Report>>);

impl Parts {
    /// Puts the halves of a part where it was.
    fn split(&mut self, mut part: Vec<Report>) {
        let rest = part.split_off(part.len() / 2);
        self.0.push_front(rest);
        self.0.push_front(part);
    }
}

/// A report whose row another transaction had locked.
#[derive(Debug)]
struct Waiter {
    report: Report,
    /// Until when it is tried.
    until: Instant,
    /// When it is tried again.
    at: Instant,
}

/// The reports that wait for a lock, in the order in which they are tried again.
#[derive(Debug, Default)]
struct Contended(VecDeque<Waiter>);

impl Contended {
    /// Adds the newest report.
    fn add(&mut self, report: Report) {
        let now = Instant::now();
        self.0.push_back(Waiter { report, until: now + CONTENDED_MAX, at: now + RETRY_PAUSE });
    }

    /// Removes the first one, if it is time.
    fn next(&mut self, now: Instant) -> Option<Waiter> {
        self.0.pop_front_if(|first| first.at <= now)
    }

    /// Puts one that was tried behind the others, without its health if these have a newer one of its endpoint.
    fn requeue(&mut self, mut report: Report, until: Instant) {
        let has_newer =
            |it: &Waiter| it.report.health.is_some() && it.report.endpoint() == report.endpoint();
        if self.0.iter().any(has_newer) {
            report.health = None;
        }
        self.0.push_back(Waiter { report, until, at: Instant::now() + RETRY_PAUSE });
    }

    /// Removes the health of endpoints of which a newer one was recorded.
    fn outdate(&mut self, recorded: &[Report]) {
        if self.0.is_empty() {
            return;
        }
        let newer = recorded.iter().filter(|it| it.health.is_some());
        let newer: HashSet<EndpointKey> = newer.map(Report::endpoint).collect();
        for waiter in self.0.iter_mut().filter(|it| newer.contains(&it.report.endpoint())) {
            waiter.report.health = None;
        }
    }
}

/// Records the metrics of a batch.
fn count(reports: &[Report], settled: &[Settled]) {
    let is_fenced = |it: &&Settled| it.disposition == Disposition::Fenced;
    let fenced = settled.iter().filter(is_fenced).count();
    if fenced > 0 {
        metrics::counter!("souk_webhook_fenced_total")
            .increment(u64::try_from(fenced).unwrap_or(0));
    }
    let dispositions: HashMap<DeliveryKey, Disposition> =
        settled.iter().map(|it| (it.key, it.disposition)).collect();
    for report in reports {
        match counted(report, dispositions.get(&report.key).copied()) {
            Some(Counted::Attempt(outcome)) => {
                metrics::counter!("souk_webhook_attempts_total", "outcome" => outcome).increment(1);
            }
            Some(Counted::Quarantine) => {
                metrics::counter!("souk_webhook_quarantined_total").increment(1);
                tracing::error!(
                    endpoint = %report.key.endpoint.endpoint, event = %report.key.event,
                    "webhook quarantined as a dead letter: its attempts repeatedly crashed the process or panicked"
                );
            }
            None => {}
        }
    }
}

/// What a report counts as.
#[derive(Debug, PartialEq, Eq)]
enum Counted {
    /// With the label of its outcome.
    Attempt(&'static str),
    /// Nothing was sent.
    Quarantine,
}

fn counted(report: &Report, disposition: Option<Disposition>) -> Option<Counted> {
    match (report.plan, disposition) {
        (_, Some(Disposition::Fenced)) => None,
        (Plan::Quarantined, _) => Some(Counted::Quarantine),
        _ if !report.is_attempt() => None,
        (Plan::Delivered, _) => Some(Counted::Attempt("delivered")),
        (_, Some(Disposition::Due(_))) => Some(Counted::Attempt("retry")),
        _ => Some(Counted::Attempt("dead")),
    }
}

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, EventId, Id, MerchantId, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::dispatcher::StartCounts;
    use crate::dispatcher::decision::{AttemptNote, HealthNote};

    #[test]
    fn a_quarantine_is_counted_and_sends_nothing() {
        let attempt = AttemptNote {
            at: "2026-11-15T08:00:00Z".parse().unwrap(),
            latency: Duration::ZERO,
            status: None,
            error: None,
            response: None,
        };
        let quarantine =
            Report { plan: Plan::Quarantined, attempt: Some(attempt), ..failure(2, 1) };
        assert_eq!(counted(&quarantine, Some(Disposition::Done)), Some(Counted::Quarantine));
        assert_eq!(counted(&quarantine, Some(Disposition::Fenced)), None);
        let failed = Report { plan: Plan::Dead, ..quarantine.clone() };
        assert_eq!(counted(&failed, Some(Disposition::Done)), Some(Counted::Attempt("dead")));
        let unsent = Report { plan: Plan::Unsent, attempt: None, ..quarantine };
        assert_eq!(counted(&unsent, Some(Disposition::Returned)), None);
    }

    /// Returns a failure of the first or the second endpoint, which is at its given number in a row.
    fn failure(endpoint: u128, number: i32) -> Report {
        let now: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let merchant = MerchantId::from_random(1);
        let endpoint = EndpointKey { merchant, endpoint: EndpointId::from_random(endpoint) };
        let health = HealthNote {
            consecutive_failures: number,
            failing_since: None,
            probe_delay: None,
            latency: None,
        };
        Report {
            owner: Uuid::from_u128(4),
            key: DeliveryKey { endpoint, event_at: now, event: EventId::from_random(5) },
            health_version: 1,
            counts: StartCounts::resulted(0),
            is_alone: false,
            plan: Plan::Dead,
            attempt: None,
            health: Some(health),
            disable: None,
        }
    }

    /// Returns which failure in a row a report is, or zero without the health.
    fn number(report: &Report) -> i32 {
        report.health.map_or(0, |it| it.consecutive_failures)
    }

    #[test]
    fn a_part_that_is_split_stays_in_its_place() {
        let mut parts = Parts(VecDeque::from([vec![failure(1, 5), failure(1, 6)]]));
        parts.split((1..=4).map(|number| failure(1, number)).collect());
        let numbers = parts.0.iter().map(|part| part.iter().map(number).collect());
        assert_eq!(numbers.collect::<Vec<Vec<i32>>>(), [[1, 2], [3, 4], [5, 6]]);
    }

    /// Returns the numbers of the reports that wait.
    fn numbers(contended: &Contended) -> Vec<i32> {
        contended.0.iter().map(|it| number(&it.report)).collect()
    }

    #[test]
    fn a_report_that_waits_for_a_lock_does_not_undo_the_health_of_newer_ones() {
        let mut contended = Contended::default();
        for report in [failure(1, 1), failure(2, 2), failure(1, 3)] {
            contended.add(report);
        }
        assert_eq!(numbers(&contended), [1, 2, 3], "they are tried in their order");
        assert!(contended.next(Instant::now()).is_none(), "not at once");
        let later = Instant::now() + RETRY_PAUSE;
        let first = contended.next(later).unwrap();
        contended.requeue(first.report, first.until);
        assert_eq!(numbers(&contended), [2, 3, 0]);
        let second = contended.next(later).unwrap();
        contended.requeue(second.report, second.until);
        assert_eq!(numbers(&contended), [3, 0, 2]);
        contended.outdate(&[failure(2, 4), Report { health: None, ..failure(1, 5) }]);
        assert_eq!(numbers(&contended), [3, 0, 0]);
    }
}
