//! What follows from the end of an attempt: for the delivery, for the endpoint and for its health. Pure rules.

use std::time::Duration;

use outbound::RequestError;
use primitives::Timestamp;
use uuid::Uuid;

use crate::dispatcher::StartCounts;
use crate::dispatcher::attempt::{AttemptResult, Outcome};
use crate::dispatcher::health::Health;
use crate::table::delivery::{DeliveryKey, EndpointKey, Pending};
use crate::{DisabledReason, schedule};

/// When a delivery is attempted again whose attempt panicked.
const PANIC_DELAY: Duration = Duration::from_secs(30);
/// When a delivery is attempted again whose request was given up.
const GIVEN_UP_DELAY: Duration = Duration::from_secs(5);
/// When an endpoint gets attempts again whose secret could not be read.
const FAULT_DELAY: Duration = Duration::from_mins(5);

/// How a delivery continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    Delivered,
    /// Another attempt after the delay.
    Retry(Duration),
    Dead,
    /// The endpoint is gone. If it was changed meanwhile, it is not, and the delivery is attempted again after the delay.
    Gone(Option<Duration>),
    /// As if it had not been started.
    Unsent,
    /// As if it had not been started, after a delay.
    Postponed(Duration),
    /// As if it had not been started, and the endpoint gets no other attempt before the delay.
    Withheld(Duration),
    /// Started without a result, through its own fault, and attempted again after a delay.
    Lost(Duration),
    /// Its attempts crashed the process, or panicked.
    Quarantined,
}

/// What is recorded of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttemptNote {
    pub(super) at: Timestamp,
    pub(super) latency: Duration,
    pub(super) status: Option<i16>,
    pub(super) error: Option<&'static str>,
    pub(super) response: Option<Vec<u8>>,
}

/// What is recorded of the health of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HealthNote {
    pub(super) consecutive_failures: i32,
    /// `None` after a success, and for the first failure: its time is that of the record.
    pub(super) failing_since: Option<Timestamp>,
    /// `None` while the circuit is closed.
    pub(super) probe_delay: Option<Duration>,
    /// Of the last requests, smoothed.
    pub(super) latency: Option<Duration>,
}

/// Everything that is recorded of a delivery.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) owner: Uuid,
    pub(super) key: DeliveryKey,
    /// Of the health of the endpoint; zero if it was not read.
    pub(super) health_version: i32,
    /// With the last start.
    pub(super) counts: StartCounts,
    /// The last start was that of a suspect, alone.
    pub(super) is_alone: bool,
    pub(super) plan: Plan,
    pub(super) attempt: Option<AttemptNote>,
    pub(super) health: Option<HealthNote>,
    pub(super) disable: Option<DisabledReason>,
}

impl Report {
    pub(super) fn endpoint(&self) -> EndpointKey {
        self.key.endpoint
    }

    /// Returns whether it is that of an attempt. A quarantine is recorded like one, and sends nothing.
    pub(super) fn is_attempt(&self) -> bool {
        self.attempt.is_some() && self.plan != Plan::Quarantined
    }

    /// Reports a delivery that is not attempted any more.
    pub(super) fn quarantined(
        owner: Uuid,
        key: DeliveryKey,
        pending: &Pending,
        now: Timestamp,
    ) -> Self {
        Self {
            owner,
            key,
            health_version: 0,
            counts: pending.counts,
            is_alone: false,
            plan: Plan::Quarantined,
            attempt: Some(quarantine_note(now)),
            health: None,
            disable: None,
        }
    }
}

fn quarantine_note(at: Timestamp) -> AttemptNote {
    let (status, error, response) = (None, Some("quarantined"), None);
    AttemptNote { at, latency: Duration::ZERO, status, error, response }
}

/// Decides what follows from an attempt. The health of the endpoint is `None` if it is not in memory any more.
pub(super) fn decide(
    result: &AttemptResult,
    health: Option<&mut Health>,
    now: Timestamp,
) -> Report {
    let (plan, disable) = plan(result, health.as_deref(), now);
    let is_attempt = matches!(plan, Plan::Delivered | Plan::Retry(_) | Plan::Dead | Plan::Gone(_));
    let is_answer = matches!(result.outcome, Outcome::Response { .. } | Outcome::NoResponse(_));
    let health =
        health.filter(|_| is_answer).and_then(|health| note_health(health, result, plan, now));
    let attempt = match plan {
        Plan::Quarantined => Some(quarantine_note(result.at)),
        _ if is_attempt => note_attempt(result),
        _ => None,
    };
    let AttemptResult { owner, key, health_version, counts, is_alone, .. } = *result;
    Report { owner, key, health_version, counts, is_alone, plan, attempt, health, disable }
}

