//! The concurrent attempts of a process: which class of endpoints may use how many, and whose turn it is.

use std::collections::VecDeque;

use crate::table::delivery::EndpointKey;

/// What the last attempts say about an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The last attempt succeeded.
    Healthy,
    /// There was none.
    Untried,
    /// The last attempt failed.
    Failing,
}

impl Class {
    pub(super) const ALL: [Self; 3] = [Self::Healthy, Self::Untried, Self::Failing];

    /// Returns the label of metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Untried => "untried",
            Self::Failing => "failing",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// The slots of a process, and the endpoints that wait for one.
///
/// Half of the slots are for healthy endpoints only, and untried ones use at most a quarter: receivers that do not respond
/// keep theirs until the timeout. Within these limits the classes take turns, and within a class the first one that waits is
/// the first one that starts.
#[derive(Debug)]
pub(super) struct Slots {
    total: usize,
    used: [usize; 3],
    waiting: [VecDeque<EndpointKey>; 3],
    /// The class that is asked first.
    turn: usize,
}

impl Slots {
    /// Creates free slots; each class can use at least one.
    pub(super) fn new(total: usize) -> Self {
        Self { total: total.max(4), used: [0; 3], waiting: Default::default(), turn: 0 }
    }

    /// Adds an endpoint to those that wait.
    pub(super) fn wait(&mut self, class: Class, key: EndpointKey) {
        self.waiting[class.index()].push_back(key);
    }

    /// Removes the endpoint whose turn it is. `None` if no class with a free slot has one.
    pub(super) fn next(&mut self) -> Option<(Class, EndpointKey)> {
        for offset in 0..Class::ALL.len() {
            let index = (self.turn + offset) % Class::ALL.len();
            let class = Class::ALL[index];
            if !self.has_room(class) {
                continue;
            }
            if let Some(key) = self.waiting[index].pop_front() {
                self.turn = (index + 1) % Class::ALL.len();
                return Some((class, key));
            }
        }
        None
    }

    fn has_room(&self, class: Class) -> bool {
        let [_, untried, failing] = self.used;
        let unreserved = untried + failing < self.total / 2;
        self.in_use() < self.total
            && match class {
                Class::Healthy => true,
                Class::Untried => unreserved && untried < self.total / 4,
                Class::Failing => unreserved,
            }
    }

    /// Uses a slot.
    pub(super) fn occupy(&mut self, class: Class) {
        self.used[class.index()] += 1;
    }

    /// Returns a slot.
    pub(super) fn vacate(&mut self, class: Class) {
        let used = &mut self.used[class.index()];
        *used = used.saturating_sub(1);
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn in_use(&self) -> usize {
        self.used.iter().sum()
    }

    pub(super) fn used_by(&self, class: Class) -> usize {
        self.used[class.index()]
    }

    /// Returns how many endpoints of a class wait. Some of them may have nothing to send any more.
    pub(super) fn waiting(&self, class: Class) -> usize {
        self.waiting[class.index()].len()
    }

    /// Returns whether an endpoint waits that may use a free slot.
    pub(super) fn can_start(&self) -> bool {
        Class::ALL.iter().any(|class| self.waiting(*class) > 0 && self.has_room(*class))
    }
}

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, Id, MerchantId};
    use proptest::prelude::*;

    use super::*;

    fn key(number: u128) -> EndpointKey {
        let (merchant, endpoint) =
            (MerchantId::from_random(number), EndpointId::from_random(number));
        EndpointKey { merchant, endpoint }
    }

    fn fill(slots: &mut Slots, class: Class, count: u128) {
        for number in 0..count {
            slots.wait(class, key(number));
        }
    }

    /// Starts everything that may start, and returns the number of each class.
    fn start_all(slots: &mut Slots) -> [usize; 3] {
        while let Some((class, _)) = slots.next() {
            slots.occupy(class);
        }
        Class::ALL.map(|class| slots.used_by(class))
    }

    #[test]
    fn half_of_the_slots_are_for_healthy_endpoints_only() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Failing, 100);
        fill(&mut slots, Class::Untried, 100);
        assert_eq!(start_all(&mut slots), [0, 4, 4]);
        assert!(!slots.can_start());
        fill(&mut slots, Class::Healthy, 100);
        assert_eq!(start_all(&mut slots), [8, 4, 4]);
    }

    #[test]
    fn untried_endpoints_use_a_quarter_and_healthy_ones_all() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Untried, 100);
        assert_eq!(start_all(&mut slots), [0, 4, 0]);
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Healthy, 100);
        assert_eq!(start_all(&mut slots), [16, 0, 0]);
    }

    #[test]
    fn the_first_to_wait_is_the_first_to_start_and_classes_take_turns() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Healthy, 3);
        fill(&mut slots, Class::Failing, 2);
        let order: Vec<(Class, EndpointKey)> = std::iter::from_fn(|| slots.next()).collect();
        let expected = [
            (Class::Healthy, key(0)),
            (Class::Failing, key(0)),
            (Class::Healthy, key(1)),
            (Class::Failing, key(1)),
            (Class::Healthy, key(2)),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_vacated_slot_is_used_again() {
        let mut slots = Slots::new(4);
        fill(&mut slots, Class::Untried, 2);
        assert_eq!(start_all(&mut slots), [0, 1, 0]);
        slots.vacate(Class::Untried);
        assert!(slots.can_start());
        assert_eq!(start_all(&mut slots), [0, 1, 0]);
    }

    proptest! {
        #[test]
        fn the_limits_hold_in_every_order(
            total in 4usize..40, steps in prop::collection::vec((0usize..3, any::<bool>()), 0..200)
        ) {
            let mut slots = Slots::new(total);
            for (index, starts) in steps {
                let class = Class::ALL[index];
                if starts {
                    slots.wait(class, key(1));
                    if let Some((class, _)) = slots.next() {
                        slots.occupy(class);
                    }
                } else if slots.used_by(class) > 0 {
                    slots.vacate(class);
                }
                let [healthy, untried, failing] = Class::ALL.map(|class| slots.used_by(class));
                prop_assert!(healthy + untried + failing <= total);
                prop_assert!(untried + failing <= total / 2 && untried <= total / 4);
            }
        }
    }
}
