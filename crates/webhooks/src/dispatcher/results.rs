//! What is recorded of the results of attempts, many in one transaction.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use database::{Database, DatabaseError, Work};
use jobs::QueueError;
use merchants::NoticeKind;
use primitives::{MerchantId, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::dispatcher::StartCounts;
use crate::dispatcher::decision::{AttemptNote, HealthNote, Plan, Report};
use crate::dispatcher::ownership::{self, stores_of};
use crate::table::delivery::{DeliveryKey, EndpointKey};
use crate::table::queue;
use crate::table::settlement::{self, EndedAttempt, HealthChange, Next, Settlement};
use crate::{AttemptOutcome, DeadLetterDeliveries, DisabledReason};

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
    /// What was to be recorded about the health of the endpoint; `None` if nothing. It is not recorded if the endpoint was changed meanwhile.
    pub(super) health: Option<RecordedHealth>,
    /// The endpoint was disabled.
    pub(super) is_disabled: bool,
}

impl Settled {
    pub(super) fn without_health(report: &Report, disposition: Disposition) -> Self {
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

/// Records reports of one owner in one transaction, which waits for a lock for at most so long. Those of stores that it does not deliver
/// for any more are left out.
pub(super) async fn record(
    database: &Database,
    reports: &[Report],
    lock_max: Duration,
) -> Result<Vec<Settled>, DatabaseError> {
    let Some(owner) = reports.first().map(|report| report.owner) else { return Ok(Vec::new()) };
    let mut work = ownership::open_within(database, lock_max).await?;
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

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, EventId, Id};

    use super::*;
    use crate::table::delivery::Pending;

    #[test]
    fn a_quarantine_is_recorded_like_an_attempt() {
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
    }
}
