//! Whether what a reader saw is what was committed, in the order in which it was.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use crate::foundation::outbox::write::{Said, Told};
use crate::report::{Failure, ensure};

/// What is wrong with a reader's sequence.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Committed and never seen.
    pub(crate) missed: usize,
    /// Seen again.
    pub(crate) repeated: usize,
    /// Seen and never committed.
    pub(crate) undone: usize,
    /// Not the next of its key.
    pub(crate) misordered: usize,
    /// Seen before a transaction that was over when its own began.
    pub(crate) too_early: usize,
}

/// All of them must be zero.
pub(crate) fn judge(told: &Told, seen: &[Said]) -> Result<(), Failure> {
    let Faults { missed, repeated, undone, misordered, too_early } = faults(told, seen);
    ensure(missed + repeated + undone + misordered + too_early == 0, || {
        format!(
            "of {} events {missed} missed, {repeated} repeated, {undone} of undone transactions, \
             {misordered} out of order for their key, {too_early} transactions before an earlier one",
            told.events(),
        )
    })
}

pub(crate) fn faults(told: &Told, seen: &[Said]) -> Faults {
    let committed: HashSet<&Said> = told.committed.iter().flat_map(|one| &one.said).collect();
    let distinct: HashSet<&Said> = seen.iter().collect();
    Faults {
        missed: committed.difference(&distinct).count(),
        repeated: seen.len() - distinct.len(),
        undone: distinct.difference(&committed).count(),
        misordered: misordered(seen),
        too_early: too_early(told, seen),
    }
}

/// Counts start at 1 and undone transactions leave no gap, so each event must be the next of its key.
fn misordered(seen: &[Said]) -> usize {
    let mut newest: HashMap<i32, i64> = HashMap::new();
    let counted = seen.iter().filter_map(|said| said.counted);
    counted
        .filter(|(key, count)| {
            let last = newest.insert(*key, *count).unwrap_or(0);
            *count != last + 1
        })
        .count()
}

/// Transactions that were seen before one whose commit was acknowledged before they began. A sweep
/// in order of time: of the transactions acknowledged so far, only the place of the one seen last
/// matters.
fn too_early(told: &Told, seen: &[Said]) -> usize {
    let mut places: HashMap<u64, (usize, usize)> = HashMap::new();
    for (place, said) in seen.iter().enumerate() {
        places.entry(said.transaction).or_insert((place, place)).1 = place;
    }
    let place_of =
        |said: &[Said]| said.first().and_then(|one| places.get(&one.transaction)).copied();
    let mut begins: Vec<(Instant, usize)> = Vec::new();
    let mut ends: Vec<(Instant, usize)> = Vec::new();
    for transaction in &told.committed {
        if let Some((first, last)) = place_of(&transaction.said) {
            begins.push((transaction.began, first));
            ends.push((transaction.acknowledged, last));
        }
    }
    begins.sort_unstable();
    ends.sort_unstable();
    let mut ends = ends.into_iter().peekable();
    let mut last_place = None;
    let mut too_early = 0;
    for (began, first) in begins {
        while let Some((_, last)) = ends.next_if(|(acknowledged, _)| *acknowledged < began) {
            last_place = last_place.max(Some(last));
        }
        too_early += usize::from(last_place.is_some_and(|last| first < last));
    }
    too_early
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::foundation::outbox::write::Committed;

    /// Transactions one after another, each with one event of key 1.
    fn told(count: u64) -> Told {
        let start = Instant::now();
        let at = |millis: u64| start + Duration::from_millis(millis);
        let said = |number: u64| Said {
            transaction: number,
            number: 0,
            counted: i64::try_from(number).ok().map(|n| (1, n)),
        };
        let one = |number| Committed {
            began: at(10 * number),
            acknowledged: at(10 * number + 5),
            said: vec![said(number)],
        };
        Told { committed: (1..=count).map(one).collect() }
    }

    #[test]
    fn the_right_sequence_has_no_faults() {
        let told = told(5);
        let seen: Vec<Said> = told.committed.iter().map(|one| one.said[0]).collect();
        assert!(judge(&told, &seen).is_ok());
    }

    #[test]
    fn every_fault_is_noticed() {
        let told = told(5);
        let right: Vec<Said> = told.committed.iter().map(|one| one.said[0]).collect();
        let mut swapped = right.clone();
        swapped.swap(1, 2);
        let found = faults(&told, &swapped);
        assert_eq!((found.too_early, found.misordered > 0), (1, true));
        assert_eq!(faults(&told, &right[1..]).missed, 1);
        let again = [right.as_slice(), &right[4..]].concat();
        assert_eq!(faults(&told, &again).repeated, 1);
        let undone = Said { transaction: 99, number: 0, counted: None };
        assert_eq!(faults(&told, &[right.as_slice(), &[undone]].concat()).undone, 1);
    }
}
