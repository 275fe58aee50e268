//! What is known of the health of an endpoint, in memory.

use std::time::Duration;

use primitives::Timestamp;

use crate::dispatcher::slots::Class;
use crate::schedule::CIRCUIT_FAILURES;
use crate::table::delivery::StoredHealth;

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
    pub(super) circuit: Circuit,
}

impl Health {
    pub(super) const UNTRIED: Self = Self {
        has_succeeded: false,
        consecutive_failures: 0,
        failing_since: None,
        recorded_success_at: None,
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
            circuit,
        }
    }

    pub(super) fn class(&self) -> Class {
        match self {
            _ if self.consecutive_failures > 0 => Class::Failing,
            _ if self.has_succeeded => Class::Healthy,
            _ => Class::Untried,
        }
    }

    /// Counts a success. Returns whether it is to be recorded: the first after something else, and then once a minute.
    pub(super) fn succeed(&mut self, now: Timestamp) -> bool {
        const INTERVAL: Duration = Duration::from_mins(1);
        let is_recent = |at: Timestamp| now.since(at) < INTERVAL;
        let is_new = self.class() != Class::Healthy
            || !self.recorded_success_at.is_some_and(is_recent)
            || self.circuit != Circuit::Closed;
        *self = Self {
            has_succeeded: true,
            recorded_success_at: self.recorded_success_at,
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
}
