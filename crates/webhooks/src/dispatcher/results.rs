//! Records the results of attempts, many in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use jobs::QueueError;
use merchants::NoticeKind;
use primitives::{MerchantId, Timestamp};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::StartCounts;
use crate::dispatcher::decision::{AttemptNote, HealthNote, Plan, Report};
use crate::dispatcher::ownership::{self, stores_of};
use crate::table::delivery::{DeliveryKey, EndpointKey};
use crate::table::queue;
use crate::table::settlement::{self, EndedAttempt, HealthChange, Next, Settlement};
use crate::{AttemptOutcome, DeadLetterDeliveries, DisabledReason};

/// Results that are recorded in one transaction.
const BATCH_MAX: usize = 500;
/// For how long results are collected.
const BATCH_WINDOW: Duration = Duration::from_millis(20);
/// Pause after the database was unavailable.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often a single result is tried again that waits for a lock. The others wait meanwhile.
const CONTENDED_TRIES: u32 = 2;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    /// It was delivered, or is a dead letter.
    Done,
    /// It is due then.
    Due(Timestamp),
    /// It is due as before.
    Returned,
    /// Another process delivers for the store: nothing was recorded.
    Fenced,
    /// The result cannot be recorded.
    Unrecordable,
}

/// A recorded result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settled {
    pub(super) owner: Uuid,
    pub(super) key: DeliveryKey,
    /// As the attempt read it.
    pub(super) health_version: i32,
    pub(super) disposition: Disposition,
    /// `None` if nothing about the health of the endpoint was recorded.
    pub(super) health: Option<RecordedHealth>,
    /// The endpoint was disabled.
    pub(super) is_disabled: bool,
}

impl Settled {
    fn without_health(report: &Report, disposition: Disposition) -> Self {
        let Report { owner, key, health_version, .. } = *report;
        Self { owner, key, health_version, disposition, health: None, is_disabled: false }
    }
}

/// The times with which the health of an endpoint was recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordedHealth {
    pub(super) failing_since: Option<Timestamp>,
    pub(super) probe_at: Option<Timestamp>,
}

/// Records reports until there are no more.
pub(super) async fn record_all(
    database: Database,
    mut reports: UnboundedReceiver<Report>,
    settled: UnboundedSender<Vec<Settled>>,
) {
    let mut waiting: VecDeque<Report> = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match reports.recv().await {
                Some(report) => waiting.push_back(report),
                None => return,
            }
        }
        let until = Instant::now() + BATCH_WINDOW;
        while waiting.len() < BATCH_MAX {
            match tokio::time::timeout_at(until, reports.recv()).await {
                Ok(Some(report)) => waiting.push_back(report),
                Ok(None) | Err(_) => break,
            }
        }
        record_batch(&database, next_batch(&mut waiting), &settled).await;
    }
}

/// Removes the first reports, all of one owner.
fn next_batch(waiting: &mut VecDeque<Report>) -> Vec<Report> {
    let Some(owner) = waiting.front().map(|report| report.owner) else { return Vec::new() };
    let other = waiting.iter().position(|report| report.owner != owner);
    let count = other.unwrap_or(waiting.len()).min(BATCH_MAX);
    waiting.drain(..count).collect()
}

/// Records a batch: again while the database is unavailable, and in parts if it refuses one of the reports or another
/// transaction has locked the row of one.
async fn record_batch(
    database: &Database,
    batch: Vec<Report>,
    settled: &UnboundedSender<Vec<Settled>>,
) {
    let mut parts = Parts(VecDeque::from([(batch, 0)]));
    while let Some((mut part, tries)) = parts.0.pop_front() {
        let error = match record(database, &part).await {
            Ok(done) => {
                count(&part, &done);
                let _ = settled.send(done);
                continue;
            }
            Err(error) => error,
        };
        let is_conflict =
            matches!(error, DatabaseError::Contended(_) | DatabaseError::TransactionTimeout);
        let is_refused = matches!(error, DatabaseError::Internal(_));
        if (is_conflict || is_refused) && part.len() > 1 {
            parts.split(part);
        } else if is_refused || (is_conflict && tries >= CONTENDED_TRIES) {
            let Some(report) = part.pop() else { continue };
            tracing::error!(
                %error, endpoint = %report.key.endpoint.endpoint, event = %report.key.event,
                "the result of a webhook cannot be recorded; it is sent again, and quarantined if that happens three times in a row"
            );
            let _ = settled.send(vec![Settled::without_health(&report, Disposition::Unrecordable)]);
        } else {
            tracing::warn!(%error, results = part.len(), "results of webhooks cannot be recorded; retrying");
            tokio::time::sleep(RETRY_PAUSE).await;
            if is_conflict {
                parts.requeue(part, tries + 1);
            } else {
                parts.0.push_front((part, tries));
            }
        }
    }
}

