//! What is known of the health of an endpoint, in memory.

use std::time::Duration;

use primitives::Timestamp;

use crate::dispatcher::slots::Class;
use crate::schedule::CIRCUIT_FAILURES;
use crate::table::delivery::StoredHealth;

/// A request that takes longer is slow: a slot then serves less than one endpoint a second.
pub(super) const SLOW: Duration = Duration::from_secs(1);
/// What a slower request counts as. A timeout counts as what it took; after it, nine fast requests at most make an endpoint fast.
const COUNTED_MAX: Duration = outbound::TOTAL_TIMEOUT;
/// The part of a request in the time of the last ones: one that is a little slow does not make its endpoint slow.
const LAST_PART: u32 = 4;

/// Whether an endpoint gets attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Circuit {
    Closed,
    /// None but a probe.
    Open {
        /// `None` until the last failure is recorded.
        probe_at: Option<Timestamp>,
    },
}

/// What the last attempts say about an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Health {
    has_succeeded: bool,
    pub(super) consecutive_failures: i32,
    /// `None` without a failure, or until the first one is recorded.
    pub(super) failing_since: Option<Timestamp>,
    /// When a success was recorded last.
    recorded_success_at: Option<Timestamp>,
    /// The time of the last requests, smoothed; `None` before the first one that counts.
    pub(super) latency: Option<Duration>,
    pub(super) circuit: Circuit,
}

impl Health {
    pub(super) const UNTRIED: Self = Self {
        has_succeeded: false,
        consecutive_failures: 0,
        failing_since: None,
        recorded_success_at: None,
        latency: None,
        circuit: Circuit::Closed,
    };

