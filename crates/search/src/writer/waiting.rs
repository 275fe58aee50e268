//! Changes that are read from the outbox and wait to be applied, by store.
//!
//! Each store with few changes has a queue here, and the queues are served in turn. A store with more than [`SMALL_MAX`]
//! changes leaves: its changes wait in PostgreSQL (`writer/bulk.rs`). So memory is bounded, reading the outbox never
//! stops, and no store waits for another one's flood.
//!
//! Changes are applied in another order than they were read. The batches of the outbox that still have waiting changes are
//! retained with the cursor before each: the position of the shard is the cursor before the first of them.

use std::collections::{HashMap, HashSet, VecDeque};

use catalog::ProductKey;
use jobs::Cursor;
use primitives::{MerchantId, Timestamp};

use crate::table::WaitingChange;

/// Changes of one store that wait here; with more, all of them wait in PostgreSQL.
pub(super) const SMALL_MAX: usize = 1_000;
/// Changes that wait here in total. Beyond it the stores with most changes leave.
const TOTAL_MAX: usize = 50_000;
/// Changes of a store per turn.
const TURN: usize = 20;

/// The waiting changes of all stores.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    queues: HashMap<MerchantId, VecDeque<Queued>>,
    /// The stores with a queue, in the order of their turns.
    turns: VecDeque<MerchantId>,
    keys: HashSet<ProductKey>,
    /// Batches with waiting changes, in the order in which they were read.
    batches: VecDeque<BatchRead>,
    /// Number of the first of them.
    first_batch: u64,
    /// Every change committed before this time is applied, or waits in PostgreSQL.
    applied_until: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy)]
struct Queued {
    change: WaitingChange,
    /// Number of the batch it was read in.
    batch: u64,
}

/// A batch of the outbox.
#[derive(Debug)]
struct BatchRead {
    /// The cursor before the batch.
    before: Cursor,
    /// Its changes that wait.
    remaining: usize,
    /// Every change committed before this time was read with this batch or earlier.
    read_until: Option<Timestamp>,
}

impl Waiting {
    /// Returns the number of waiting changes.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns the time before which every committed change is applied or waits in PostgreSQL.
    pub(super) fn applied_until(&self) -> Option<Timestamp> {
        self.applied_until
    }

    /// Returns the cursor before the first change that is not applied; `None` if no change waits.
    pub(super) fn position(&self) -> Option<&Cursor> {
        self.batches.front().map(|batch| &batch.before)
    }

    /// Returns the stores that would have too many changes with these, and leave.
    pub(super) fn overflowing(&self, new: &[WaitingChange]) -> HashSet<MerchantId> {
        let mut counts: HashMap<MerchantId, usize> =
            self.queues.iter().map(|(merchant, queue)| (*merchant, queue.len())).collect();
        for change in new {
            *counts.entry(change.merchant).or_default() += 1;
        }
        let mut total: usize = counts.values().sum();
        let mut largest: Vec<(usize, MerchantId)> =
            counts.into_iter().map(|(merchant, count)| (count, merchant)).collect();
        largest.sort_unstable_by(|one, other| other.cmp(one));
        let mut leaving = HashSet::new();
        for (count, merchant) in largest {
            if count <= SMALL_MAX && total <= TOTAL_MAX {
                break;
            }
            total -= count;
            leaving.insert(merchant);
        }
        leaving
    }

    /// Returns the waiting changes of a store.
    pub(super) fn of_store(&self, merchant: MerchantId) -> impl Iterator<Item = WaitingChange> {
        self.queues.get(&merchant).into_iter().flatten().map(|queued| queued.change)
    }

    /// Removes the changes of a store, which wait in PostgreSQL from now on.
    pub(super) fn remove_store(&mut self, merchant: MerchantId) {
        let removed: Vec<Queued> = self.queues.remove(&merchant).into_iter().flatten().collect();
        self.turns.retain(|turn| *turn != merchant);
        self.settle(&removed);
    }

