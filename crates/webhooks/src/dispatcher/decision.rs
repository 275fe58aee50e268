//! What follows from the end of an attempt: for the delivery, for the endpoint and for its health. Pure rules.

use std::time::Duration;

use primitives::Timestamp;
use uuid::Uuid;

use crate::dispatcher::attempt::{Ended, Outcome};
use crate::dispatcher::health::Health;
use crate::dispatcher::suspicion::is_quarantined;
use crate::table::delivery::{DeliveryKey, EndpointKey, Pending};
use crate::{DisabledReason, schedule};

/// When a delivery is attempted again whose attempt panicked.
const PANIC_DELAY: Duration = Duration::from_secs(30);
/// When a delivery is attempted again whose request was given up.
const GIVEN_UP_DELAY: Duration = Duration::from_secs(5);
/// When a delivery is attempted again that this server could not send.
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
    /// Started without a result, through its own fault, and attempted again after a delay.
    Lost(Duration),
    /// Its attempts ended the process, or panicked.
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
}

/// Everything that is recorded of a delivery.
#[derive(Debug, Clone)]
pub(super) struct Report {
    pub(super) owner: Uuid,
    pub(super) key: DeliveryKey,
    /// The version of the endpoint; zero if it was not read.
    pub(super) version: i32,
    pub(super) attempts: i16,
    pub(super) starts: i16,
    /// Without this start.
    pub(super) lone_starts: i16,
    pub(super) plan: Plan,
    pub(super) attempt: Option<AttemptNote>,
    pub(super) health: Option<HealthNote>,
    pub(super) disable: Option<DisabledReason>,
}

impl Report {
    pub(super) fn endpoint(&self) -> EndpointKey {
        self.key.endpoint
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
            version: 0,
            attempts: pending.attempts,
            starts: pending.starts,
            lone_starts: pending.lone_starts,
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
pub(super) fn decide(ended: &Ended, health: Option<&mut Health>, now: Timestamp) -> Report {
    let (plan, disable) = plan(ended, health.as_deref(), now);
    let is_attempt = matches!(plan, Plan::Delivered | Plan::Retry(_) | Plan::Dead | Plan::Gone(_));
    let is_answer = matches!(ended.outcome, Outcome::Response { .. } | Outcome::NoResponse(_));
    let health =
        health.filter(|_| is_answer).and_then(|health| note_health(health, ended, plan, now));
    let attempt = match plan {
        Plan::Quarantined => Some(quarantine_note(ended.at)),
        _ if is_attempt => Some(note_attempt(ended)),
        _ => None,
    };
    let Ended { owner, key, version, attempts, starts, lone_starts, .. } = *ended;
    Report { owner, key, version, attempts, starts, lone_starts, plan, attempt, health, disable }
}

fn plan(ended: &Ended, health: Option<&Health>, now: Timestamp) -> (Plan, Option<DisabledReason>) {
    let retry_after = match &ended.outcome {
        Outcome::Response { status: 200..=299, .. } => return (Plan::Delivered, None),
        Outcome::Response { retry_after, .. } => *retry_after,
        Outcome::NoResponse(_) => None,
        Outcome::Panicked => return (after_panic(ended), None),
        Outcome::SecretUnreadable => return (Plan::Postponed(FAULT_DELAY), None),
        Outcome::GivenUp => return (Plan::Postponed(GIVEN_UP_DELAY), None),
        Outcome::BodyExpired => return (Plan::Dead, None),
        Outcome::Unsent => return (Plan::Unsent, None),
    };
    let failed = u16::try_from(ended.attempts).unwrap_or(u16::MAX).saturating_add(1);
    let delay = schedule::retry_delay(failed, retry_after, ended.jitter);
    if matches!(ended.outcome, Outcome::Response { status: 410, .. }) {
        return (Plan::Gone(delay), Some(DisabledReason::Gone));
    }
    let failing_since = health.and_then(|health| health.failing_since);
    let is_hopeless = failing_since.is_some_and(|at| schedule::has_failed_too_long(at, now));
    let disable = is_hopeless.then_some(DisabledReason::Failing);
    (delay.map_or(Plan::Dead, Plan::Retry), disable)
}

/// A panic counts as a start that was lost alone: nothing else caused it.
fn after_panic(ended: &Ended) -> Plan {
    if is_quarantined(ended.starts, ended.attempts, ended.lone_starts.saturating_add(1)) {
        Plan::Quarantined
    } else {
        Plan::Lost(PANIC_DELAY)
    }
}

fn note_health(
    health: &mut Health,
    ended: &Ended,
    plan: Plan,
    now: Timestamp,
) -> Option<HealthNote> {
    if plan == Plan::Delivered {
        let note = HealthNote { consecutive_failures: 0, failing_since: None, probe_delay: None };
        return health.succeed(now).then_some(note);
    }
    health.fail();
    Some(HealthNote {
        consecutive_failures: health.consecutive_failures,
        failing_since: health.failing_since,
        probe_delay: schedule::probe_delay(health.consecutive_failures, ended.jitter),
    })
}

fn note_attempt(ended: &Ended) -> AttemptNote {
    let (status, error, response) = match &ended.outcome {
        Outcome::Response { status, start, .. } => {
            (i16::try_from(*status).ok(), None, Some(start.clone()))
        }
        Outcome::NoResponse(error) => (None, Some(error.as_str()), None),
        Outcome::BodyExpired => (None, Some("body_expired"), None),
        Outcome::Panicked | Outcome::GivenUp | Outcome::SecretUnreadable | Outcome::Unsent => {
            (None, Some("internal_error"), None)
        }
    };
    AttemptNote { at: ended.at, latency: ended.latency, status, error, response }
}

#[cfg(test)]
mod tests {
    use outbound::RequestError;
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

    fn ended(attempts: i16, starts: i16, outcome: Outcome) -> Ended {
        let endpoint = EndpointKey {
            merchant: MerchantId::from_random(1),
            endpoint: EndpointId::from_random(2),
        };
        Ended {
            owner: Uuid::from_u128(3),
            key: DeliveryKey { endpoint, event_at: now(), event: EventId::from_random(4) },
            version: 7,
            attempts,
            starts,
            lone_starts: 0,
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
            (Outcome::SecretUnreadable, Plan::Postponed(FAULT_DELAY)),
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
            let ended = Ended { lone_starts, ..ended(1, starts, Outcome::Panicked) };
            decide(&ended, None, now())
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
    fn a_result_of_an_endpoint_that_is_not_in_memory_changes_no_health() {
        let report = decide(&ended(0, 1, response(500)), None, now());
        assert!(matches!(report.plan, Plan::Retry(_)) && report.health.is_none());
    }
}