    pub(super) fn of(stored: Option<StoredHealth>) -> Self {
        let Some(stored) = stored else { return Self::UNTRIED };
        let circuit = match stored.probe_at {
            Some(probe_at) => Circuit::Open { probe_at: Some(probe_at) },
            None => Circuit::Closed,
        };
        Self {
            has_succeeded: stored.last_success_at.is_some(),
            consecutive_failures: stored.consecutive_failures,
            failing_since: stored.failing_since,
            recorded_success_at: stored.last_success_at,
            latency: stored.latency,
            circuit,
        }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            _ if self.consecutive_failures > 0 => Class::Failing,
            _ if self.has_succeeded && self.is_slow() => Class::Slow,
            _ if self.has_succeeded => Class::Healthy,
            _ => Class::Untried,
        }
    }

    fn is_slow(&self) -> bool {
        self.latency.is_some_and(|latency| latency > SLOW)
    }

    /// Counts the time of a request, before its success or failure. A failure counts if it took longer than the requests before,
    /// as a timeout does: one that is quick says nothing about how long a success takes.
    pub(super) fn record_latency(&mut self, latency: Duration, has_succeeded: bool) {
        let latency = latency.min(COUNTED_MAX);
        if !has_succeeded && latency <= self.latency.unwrap_or(SLOW) {
            return;
        }
        if self.is_slow() {
            // Recorded again, if it is not slow any more.
            self.recorded_success_at = None;
        }
        let smoothed = |before: Duration| (before * (LAST_PART - 1) + latency) / LAST_PART;
        self.latency = Some(self.latency.map_or(latency, smoothed));
    }

    /// Returns how many requests one after another are expected to end within a time.
    pub(super) fn requests_within(&self, time: Duration) -> usize {
        let latency = self.latency.map_or(1, |latency| latency.as_millis().max(1));
        usize::try_from(time.as_millis() / latency).unwrap_or(usize::MAX).max(1)
    }

    /// Counts a success. Returns whether it is to be recorded: each of a slow endpoint; of any other, the first after something
    /// else, and then once a minute.
    pub(super) fn succeed(&mut self, now: Timestamp) -> bool {
        const INTERVAL: Duration = Duration::from_mins(1);
        let is_recent = |at: Timestamp| now.since(at) < INTERVAL;
        let is_new = self.class() != Class::Healthy
            || !self.recorded_success_at.is_some_and(is_recent)
            || self.circuit != Circuit::Closed;
        *self = Self {
            has_succeeded: true,
            recorded_success_at: self.recorded_success_at,
            latency: self.latency,
            ..Self::UNTRIED
        };
        if is_new {
            self.recorded_success_at = Some(now);
        }
        is_new
    }

    /// Counts a failure. From the fifth in a row on the circuit is open.
    pub(super) fn fail(&mut self) {
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        if self.consecutive_failures >= CIRCUIT_FAILURES {
            self.circuit = Circuit::Open { probe_at: None };
        }
    }

    /// Takes over the times with which a failure was recorded.
    pub(super) fn recorded(&mut self, failing_since: Option<Timestamp>, at: Option<Timestamp>) {
        if self.consecutive_failures > 0 && self.failing_since.is_none() {
            self.failing_since = failing_since;
        }
        if let Circuit::Open { probe_at } = &mut self.circuit {
            *probe_at = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn now() -> Timestamp {
        "2026-11-15T08:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_success_is_recorded_once_a_minute() {
        let mut health = Health::UNTRIED;
        assert!(health.succeed(now()));
        assert!(!health.succeed(now().plus(Duration::from_secs(59))));
        assert!(health.succeed(now().plus(MINUTE)));
        health.fail();
        assert_eq!(health.class(), Class::Failing);
        assert!(health.succeed(now().plus(MINUTE)));
        assert_eq!(health.class(), Class::Healthy);
    }

    #[test]
    fn an_endpoint_is_slow_while_its_last_requests_took_long() {
        let mut health = Health::UNTRIED;
        let mut after = |millis| {
            health.record_latency(Duration::from_millis(millis), true);
            (health.succeed(now()), health.class())
        };
        assert_eq!(after(50), (true, Class::Healthy));
        assert_eq!(after(3_500), (false, Class::Healthy), "one that was a little slow");
        assert_eq!(after(9_000), (true, Class::Slow));
        assert_eq!(after(50), (true, Class::Slow), "each is recorded");
        let (mut fast, mut is_recorded) = (1, true);
        let mut class = Class::Slow;
        while class == Class::Slow {
            assert!(is_recorded);
            (is_recorded, class) = after(50);
            fast += 1;
        }
        assert_eq!((fast, is_recorded), (4, true), "that it is fast again is recorded, too");
        assert_eq!(after(50), (false, Class::Healthy));
        let mut first = Health::UNTRIED;
        first.record_latency(Duration::from_secs(9), true);
        first.succeed(now());
        assert_eq!(first.class(), Class::Slow, "nothing else is known of it");
    }

    /// Returns the class after a success that took so long.
    fn succeeded(health: &mut Health, latency: Duration) -> Class {
        health.record_latency(latency, true);
        health.succeed(now());
        health.class()
    }

    fn failed(health: &mut Health, latency: Duration) {
        health.record_latency(latency, false);
        health.fail();
    }

    #[test]
    fn an_endpoint_that_hangs_every_other_time_is_slow() {
        let (fast, timeout) = (Duration::from_millis(50), Duration::from_secs(10));
        let mut health = Health::UNTRIED;
        assert_eq!(succeeded(&mut health, fast), Class::Healthy);
        for _ in 0..20 {
            failed(&mut health, timeout);
            assert_eq!(succeeded(&mut health, fast), Class::Slow);
        }
    }

    #[test]
    fn an_endpoint_that_only_hung_is_healthy_after_nine_fast_successes() {
        let mut health = Health::UNTRIED;
        (0..50).for_each(|_| failed(&mut health, Duration::from_mins(1)));
        let count = (1..50).find(|_| succeeded(&mut health, Duration::ZERO) == Class::Healthy);
        assert_eq!(count, Some(9));
    }

    #[test]
    fn a_quick_failure_makes_no_endpoint_slow_and_hides_no_slow_one() {
        let (quick, slow) = (Duration::from_millis(1), Duration::from_secs(3));
        let mut health = Health::UNTRIED;
        (0..20).for_each(|_| failed(&mut health, quick));
        assert_eq!(succeeded(&mut health, Duration::from_millis(50)), Class::Healthy);
        let mut health = Health::UNTRIED;
        failed(&mut health, quick);
        assert_eq!(succeeded(&mut health, slow), Class::Slow, "nothing else is known of it");
        (0..20).for_each(|_| failed(&mut health, quick));
        assert_eq!(succeeded(&mut health, slow), Class::Slow);
    }
}
