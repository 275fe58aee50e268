//! How fast attempts start at endpoints that are not known to work.

use std::time::Duration;

use tokio::time::Instant;

/// The time in which a part of the slots may be taken.
const INTERVAL: Duration = Duration::from_millis(25);
/// The part of the slots that may be taken in an interval.
const PART: usize = 32;

/// Spreads the starts of attempts at endpoints that are not healthy. Receivers that hang would otherwise time out all at once, again
/// and again, and everything else would wait while their connections are closed and the next ones opened.
#[derive(Debug)]
pub(super) struct Pace {
    starts_max: usize,
    /// Starts in the current interval.
    starts: usize,
    interval_ends: Option<Instant>,
}

impl Pace {
    /// Creates the pace of a process with this many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { starts_max: (slots / PART).max(1), starts: 0, interval_ends: None }
    }

    /// Returns until when no other attempt may start; `None` if one may start now.
    pub(super) fn wait_until(&self, now: Instant) -> Option<Instant> {
        self.interval_ends.filter(|ends| now < *ends && self.starts >= self.starts_max)
    }

    /// Counts a start.
    pub(super) fn count(&mut self, now: Instant) {
        if self.interval_ends.is_none_or(|ends| now >= ends) {
            (self.starts, self.interval_ends) = (0, Some(now + INTERVAL));
        }
        self.starts += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_slots_starts_in_each_interval() {
        let (mut pace, start) = (Pace::new(64), Instant::now());
        for interval in 0..3 {
            let now = start + INTERVAL * interval;
            for _ in 0..2 {
                assert_eq!(pace.wait_until(now), None);
                pace.count(now);
            }
            assert_eq!(pace.wait_until(now), Some(now + INTERVAL));
            assert_eq!(pace.wait_until(now + INTERVAL / 2), Some(now + INTERVAL));
        }
    }

    #[test]
    fn few_slots_start_one_by_one() {
        let (mut pace, now) = (Pace::new(4), Instant::now());
        pace.count(now);
        assert_eq!(pace.wait_until(now), Some(now + INTERVAL));
    }
}