/// The parts of a batch that are not recorded, each with the number of tries, in the order of their reports: recorded after that of
/// a newer one, the health of an endpoint would be undone by an older one.
#[derive(Debug)]
struct Parts(VecDeque<(Vec<Report>, u32)>);

impl Parts {
    /// Puts the halves of a part where it was.
    fn split(&mut self, mut part: Vec<Report>) {
        let rest = part.split_off(part.len() / 2);
        self.0.push_front((rest, 0));
        self.0.push_front((part, 0));
    }

    /// Puts a part behind the others, without the health of endpoints of which these have a newer one.
    fn requeue(&mut self, mut part: Vec<Report>, tries: u32) {
        let others = self.0.iter().flat_map(|(others, _)| others);
        let newer: HashSet<EndpointKey> =
            others.filter(|it| it.health.is_some()).map(Report::endpoint).collect();
        for report in part.iter_mut().filter(|report| newer.contains(&report.endpoint())) {
            report.health = None;
        }
        self.0.push_back((part, tries));
    }
}

/// Records reports of one owner in one transaction. Those of stores that it does not deliver for any more are left out.
async fn record(database: &Database, reports: &[Report]) -> Result<Vec<Settled>, DatabaseError> {
    let Some(owner) = reports.first().map(|report| report.owner) else { return Ok(Vec::new()) };
    let mut work = ownership::open(database).await?;
    let now = work.now();
    let stores = stores_of(reports.iter().map(|report| &report.key));
    let held = queue::lock_owned(&mut work, owner, &stores).await?;
    // Endpoints before deliveries, as every transaction that locks both; and the health of an endpoint before it is disabled.
    let health: Vec<HealthChange> = health_of(reports, &held, now).into_values().collect();
    if !health.is_empty() {
        settlement::put_health(&mut work, &health).await?;
    }
    let disabled = disable(&mut work, to_disable(reports, &held)).await?;
    let Recording { rows, settled } = Recording::of(reports, &held, &disabled, now);
    if !rows.is_empty() {
        settlement::settle(&mut work, &rows).await?;
    }
    for key in &disabled {
        enqueue_dead_letters(&mut work, *key).await?;
    }
    work.commit().await?;
    for EndpointKey { merchant, endpoint } in disabled {
        tracing::info!(%merchant, %endpoint, "webhook endpoint disabled");
    }
    Ok(settled)
}

/// Disables endpoints that are gone or have failed for too long, with a notice to the merchant. Returns them.
async fn disable(
    work: &mut Work,
    wanted: ToDisable,
) -> Result<BTreeSet<EndpointKey>, DatabaseError> {
    let mut disabled = BTreeSet::new();
    for (key, (health_version, reason)) in wanted {
        if !settlement::disable(work, key, health_version, reason).await? {
            continue;
        }
        let details = json!({ "endpoint_id": key.endpoint, "reason": reason });
        merchants::post_notice(work, key.merchant, NoticeKind::WebhookEndpointDisabled, details)
            .await?;
        disabled.insert(key);
    }
    Ok(disabled)
}