    /// Adds a batch of the outbox. A product that waits already waits once: it is read when it is applied.
    pub(super) fn push(
        &mut self,
        before: Cursor,
        changes: &[WaitingChange],
        read_until: Option<Timestamp>,
    ) {
        let number = self.first_batch + u64::try_from(self.batches.len()).unwrap_or(u64::MAX);
        let mut remaining = 0;
        for change in changes {
            if !self.keys.insert((change.merchant, change.product)) {
                continue;
            }
            let queue = self.queues.entry(change.merchant).or_insert_with(|| {
                self.turns.push_back(change.merchant);
                VecDeque::new()
            });
            queue.push_back(Queued { change: *change, batch: number });
            remaining += 1;
        }
        match self.batches.back_mut() {
            // Nothing more waits than before, so this batch is applied when the previous one is.
            Some(last) if remaining == 0 => last.read_until = read_until.max(last.read_until),
            None if remaining == 0 => self.applied_until = read_until.max(self.applied_until),
            _ => self.batches.push_back(BatchRead { before, remaining, read_until }),
        }
    }

    /// Returns the next changes to apply, a few of each store in turn. They wait until [`Self::finish`].
    pub(super) fn next(&self, limit: usize) -> Vec<WaitingChange> {
        let mut next = Vec::new();
        for round in 0.. {
            let before = next.len();
            for merchant in &self.turns {
                let queue = self.queues.get(merchant).into_iter().flatten();
                let turn = queue.skip(round * TURN).take(TURN).map(|queued| queued.change);
                next.extend(turn.take(limit - next.len()));
                if next.len() == limit {
                    return next;
                }
            }
            if next.len() == before {
                break;
            }
        }
        next
    }

    /// Removes the changes that [`Self::next`] returned: they are applied. Their stores have their next turn last.
    pub(super) fn finish(&mut self, applied: &[WaitingChange]) {
        let mut done = Vec::with_capacity(applied.len());
        for change in applied {
            let queue = self.queues.get_mut(&change.merchant);
            done.extend(queue.and_then(VecDeque::pop_front));
        }
        let served: HashSet<MerchantId> = applied.iter().map(|change| change.merchant).collect();
        self.queues.retain(|_, queue| !queue.is_empty());
        let turns = std::mem::take(&mut self.turns).into_iter();
        let turns = turns.filter(|merchant| self.queues.contains_key(merchant));
        let (last, first): (Vec<_>, Vec<_>) = turns.partition(|turn| served.contains(turn));
        self.turns = first.into_iter().chain(last).collect();
        self.settle(&done);
    }

    /// Counts down the batches of changes that no longer wait.
    fn settle(&mut self, done: &[Queued]) {
        for queued in done {
            self.keys.remove(&(queued.change.merchant, queued.change.product));
            let index = usize::try_from(queued.batch - self.first_batch).unwrap_or(usize::MAX);
            if let Some(batch) = self.batches.get_mut(index) {
                batch.remaining -= 1;
            }
        }
        while let Some(batch) = self.batches.pop_front_if(|batch| batch.remaining == 0) {
            self.first_batch += 1;
            self.applied_until = batch.read_until.max(self.applied_until);
        }
    }
}

#[cfg(test)]
mod tests {
    use primitives::{Id, ProductId};
    use proptest::prelude::*;

    use super::*;

    fn merchant(number: u128) -> MerchantId {
        MerchantId::from_random(number + 1)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_unix_micros(second * 1_000_000)
    }

    fn change(store: u128, product: u128, position: i64) -> WaitingChange {
        let product = ProductId::from_random(store * 1_000_000 + product + 1);
        WaitingChange { merchant: merchant(store), product, since: at(position), position }
    }

