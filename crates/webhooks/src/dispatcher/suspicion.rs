//! Which deliveries may have crashed their process, and which are quarantined for it.
//!
//! A start without a result is *lost*. Whatever crashes a process loses the starts of everything in flight, so that a lost start
//! beside others says little: the delivery is attempted again as any other. After a second one in a row it is a suspect and
//! is attempted alone. A start that is lost alone is its own fault, as is a panic, which names its delivery. The third
//! lost start in a row quarantines a delivery if one of them was its own fault. An attempt with a result clears all of this.

/// Lost starts in a row from which a delivery is a suspect.
const SUSPECT_STARTS: i16 = 2;
/// Lost starts in a row from which a delivery is quarantined.
const QUARANTINE_STARTS: i16 = 3;

/// How often a delivery was started, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct StartCounts {
    /// Attempts that failed.
    pub(crate) attempts: i16,
    /// Attempts that began.
    pub(crate) starts: i16,
    /// Of those without an end, the ones beside which nothing else ran, and panics.
    pub(crate) lone_starts: i16,
}

impl StartCounts {
    /// Returns the starts in a row that had no result.
    fn lost(self) -> i16 {
        self.starts.saturating_sub(self.attempts)
    }

    /// Returns whether no start was lost since the last attempt.
    pub(super) fn is_clean(self) -> bool {
        self.lost() == 0
    }

    /// Returns whether a delivery is attempted alone. One that only panicked is not: a panic crashes no process.
    pub(super) fn is_suspect(self) -> bool {
        self.lost() >= SUSPECT_STARTS && self.lone_starts < self.lost()
    }

    /// Returns whether a delivery is not attempted any more.
    pub(super) fn is_quarantined(self) -> bool {
        self.lost() >= QUARANTINE_STARTS && self.lone_starts > 0
    }

    /// Returns the counts after a start.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn started(self, is_alone: bool) -> Self {
        let (starts, lone_starts) = (self.starts + 1, self.lone_starts + i16::from(is_alone));
        Self { starts, lone_starts, ..self }
    }

    /// Returns the counts as if the last start had not been.
    pub(super) fn not_started(self, was_alone: bool) -> Self {
        Self {
            starts: self.starts.saturating_sub(1),
            lone_starts: self.lone_starts.saturating_sub(i16::from(was_alone)),
            ..self
        }
    }

    /// Returns the counts after a panic: a start that was lost alone, because nothing else caused it.
    pub(super) fn after_panic(self, was_alone: bool) -> Self {
        Self { lone_starts: self.lone_starts.saturating_add(i16::from(!was_alone)), ..self }
    }

    /// Returns the counts after another attempt that failed.
    pub(super) fn after_failure(self) -> Self {
        Self::resulted(self.attempts.saturating_add(1))
    }

    /// Returns the counts after that many attempts, all of which had a result.
    pub(crate) fn resulted(attempts: i16) -> Self {
        Self { attempts, starts: attempts, lone_starts: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lost: i16, lone_starts: i16) -> StartCounts {
        StartCounts { attempts: 4, starts: 4 + lost, lone_starts }
    }

    #[test]
    fn the_second_lost_start_makes_a_suspect_unless_all_were_panics() {
        assert!(counts(0, 0).is_clean() && !counts(1, 0).is_clean());
        for (lost, lone_starts, expected) in
            [(0, 0, false), (1, 0, false), (2, 0, true), (2, 1, true), (1, 1, false), (2, 2, false)]
        {
            assert_eq!(counts(lost, lone_starts).is_suspect(), expected, "{lost}, {lone_starts}");
        }
    }

    #[test]
    fn the_third_lost_start_quarantines_if_one_was_the_delivery_s_own_fault() {
        for (lost, lone_starts, expected) in
            [(2, 1, false), (2, 2, false), (3, 1, true), (3, 3, true), (3, 0, false), (9, 0, false)]
        {
            let found = counts(lost, lone_starts).is_quarantined();
            assert_eq!(found, expected, "{lost}, {lone_starts}");
        }
        assert!(counts(9, 0).is_suspect(), "it is attempted alone until then");
    }

    #[test]
    fn a_start_is_taken_back_or_counted_by_its_end() {
        for is_alone in [false, true] {
            let started = counts(2, 0).started(is_alone);
            assert_eq!(started.not_started(is_alone), counts(2, 0));
            assert_eq!(started.after_panic(is_alone), counts(3, 1));
            assert_eq!(started.after_failure(), StartCounts::resulted(5));
        }
    }
}
