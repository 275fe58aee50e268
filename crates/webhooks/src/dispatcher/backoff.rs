//! Pauses after failures of the database.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause after a failure, and the longest one: several fit into a lease.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_millis(3_200);

/// When the database is tried again: each failure in a row doubles the pause, so that a slow one is not asked more often.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    pause: Option<Duration>,
    until: Option<Instant>,
}

impl Backoff {
    /// Returns until when nothing is tried; `None` if something may be tried now.
    pub(super) fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| now < *until)
    }

    /// Counts a failure.
    pub(super) fn fail(&mut self, now: Instant) {
        let pause = self.pause.map_or(PAUSE_MIN, |pause| (pause * 2).min(PAUSE_MAX));
        (self.pause, self.until) = (Some(pause), Some(now + pause));
    }

    /// Forgets the failures.
    pub(super) fn succeed(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_in_a_row_doubles_the_pause() {
        let (mut backoff, mut now) = (Backoff::default(), Instant::now());
        assert_eq!(backoff.wait_until(now), None);
        for millis in [200, 400, 800, 1_600, 3_200, 3_200] {
            backoff.fail(now);
            let until = now + Duration::from_millis(millis);
            assert_eq!(backoff.wait_until(now), Some(until));
            assert_eq!(backoff.wait_until(until), None);
            now = until;
        }
        backoff.succeed();
        backoff.fail(now);
        assert_eq!(backoff.wait_until(now), Some(now + PAUSE_MIN));
    }
}
