//! Which deliveries may have ended their process, and which are given up for it.
//!
//! A start without a result is *lost*. Whatever ends a process loses the starts of everything in flight, so that a lost start
//! beside others says little: the delivery is attempted again as any other. After a second one in a row it is a suspect and
//! is attempted alone. A start that is lost alone is its own fault, as is a panic, which names its delivery. The third
//! lost start in a row quarantines a delivery if one of them was its own fault. An attempt with a result clears all of this.

use crate::table::delivery::Pending;

/// Lost starts in a row from which a delivery is a suspect.
const SUSPECT_STARTS: i16 = 2;
/// Lost starts in a row from which a delivery is quarantined.
const QUARANTINE_STARTS: i16 = 3;

/// Returns the starts in a row that had no result.
fn lost_starts(starts: i16, attempts: i16) -> i16 {
    starts.saturating_sub(attempts)
}

/// Returns whether no start of a delivery was lost since its last attempt.
pub(super) fn is_clean(pending: &Pending) -> bool {
    lost_starts(pending.starts, pending.attempts) == 0
}

/// Returns whether a delivery is attempted alone. One that only panicked is not: a panic ends no process.
pub(super) fn is_suspect(pending: &Pending) -> bool {
    let lost = lost_starts(pending.starts, pending.attempts);
    lost >= SUSPECT_STARTS && pending.lone_starts < lost
}

/// Returns whether a delivery is not attempted any more. `lone_starts` are the lost starts that were its own fault.
pub(super) fn is_quarantined(starts: i16, attempts: i16, lone_starts: i16) -> bool {
    lost_starts(starts, attempts) >= QUARANTINE_STARTS && lone_starts > 0
}

#[cfg(test)]
mod tests {
    use primitives::{EventId, Id, Timestamp};

    use super::*;

    fn pending(lost: i16, lone_starts: i16) -> Pending {
        let at: Timestamp = "2026-11-15T08:00:00Z".parse().unwrap();
        let (event, attempts) = (EventId::from_random(1), 4);
        Pending { event_at: at, event, due_at: at, attempts, starts: attempts + lost, lone_starts }
    }

    #[test]
    fn the_second_lost_start_makes_a_suspect_unless_all_were_panics() {
        assert!(is_clean(&pending(0, 0)) && !is_clean(&pending(1, 0)));
        for (lost, lone_starts, expected) in
            [(0, 0, false), (1, 0, false), (2, 0, true), (2, 1, true), (1, 1, false), (2, 2, false)]
        {
            assert_eq!(is_suspect(&pending(lost, lone_starts)), expected, "{lost}, {lone_starts}");
        }
    }

    #[test]
    fn the_third_lost_start_quarantines_if_one_was_the_delivery_s_own_fault() {
        for (lost, lone_starts, expected) in
            [(2, 1, false), (2, 2, false), (3, 1, true), (3, 3, true), (3, 0, false), (9, 0, false)]
        {
            let Pending { starts, attempts, .. } = pending(lost, lone_starts);
            let found = is_quarantined(starts, attempts, lone_starts);
            assert_eq!(found, expected, "{lost}, {lone_starts}");
        }
        assert!(is_suspect(&pending(9, 0)), "it is attempted alone until then");
    }
}