fn plan(
    result: &AttemptResult,
    health: Option<&Health>,
    now: Timestamp,
) -> (Plan, Option<DisabledReason>) {
    let retry_after = match &result.outcome {
        outcome if outcome.is_delivered() => return (Plan::Delivered, None),
        Outcome::Response { retry_after, .. } => *retry_after,
        Outcome::NoResponse(_) => None,
        Outcome::Panicked => return (after_panic(result), None),
        Outcome::SecretUnreadable => return (Plan::Withheld(FAULT_DELAY), None),
        Outcome::GivenUp => return (Plan::Postponed(GIVEN_UP_DELAY), None),
        Outcome::BodyExpired => return (Plan::Dead, None),
        Outcome::Unsent => return (Plan::Unsent, None),
    };
    let failed = u16::try_from(result.counts.attempts).unwrap_or(u16::MAX).saturating_add(1);
    let delay = schedule::retry_delay(failed, retry_after, result.jitter);
    if matches!(result.outcome, Outcome::Response { status: 410, .. }) {
        return (Plan::Gone(delay), Some(DisabledReason::Gone));
    }
    let failing_since = health.and_then(|health| health.failing_since);
    let is_hopeless = failing_since.is_some_and(|at| schedule::has_failed_too_long(at, now));
    let disable = is_hopeless.then_some(DisabledReason::Failing);
    (delay.map_or(Plan::Dead, Plan::Retry), disable)
}

fn after_panic(result: &AttemptResult) -> Plan {
    if result.counts.after_panic(result.is_alone).is_quarantined() {
        Plan::Quarantined
    } else {
        Plan::Lost(PANIC_DELAY)
    }
}

fn note_health(
    health: &mut Health,
    result: &AttemptResult,
    plan: Plan,
    now: Timestamp,
) -> Option<HealthNote> {
    let is_delivered = plan == Plan::Delivered;
    // Name servers say nothing about the receiver: after an outage of them no endpoint is slow.
    if !matches!(result.outcome, Outcome::NoResponse(RequestError::DnsFailed)) {
        health.record_latency(result.latency, is_delivered);
    }
    if is_delivered {
        let is_new = health.succeed(now);
        let (failing_since, probe_delay, latency) = (None, None, health.latency);
        let note = HealthNote { consecutive_failures: 0, failing_since, probe_delay, latency };
        return is_new.then_some(note);
    }
    health.fail();
    Some(HealthNote {
        consecutive_failures: health.consecutive_failures,
        failing_since: health.failing_since,
        probe_delay: schedule::probe_delay(health.consecutive_failures, result.jitter),
        latency: health.latency,
    })
}