/// Enqueues the job that moves the pending deliveries of a disabled endpoint to the dead letters: at once, and again for those of
/// transactions that did not see the disabling and those that were in flight. They may be millions, and the results of all others wait for this transaction.
async fn enqueue_dead_letters(work: &mut Work, key: EndpointKey) -> Result<(), DatabaseError> {
    let EndpointKey { merchant, endpoint } = key;
    let now = work.now();
    for at in [now, now.plus(DeadLetterDeliveries::DELAY)] {
        match jobs::enqueue_at(work, &DeadLetterDeliveries { merchant, endpoint }, at).await {
            Ok(_) => {}
            Err(QueueError::Database(error)) => return Err(error),
            Err(error) => {
                tracing::error!(%error, %endpoint, "deliveries to a disabled webhook endpoint stay pending");
            }
        }
    }
    Ok(())
}

/// The endpoints that reports want to disable: the version of the health that they read, and why.
pub(super) type ToDisable = BTreeMap<EndpointKey, (i32, DisabledReason)>;

/// Returns the endpoints of `held` stores that reports want to disable.
pub(super) fn to_disable(reports: &[Report], held: &HashSet<MerchantId>) -> ToDisable {
    let own = reports.iter().filter(|report| held.contains(&report.endpoint().merchant));
    own.filter_map(|report| Some((report.endpoint(), (report.health_version, report.disable?))))
        .collect()
}

/// What is recorded of reports, and what follows from it in memory.
pub(super) struct Recording {
    pub(super) rows: Vec<Settlement>,
    pub(super) settled: Vec<Settled>,
}

impl Recording {
    /// Returns what is recorded of reports of one owner, which has the `held` stores. `disabled` are the endpoints that these
    /// reports have disabled.
    pub(super) fn of(
        reports: &[Report],
        held: &HashSet<MerchantId>,
        disabled: &BTreeSet<EndpointKey>,
        now: Timestamp,
    ) -> Self {
        let is_held = |report: &&Report| held.contains(&report.endpoint().merchant);
        let health = health_of(reports, held, now);
        let mut rows = Vec::new();
        let mut settled = Vec::new();
        for report in reports {
            if !is_held(&report) {
                settled.push(Settled::without_health(report, Disposition::Fenced));
                continue;
            }
            let (row, disposition) = settle(report, disabled, now);
            rows.push(row);
            let recorded = health.get(&report.endpoint()).filter(|_| report.health.is_some());
            settled.push(Settled {
                health: recorded.map(|change| RecordedHealth {
                    failing_since: change.failing_since,
                    probe_at: change.probe_at,
                }),
                is_disabled: disabled.contains(&report.endpoint()),
                ..Settled::without_health(report, disposition)
            });
        }
        Self { rows, settled }
    }
}

/// Returns the row of a delivery after its report.
fn settle(
    report: &Report,
    disabled: &BTreeSet<EndpointKey>,
    now: Timestamp,
) -> (Settlement, Disposition) {
    let Report { key, counts, is_alone, .. } = *report;
    let failed = counts.after_failure();
    let due = |counts: StartCounts, delay: Duration, outcome: Option<AttemptOutcome>| {
        let due_at = now.plus(delay);
        (Next::Pending { counts, due_at: Some(due_at) }, outcome, Disposition::Due(due_at))
    };
    let dead = |is_final: bool| {
        let next = Next::Dead { attempts: failed.attempts, is_final };
        (next, Some(AttemptOutcome::Dead), Disposition::Done)
    };
    let (next, outcome, disposition) = match report.plan {
        Plan::Delivered => (Next::Removed, Some(AttemptOutcome::Delivered), Disposition::Done),
        Plan::Retry(delay) => due(failed, delay, Some(AttemptOutcome::Retry)),
        Plan::Gone(Some(delay)) if !disabled.contains(&key.endpoint) => {
            due(failed, delay, Some(AttemptOutcome::Retry))
        }
        // An entry of which nothing was sent counts as an attempt too (docs/contract/merchant-api.md#webhook-attempts).
        Plan::Dead => dead(false),
        Plan::Gone(_) | Plan::Quarantined => dead(true),
        Plan::Unsent => {
            let counts = counts.not_started(is_alone);
            (Next::Pending { counts, due_at: None }, None, Disposition::Returned)
        }
        Plan::Postponed(delay) => due(counts.not_started(is_alone), delay, None),
        Plan::Withheld(delay) => {
            let counts = counts.not_started(is_alone);
            let next = Next::Pending { counts, due_at: None };
            (next, None, Disposition::Due(now.plus(delay)))
        }
        Plan::Lost(delay) => due(counts.after_panic(is_alone), delay, None),
    };
    let attempt = outcome
        .zip(report.attempt.as_ref())
        .map(|(outcome, note)| ended(failed.attempts, note, outcome));
    (Settlement { key, counts, next, attempt }, disposition)
}