    fn cursor(position: i64) -> Cursor {
        let text = format!(r#"{{"low":"3:3:","high":"9:9:","position":{position}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_store_with_one_change_does_not_wait_for_a_store_with_many() {
        let mut waiting = Waiting::default();
        let many: Vec<WaitingChange> = (0..900).map(|product| change(0, product, 1)).collect();
        waiting.push(cursor(0), &many, Some(at(1)));
        waiting.push(cursor(1), &[change(1, 0, 2)], Some(at(2)));
        let next = waiting.next(100);
        assert_eq!(next.len(), 100);
        assert_eq!(next.iter().filter(|change| change.merchant == merchant(1)).count(), 1);
        waiting.finish(&next);
        // The first batch still has changes that wait.
        assert_eq!((waiting.position(), waiting.applied_until()), (Some(&cursor(0)), None));
        waiting.push(cursor(2), &[change(1, 1, 3)], Some(at(3)));
        assert_eq!(waiting.next(1), [change(0, 99, 1)]);
        waiting.finish(&waiting.next(21));
        assert_eq!(waiting.len(), 781, "twenty of the first store, and the other one had its turn");
        waiting.remove_store(merchant(0));
        assert_eq!((waiting.len(), waiting.position()), (0, None));
        assert_eq!(waiting.applied_until(), Some(at(3)));
    }

    #[test]
    fn stores_with_too_many_changes_leave() {
        let mut waiting = Waiting::default();
        let most: Vec<WaitingChange> = (0..900).map(|product| change(0, product, 1)).collect();
        waiting.push(cursor(0), &most, Some(at(1)));
        let more: Vec<WaitingChange> = (900..1_100).map(|product| change(0, product, 2)).collect();
        let few = [change(1, 0, 2)];
        assert!(waiting.overflowing(&few).is_empty());
        assert_eq!(waiting.overflowing(&more), HashSet::from([merchant(0)]));
        assert_eq!(waiting.of_store(merchant(0)).count(), 900);
    }

    #[test]
    fn the_total_is_bounded_too() {
        let mut waiting = Waiting::default();
        for store in 0..49 {
            let changes: Vec<_> = (0..1_000).map(|product| change(store, product, 1)).collect();
            waiting.push(cursor(0), &changes, None);
        }
        let changes: Vec<_> = (0..900).map(|product| change(50, product, 1)).collect();
        assert!(waiting.overflowing(&changes).is_empty());
        waiting.push(cursor(0), &changes, None);
        let more: Vec<_> = (0..200).map(|product| change(51, product, 1)).collect();
        assert_eq!(waiting.overflowing(&more).len(), 1);
    }

    proptest! {
        /// Whatever the order of reading and applying: a change that was read waits, or is applied, or left; and the
        /// position never passes a change that waits.
        #[test]
        fn the_position_never_passes_a_waiting_change(
            steps in prop::collection::vec((0_u8..4, 0_u128..4, 0_u128..6, 1_usize..9), 1..60),
        ) {
            let mut waiting = Waiting::default();
            // What has to be applied again after a crash, by the position of the oldest read that named it.
            let mut unapplied: HashMap<ProductKey, i64> = HashMap::new();
            let mut read = 0_i64;
            for (kind, store, product, count) in steps {
                match kind {
                    0 | 1 => {
                        let products = product..product + u128::try_from(count).unwrap();
                        let changes: Vec<_> =
                            products.map(|product| change(store, product, read + 1)).collect();
                        waiting.push(cursor(read), &changes, Some(at(read)));
                        for change in changes {
                            unapplied.entry((change.merchant, change.product)).or_insert(read);
                        }
                        read += 1;
                    }
                    2 => {
                        let next = waiting.next(count);
                        waiting.finish(&next);
                        for change in next {
                            prop_assert!(unapplied.remove(&(change.merchant, change.product)).is_some());
                        }
                    }
                    _ => {
                        waiting.remove_store(merchant(store));
                        unapplied.retain(|(of_store, _), _| *of_store != merchant(store));
                    }
                }
                prop_assert_eq!(waiting.len(), unapplied.len());
                let oldest = unapplied.values().min().map(|position| cursor(*position));
                prop_assert_eq!(waiting.position(), oldest.as_ref());
                if let Some(until) = waiting.applied_until() {
                    prop_assert!(unapplied.values().all(|position| at(*position) > until || at(*position) == until && *position == 0));
                }
            }
        }
    }
}
