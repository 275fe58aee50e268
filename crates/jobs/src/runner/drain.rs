//! When a busy runner pauses: a suspect waits for an exclusive run.

use std::time::{Duration, Instant};

/// How often a busy runner checks for suspects.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// How long it then starts nothing. The pause is bounded, so that a long job cannot stop the queue.
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// How long it starts jobs again after a pause in which it did not become idle: pauses take a tenth of the time.
const PAUSE_INTERVAL: Duration = Duration::from_secs(18);

/// The pauses of one runner.
#[derive(Debug, Default)]
pub(super) struct Drain {
    paused_until: Option<Instant>,
    next_check: Option<Instant>,
}

/// What a busy runner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrainState {
    /// It starts jobs.
    Running,
    /// It starts nothing.
    Paused,
    /// It checks for suspects, and reports the result to `Drain::checked`.
    CheckDue,
}

impl Drain {
    /// Returns what a busy runner does at this time. A pause that is over is followed by another one later, as long as a
    /// suspect waits.
    pub(super) fn state(&mut self, now: Instant) -> DrainState {
        if let Some(until) = self.paused_until {
            if now < until {
                return DrainState::Paused;
            }
            self.paused_until = None;
            self.next_check = Some(now + PAUSE_INTERVAL);
        }
        let is_due = self.next_check.is_none_or(|check| now >= check);
        if is_due { DrainState::CheckDue } else { DrainState::Running }
    }

    /// Records the result of a check.
    pub(super) fn checked(&mut self, now: Instant, is_suspect_due: bool) {
        self.next_check = Some(now + CHECK_INTERVAL);
        self.paused_until = is_suspect_due.then(|| now + PAUSE_MAX);
    }

    /// Ends a pause: the runner is idle.
    pub(super) fn end(&mut self) {
        self.paused_until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_runner_pauses_again_and_again_while_a_suspect_waits() {
        let start = Instant::now();
        let mut drain = Drain::default();
        let mut pauses = Vec::new();
        for tenths in 0..1_000 {
            let now = start + Duration::from_millis(100) * tenths;
            if drain.state(now) == DrainState::CheckDue {
                drain.checked(now, true);
                pauses.push(tenths / 10);
            }
        }
        assert_eq!(pauses, [0, 20, 40, 60, 80]);
    }

    #[test]
    fn a_runner_without_suspects_never_pauses() {
        let start = Instant::now();
        let mut drain = Drain::default();
        let mut checks = 0;
        for seconds in 0..20 {
            let now = start + Duration::from_secs(seconds);
            match drain.state(now) {
                DrainState::CheckDue => {
                    drain.checked(now, false);
                    checks += 1;
                }
                DrainState::Running => {}
                DrainState::Paused => panic!("paused without a suspect"),
            }
        }
        assert_eq!(checks, 4);
    }

    #[test]
    fn an_idle_runner_ends_its_pause() {
        let now = Instant::now();
        let mut drain = Drain::default();
        drain.checked(now, true);
        assert_eq!(drain.state(now), DrainState::Paused);
        drain.end();
        assert_eq!(drain.state(now), DrainState::Running);
    }
}
