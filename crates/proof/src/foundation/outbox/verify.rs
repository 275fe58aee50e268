//! Compares the events that a reader saw with the committed ones and their order.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::foundation::outbox::write::{CommitLog, EventPayload};
use crate::report::{Failure, ensure};

/// How a reader's sequence of events differs from the committed one.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    /// Committed and never seen.
    pub(crate) missed: usize,
    /// Seen more than once.
    pub(crate) repeated: usize,
    /// Seen although their transaction was rolled back.
    pub(crate) rolled_back: usize,
    /// Not the next event of their key.
    pub(crate) misordered: usize,
    /// Seen before a transaction that had committed when their own began.
    pub(crate) too_early: usize,
}

/// Fails unless there are no violations.
pub(crate) fn verify(log: &CommitLog, seen: &[EventPayload]) -> Result<(), Failure> {
    let Violations { missed, repeated, rolled_back, misordered, too_early } = violations(log, seen);
    ensure(missed + repeated + rolled_back + misordered + too_early == 0, || {
        format!(
            "of {} events {missed} missed, {repeated} repeated, {rolled_back} of rolled-back transactions, \
             {misordered} out of order for their key, {too_early} transactions before an earlier one",
            log.events(),
        )
    })
}

pub(crate) fn violations(log: &CommitLog, seen: &[EventPayload]) -> Violations {
    let committed: HashSet<&EventPayload> =
        log.committed.iter().flat_map(|one| &one.events).collect();
    let distinct: HashSet<&EventPayload> = seen.iter().collect();
    Violations {
        missed: committed.difference(&distinct).count(),
        repeated: seen.len() - distinct.len(),
        rolled_back: distinct.difference(&committed).count(),
        misordered: misordered(seen),
        too_early: too_early(log, seen),
    }
}

/// Counts start at 1 and rolled-back transactions leave no gap, so each event must be the next of its key.
fn misordered(seen: &[EventPayload]) -> usize {
    let mut newest: HashMap<i32, i64> = HashMap::new();
    let counted = seen.iter().filter_map(|event| event.counted);
    counted
        .filter(|(key, count)| {
            let last = newest.insert(*key, *count).unwrap_or(0);
            *count != last + 1
        })
        .count()
}

/// Counts the transactions that were seen before one whose commit was acknowledged before they
/// began. The transactions are visited in order of time: of those acknowledged so far, only the
/// position of the one seen last matters.
fn too_early(log: &CommitLog, seen: &[EventPayload]) -> usize {
    let mut positions: HashMap<u64, (usize, usize)> = HashMap::new();
    for (position, event) in seen.iter().enumerate() {
        positions.entry(event.transaction).or_insert((position, position)).1 = position;
    }
    let positions_of = |events: &[EventPayload]| {
        events.first().and_then(|one| positions.get(&one.transaction)).copied()
    };
    let mut begins: Vec<(Instant, usize)> = Vec::new();
    let mut ends: Vec<(Instant, usize)> = Vec::new();
    for transaction in &log.committed {
        if let Some((first, last)) = positions_of(&transaction.events) {
            begins.push((transaction.began, first));
            ends.push((transaction.acknowledged, last));
        }
    }
    begins.sort_unstable();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut last_position = None;
    let mut too_early = 0;
    for (began, first) in begins {
        while let Some((_, last)) = ends.next_if(|(acknowledged, _)| *acknowledged < began) {
            last_position = last_position.max(Some(last));
        }
        too_early += usize::from(last_position.is_some_and(|last| first < last));
    }
    too_early
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::foundation::outbox::write::CommittedTransaction;

    /// Sequential transactions, each with one event of key 1.
    fn log(count: u64) -> CommitLog {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let event = |number: u64| EventPayload {
            transaction: number,
            number: 0,
            counted: i64::try_from(number).ok().map(|n| (1, n)),
        };
        let one = |number| CommittedTransaction {
            began: at(10 * number),
            acknowledged: at(10 * number + 5),
            events: vec![event(number)],
        };
        CommitLog { committed: (1..=count).map(one).collect() }
    }

    #[test]
    fn the_committed_sequence_has_no_violations() {
        let log = log(5);
        let seen: Vec<EventPayload> = log.committed.iter().map(|one| one.events[0]).collect();
        assert!(verify(&log, &seen).is_ok());
    }

    #[test]
    fn every_violation_is_detected() {
        let log = log(5);
        let right: Vec<EventPayload> = log.committed.iter().map(|one| one.events[0]).collect();
        let mut swapped = right.clone();
        swapped.swap(1, 2);
        let found = violations(&log, &swapped);
        assert_eq!((found.too_early, found.misordered > 0), (1, true));
        assert_eq!(violations(&log, &right[1..]).missed, 1);
        let again = [right.as_slice(), &right[4..]].concat();
        assert_eq!(violations(&log, &again).repeated, 1);
        let rolled_back = EventPayload { transaction: 99, number: 0, counted: None };
        assert_eq!(violations(&log, &[right.as_slice(), &[rolled_back]].concat()).rolled_back, 1);
    }
}
