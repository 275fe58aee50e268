//! Records the results of attempts, many in one transaction.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use jobs::QueueError;
use merchants::NoticeKind;
use primitives::Timestamp;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::decision::{AttemptNote, HealthNote, Plan, Report};
use crate::dispatcher::ownership::{self, stores_of};
use crate::table::delivery::{DeliveryKey, EndpointKey};
use crate::table::queue;
use crate::table::settlement::{self, EndedAttempt, HealthChange, Next, Settlement};
use crate::{AttemptOutcome, BuryDeliveries, DisabledReason};

/// Results that are recorded in one transaction.
const BATCH_MAX: usize = 200;
/// For how long results are collected.
const BATCH_WINDOW: Duration = Duration::from_millis(10);
/// Pause after the database was unavailable.
const RETRY_PAUSE: Duration = Duration::from_millis(200);
/// How often a single result is tried again that waits for a lock. The others wait meanwhile.
const CONTENDED_TRIES: u32 = 2;

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
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
    pub(super) fate: Fate,
    /// `None` if nothing about the health of the endpoint was recorded.
    pub(super) health: Option<RecordedHealth>,
    /// The endpoint was disabled.
    pub(super) is_disabled: bool,
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

/// Records a batch: again while the database is unavailable, and in parts if it refuses one of the reports or somebody
/// has locked the row of one.
async fn record_batch(
    database: &Database,
    batch: Vec<Report>,
    settled: &UnboundedSender<Vec<Settled>>,
) {
    let mut parts = VecDeque::from([(batch, 0)]);
    while let Some((mut part, tries)) = parts.pop_front() {
        let error = match record(database, &part).await {
            Ok(done) => {
                count(&part, &done);
                let _ = settled.send(done);
                continue;
            }
            Err(error) => error,
        };
        let is_contended =
            matches!(error, DatabaseError::Contended(_) | DatabaseError::TransactionTimeout);
        let is_refused = matches!(error, DatabaseError::Internal(_));
        if (is_contended || is_refused) && part.len() > 1 {
            let rest = part.split_off(part.len() / 2);
            parts.extend([(rest, 0), (part, 0)]);
        } else if is_refused || (is_contended && tries >= CONTENDED_TRIES) {
            let Some(report) = part.pop() else { continue };
            tracing::error!(
                %error, endpoint = %report.key.endpoint.endpoint, event = %report.key.event,
                "the result of a webhook cannot be recorded; it is sent again, and quarantined if that happens again and again"
            );
            let _ = settled.send(vec![settled_as(&report, Fate::Unrecordable)]);
        } else {
            tracing::warn!(%error, results = part.len(), "results of webhooks cannot be recorded; retrying");
            tokio::time::sleep(RETRY_PAUSE).await;
            parts.push_back((part, tries + 1));
        }
    }
}

pub(super) fn settled_as(report: &Report, fate: Fate) -> Settled {
    let Report { owner, key, .. } = *report;
    Settled { owner, key, fate, health: None, is_disabled: false }
}

/// Records reports of one owner in one transaction. Those of stores that it does not deliver for any more are left out.
async fn record(database: &Database, reports: &[Report]) -> Result<Vec<Settled>, DatabaseError> {
    let Some(owner) = reports.first().map(|report| report.owner) else { return Ok(Vec::new()) };
    let mut work = ownership::open(database).await?;
    let now = work.now();
    let stores = stores_of(reports.iter().map(|report| &report.key));
    let held = queue::lock_owned(&mut work, owner, &stores).await?;
    let (own, fenced): (Vec<&Report>, Vec<&Report>) =
        reports.iter().partition(|report| held.contains(&report.key.endpoint.merchant));
    // Endpoints before deliveries, as everybody who locks both.
    let disabled = disable(&mut work, &own).await?;
    let settlements: Vec<(Settlement, Fate)> =
        own.iter().map(|report| settle(report, &disabled, now)).collect();
    let (rows, fates): (Vec<Settlement>, Vec<Fate>) = settlements.into_iter().unzip();
    if !rows.is_empty() {
        settlement::settle(&mut work, &rows).await?;
    }
    for key in &disabled {
        bury(&mut work, *key).await?;
    }
    let health = note_health(&own, now);
    if !health.is_empty() {
        let changes: Vec<HealthChange> = health.values().copied().collect();
        settlement::put_health(&mut work, &changes).await?;
    }
    work.commit().await?;
    let mut settled: Vec<Settled> =
        fenced.into_iter().map(|report| settled_as(report, Fate::Fenced)).collect();
    for (report, fate) in own.into_iter().zip(fates) {
        let recorded = health.get(&report.endpoint()).filter(|_| report.health.is_some());
        settled.push(Settled {
            health: recorded.map(|change| RecordedHealth {
                failing_since: change.failing_since,
                probe_at: change.probe_at,
            }),
            is_disabled: disabled.contains(&report.endpoint()),
            ..settled_as(report, fate)
        });
    }
    Ok(settled)
}