/// Returns what is recorded of an attempt; `None` if nothing was sent because of a fault of this server.
fn note_attempt(result: &AttemptResult) -> Option<AttemptNote> {
    let (status, error, response) = match &result.outcome {
        Outcome::Response { status, start, .. } => {
            (i16::try_from(*status).ok(), None, Some(start.clone()))
        }
        Outcome::NoResponse(error) => (None, Some(error.as_str()), None),
        Outcome::BodyExpired => (None, Some("body_expired"), None),
        Outcome::Panicked | Outcome::GivenUp | Outcome::SecretUnreadable | Outcome::Unsent => {
            return None;
        }
    };
    Some(AttemptNote { at: result.at, latency: result.latency, status, error, response })
}

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, EventId, Id, MerchantId};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::dispatcher::endpoint_queue::EndpointQueue;
    use crate::schedule::Jitter;
    use crate::table::delivery::StoredHealth;

    fn now() -> Timestamp {
        "2026-11-15T08:00:00Z".parse().unwrap()
    }

    fn ended(attempts: i16, starts: i16, outcome: Outcome) -> AttemptResult {
        let endpoint = EndpointKey {
            merchant: MerchantId::from_random(1),
            endpoint: EndpointId::from_random(2),
        };
        AttemptResult {
            owner: Uuid::from_u128(3),
            lane: 1,
            key: DeliveryKey { endpoint, event_at: now(), event: EventId::from_random(4) },
            health_version: 7,
            counts: StartCounts { attempts, starts, lone_starts: 0 },
            is_alone: false,
            is_first: attempts == 0,
            jitter: Jitter::random(&mut StdRng::seed_from_u64(1)),
            at: now(),
            latency: Duration::from_millis(12),
            outcome,
        }
    }

    fn response(status: u16) -> Outcome {
        Outcome::Response { status, retry_after: None, start: b"oops".to_vec() }
    }

    fn health(failing_since: Option<Timestamp>) -> Health {
        let consecutive_failures = i32::from(failing_since.is_some());
        let stored = StoredHealth {
            last_success_at: None,
            failing_since,
            consecutive_failures,
            probe_at: None,
            latency: None,
        };
        let mut queue = EndpointQueue::new();
        queue.refill(Some(stored), &[], now());
        queue.health
    }

    #[test]
    fn only_2xx_is_a_delivery() {
        for (status, delivers) in [
            (200, true),
            (204, true),
            (299, true),
            (199, false),
            (301, false),
            (404, false),
            (500, false),
        ] {
            let report = decide(&ended(0, 1, response(status)), Some(&mut health(None)), now());
            assert_eq!(report.plan == Plan::Delivered, delivers, "{status}");
            assert_eq!(report.disable, None, "{status}");
            assert_eq!(report.attempt.unwrap().status, i16::try_from(status).ok());
        }
    }

    #[test]
    fn a_failure_is_retried_until_the_tenth() {
        let plan = |attempts| {
            let error = Outcome::NoResponse(RequestError::Timeout);
            let report =
                decide(&ended(attempts, attempts + 1, error), Some(&mut health(None)), now());
            assert_eq!(report.attempt.unwrap().error, Some("timeout"));
            assert_eq!(report.health.unwrap().consecutive_failures, 1);
            report.plan
        };
        assert!(matches!(plan(0), Plan::Retry(delay) if (4..=6).contains(&delay.as_secs())));
        assert!(matches!(plan(8), Plan::Retry(_)));
        assert_eq!(plan(9), Plan::Dead);
    }

    #[test]
    fn the_time_of_a_request_without_a_response_is_recorded_with_the_health() {
        let latency_of = |outcome, latency| {
            let result = AttemptResult { latency, ..ended(0, 1, outcome) };
            decide(&result, Some(&mut health(None)), now()).health.unwrap().latency
        };
        let timeout = Outcome::NoResponse(RequestError::Timeout);
        let seconds = Duration::from_secs;
        assert_eq!(latency_of(timeout, seconds(10)), Some(seconds(10)));
        assert_eq!(latency_of(response(500), seconds(4)), Some(seconds(4)));
        assert_eq!(latency_of(response(500), Duration::from_millis(5)), None);
        let no_address = Outcome::NoResponse(RequestError::DnsFailed);
        assert_eq!(latency_of(no_address, seconds(2)), None);
    }

    #[test]
    fn an_endpoint_that_is_gone_or_has_failed_for_days_is_disabled() {
        let day = Duration::from_hours(24);
        let disable = |outcome, failing_since| {
            decide(&ended(0, 1, outcome), Some(&mut health(failing_since)), now()).disable
        };
        assert_eq!(disable(response(410), None), Some(DisabledReason::Gone));
        assert_eq!(disable(response(500), Some(now().minus(day * 4))), None);
        assert_eq!(
            disable(response(500), Some(now().minus(day * 5))),
            Some(DisabledReason::Failing)
        );
        assert_eq!(disable(response(200), Some(now().minus(day * 5))), None);
    }

    #[test]
    fn faults_of_this_server_use_up_no_attempt_and_say_nothing_about_the_endpoint() {
        for (outcome, plan) in [
            (Outcome::SecretUnreadable, Plan::Withheld(FAULT_DELAY)),
            (Outcome::GivenUp, Plan::Postponed(GIVEN_UP_DELAY)),
            (Outcome::Panicked, Plan::Lost(PANIC_DELAY)),
            (Outcome::Unsent, Plan::Unsent),
        ] {
            let mut health = health(None);
            let report = decide(&ended(1, 2, outcome), Some(&mut health), now());
            assert_eq!(report.plan, plan);
            assert!(report.attempt.is_none() && report.health.is_none());
            assert_eq!(health.consecutive_failures, 0);
        }
    }

    #[test]
    fn the_third_panic_in_a_row_quarantines_the_delivery() {
        let plan = |starts, lone_starts| {
            let counts = StartCounts { attempts: 1, starts, lone_starts };
            let result = AttemptResult { counts, ..ended(1, starts, Outcome::Panicked) };
            decide(&result, None, now())
        };
        assert_eq!(plan(2, 0).plan, Plan::Lost(PANIC_DELAY));
        assert_eq!(plan(3, 1).plan, Plan::Lost(PANIC_DELAY));
        for lost_before in [0, 1, 2] {
            let third = plan(4, lost_before);
            assert_eq!(third.plan, Plan::Quarantined, "whatever the first two were lost beside");
            assert_eq!(third.attempt.unwrap().error, Some("quarantined"));
        }
    }

    #[test]
    fn the_time_of_a_delivery_is_that_of_a_first_attempt_since_its_event() {
        let minute = Duration::from_mins(1);
        let due = |attempts, due_at| {
            let counts = StartCounts::resulted(attempts);
            Pending { event_at: now(), event: EventId::from_random(4), due_at, counts }.is_first()
        };
        assert!(due(0, now()));
        assert!(!due(0, now().plus(minute)), "it was queued again");
        assert!(!due(1, now()));
        let time = |is_first, status| {
            let at = now().plus(Duration::from_secs(3));
            let result = AttemptResult { is_first, at, ..ended(0, 1, response(status)) };
            result.delivery_time()
        };
        assert_eq!(time(true, 204), Some(Duration::from_millis(3_012)));
        assert_eq!((time(true, 500), time(false, 204)), (None, None));
    }

    #[test]
    fn a_result_of_an_endpoint_that_is_not_in_memory_changes_no_health() {
        let report = decide(&ended(0, 1, response(500)), None, now());
        assert!(matches!(report.plan, Plan::Retry(_)) && report.health.is_none());
    }
}