fn ended(number: i16, note: &AttemptNote, outcome: AttemptOutcome) -> EndedAttempt {
    EndedAttempt {
        number,
        at: note.at,
        status: note.status,
        error: note.error,
        latency_ms: i32::try_from(note.latency.as_millis()).unwrap_or(i32::MAX),
        response: note.response.clone(),
        outcome,
    }
}

/// Returns the health of the endpoints of `held` stores after their last reports.
pub(super) fn health_of(
    reports: &[Report],
    held: &HashSet<MerchantId>,
    now: Timestamp,
) -> BTreeMap<EndpointKey, HealthChange> {
    let own = reports.iter().filter(|report| held.contains(&report.endpoint().merchant));
    let change = |report: &Report| {
        let HealthNote { consecutive_failures, failing_since, probe_delay, latency } =
            report.health?;
        let has_succeeded = consecutive_failures == 0;
        let change = HealthChange {
            key: report.endpoint(),
            health_version: report.health_version,
            has_succeeded,
            consecutive_failures,
            failing_since: if has_succeeded { None } else { failing_since.or(Some(now)) },
            probe_at: probe_delay.map(|delay| now.plus(delay)),
            attempted_at: report.attempt.as_ref().map(|attempt| attempt.at),
            latency,
        };
        Some((report.endpoint(), change))
    };
    own.filter_map(change).collect()
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
    use primitives::{EndpointId, EventId, Id};

    use super::*;
    use crate::table::delivery::Pending;

    #[test]
    fn a_quarantine_is_recorded_and_counted_like_an_attempt_and_sends_nothing() {
        let now: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let merchant = MerchantId::from_random(1);
        let endpoint = EndpointKey { merchant, endpoint: EndpointId::from_random(2) };
        let counts = StartCounts { attempts: 1, starts: 4, lone_starts: 1 };
        let pending =
            Pending { event_at: now, event: EventId::from_random(3), due_at: now, counts };
        let key = DeliveryKey::of(endpoint, &pending);
        let quarantine = Report::quarantined(Uuid::from_u128(4), key, &pending, now);
        let (row, disposition) = settle(&quarantine, &BTreeSet::new(), now);
        assert_eq!(
            (row.next, disposition),
            (Next::Dead { attempts: 2, is_final: true }, Disposition::Done)
        );
        let attempt = row.attempt.unwrap();
        assert_eq!((attempt.number, attempt.error), (2, Some("quarantined")));
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

    /// Returns of each part which failure in a row its reports are, or zero without the health.
    fn numbers(parts: &Parts) -> Vec<Vec<i32>> {
        let number = |report: &Report| report.health.map_or(0, |it| it.consecutive_failures);
        parts.0.iter().map(|(part, _)| part.iter().map(number).collect()).collect()
    }

    #[test]
    fn a_part_that_is_split_stays_in_its_place() {
        let mut parts = Parts(VecDeque::from([(vec![failure(1, 5), failure(1, 6)], 0)]));
        parts.split((1..=4).map(|number| failure(1, number)).collect());
        assert_eq!(numbers(&parts), [[1, 2], [3, 4], [5, 6]]);
    }

    #[test]
    fn a_requeued_part_does_not_undo_the_health_of_newer_reports() {
        let mut parts = Parts(VecDeque::from([(vec![failure(1, 6), failure(2, 7)], 0)]));
        parts.requeue(vec![failure(1, 4), failure(3, 5)], 1);
        assert_eq!(numbers(&parts), [[6, 7], [0, 5]]);
    }
}