/// Disables endpoints that are gone or have failed for too long, with a notice to the merchant. Returns them.
async fn disable(
    work: &mut Work,
    reports: &[&Report],
) -> Result<HashSet<EndpointKey>, DatabaseError> {
    let wanted: BTreeMap<EndpointKey, (i32, DisabledReason)> = reports
        .iter()
        .filter_map(|report| Some((report.endpoint(), (report.version, report.disable?))))
        .collect();
    let mut disabled = HashSet::new();
    for (key, (version, reason)) in wanted {
        if !settlement::disable(work, key, version, reason).await? {
            continue;
        }
        let details = json!({ "endpoint_id": key.endpoint, "reason": reason });
        merchants::post_notice(work, key.merchant, NoticeKind::WebhookEndpointDisabled, details)
            .await?;
        tracing::info!(merchant = %key.merchant, endpoint = %key.endpoint, %reason, "webhook endpoint disabled");
        disabled.insert(key);
    }
    Ok(disabled)
}

/// Moves the pending deliveries of a disabled endpoint to the dead letters. They may be millions: a job moves the rest.
async fn bury(work: &mut Work, key: EndpointKey) -> Result<(), DatabaseError> {
    let EndpointKey { merchant, endpoint } = key;
    if settlement::bury(work, key).await? < u64::from(settlement::BURIED_MAX) {
        return Ok(());
    }
    match jobs::enqueue(work, &BuryDeliveries { merchant, endpoint }).await {
        Err(QueueError::Database(error)) => Err(error),
        Err(error) => {
            tracing::error!(%error, %endpoint, "deliveries to a disabled webhook endpoint stay pending");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// Returns the row of a delivery after its report.
pub(super) fn settle(
    report: &Report,
    disabled: &HashSet<EndpointKey>,
    now: Timestamp,
) -> (Settlement, Fate) {
    let Report { key, attempts, starts, lone_starts, .. } = *report;
    let failed = attempts.saturating_add(1);
    let retry = |delay: Duration| {
        let due_at = now.plus(delay);
        let due = Some(due_at);
        let next = Next::Pending { attempts: failed, starts: failed, lone_starts: 0, due_at: due };
        (next, Some(AttemptOutcome::Retry), Fate::Due(due_at))
    };
    let dead = (Next::Dead { attempts: failed }, Some(AttemptOutcome::Dead), Fate::Done);
    let again = |starts: i16, lone_starts: i16, delay: Duration| {
        let due_at = now.plus(delay);
        let next = Next::Pending { attempts, starts, lone_starts, due_at: Some(due_at) };
        (next, None, Fate::Due(due_at))
    };
    let before = starts.saturating_sub(1);
    let (next, outcome, fate) = match report.plan {
        Plan::Delivered => (Next::Removed, Some(AttemptOutcome::Delivered), Fate::Done),
        Plan::Retry(delay) => retry(delay),
        Plan::Gone(Some(delay)) if !disabled.contains(&key.endpoint) => retry(delay),
        Plan::Gone(_) | Plan::Dead => dead,
        Plan::Quarantined => (Next::Dead { attempts }, Some(AttemptOutcome::Dead), Fate::Done),
        Plan::Unsent => {
            let next = Next::Pending { attempts, starts: before, lone_starts, due_at: None };
            (next, None, Fate::Returned)
        }
        Plan::Postponed(delay) => again(before, lone_starts, delay),
        Plan::Lost(delay) => again(starts, lone_starts.saturating_add(1), delay),
    };
    let attempt =
        outcome.zip(report.attempt.as_ref()).map(|(outcome, note)| ended(failed, note, outcome));
    (Settlement { key, attempts, starts, next, attempt }, fate)
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

/// Returns the health of the endpoints after their last reports.
pub(super) fn note_health(
    reports: &[&Report],
    now: Timestamp,
) -> HashMap<EndpointKey, HealthChange> {
    let change = |report: &&Report| {
        let HealthNote { consecutive_failures, failing_since, probe_delay } = report.health?;
        let has_succeeded = consecutive_failures == 0;
        let change = HealthChange {
            key: report.endpoint(),
            version: report.version,
            has_succeeded,
            consecutive_failures,
            failing_since: if has_succeeded { None } else { failing_since.or(Some(now)) },
            probe_at: probe_delay.map(|delay| now.plus(delay)),
        };
        Some((report.endpoint(), change))
    };
    reports.iter().filter_map(change).collect()
}

/// Records the metrics of a batch.
fn count(reports: &[Report], settled: &[Settled]) {
    let fenced = settled.iter().filter(|it| it.fate == Fate::Fenced).count();
    if fenced > 0 {
        metrics::counter!("souk_webhook_fenced_total")
            .increment(u64::try_from(fenced).unwrap_or(0));
    }
    let fates: HashMap<DeliveryKey, Fate> = settled.iter().map(|it| (it.key, it.fate)).collect();
    for report in reports.iter().filter(|report| report.attempt.is_some()) {
        let outcome = match (report.plan, fates.get(&report.key)) {
            (_, Some(Fate::Fenced)) => continue,
            (Plan::Delivered, _) => "delivered",
            (_, Some(Fate::Due(_))) => "retry",
            _ => "dead",
        };
        metrics::counter!("souk_webhook_attempts_total", "outcome" => outcome).increment(1);
        if report.plan == Plan::Quarantined {
            metrics::counter!("souk_webhook_quarantined_total").increment(1);
            tracing::error!(
                endpoint = %report.key.endpoint.endpoint, event = %report.key.event,
                "webhook quarantined as a dead letter: its attempts repeatedly ended the process or panicked"
            );
        }
    }
}
