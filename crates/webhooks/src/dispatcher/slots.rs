//! The concurrent attempts of a process: which class of endpoints may use how many, and whose turn it is.

use std::collections::VecDeque;

use tokio::time::Instant;

use crate::dispatcher::isolation::{Admission, Isolation, Situation};
use crate::dispatcher::pace::Pace;
use crate::table::delivery::EndpointKey;

/// What the last attempts say about an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The last attempt succeeded, and the last ones did not take long.
    Healthy,
    /// There was none.
    Untried,
    /// The last attempt failed.
    Failing,
    /// The last attempt succeeded, and the last ones took long.
    Slow,
}

impl Class {
    pub(super) const ALL: [Self; 4] = [Self::Healthy, Self::Untried, Self::Failing, Self::Slow];

    /// Returns the label of metrics.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Untried => "untried",
            Self::Failing => "failing",
            Self::Slow => "slow",
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// An endpoint, which waited in this class.
    Lane(Class, EndpointKey),
    /// A suspect of an endpoint, alone.
    Alone(EndpointKey),
}

/// The slots of a process, and the endpoints that wait for one.
///
/// Half of the slots are for healthy endpoints only, and untried ones use at most a quarter: receivers that do not respond
/// keep theirs until the timeout, and those that respond late nearly as long. Within these limits the classes take turns, and within a
/// class the first one that waits is the first one that starts. Endpoints that are not healthy start at a limited pace. Suspects
/// use the slots alone, those of healthy endpoints first.
#[derive(Debug)]
pub(super) struct Slots {
    total: usize,
    used: [usize; 4],
    waiting: [VecDeque<EndpointKey>; 4],
    /// The class that is asked first.
    turn: usize,
    /// Endpoints with suspects.
    suspects: [VecDeque<EndpointKey>; 4],
    isolation: Isolation,
    /// Of endpoints that are not healthy.
    pace: Pace,
}

impl Slots {
    /// Creates free slots; each class can use at least one.
    pub(super) fn new(total: usize) -> Self {
        Self {
            total: total.max(4),
            used: [0; 4],
            waiting: Default::default(),
            turn: 0,
            suspects: Default::default(),
            isolation: Isolation::default(),
            pace: Pace::new(total),
        }
    }

    /// Adds an endpoint to those that wait.
    pub(super) fn wait(&mut self, class: Class, key: EndpointKey) {
        self.waiting[class.index()].push_back(key);
    }

    /// Adds an endpoint to those with a suspect that waits.
    pub(super) fn wait_alone(&mut self, class: Class, key: EndpointKey) {
        self.suspects[class.index()].push_back(key);
    }

    /// Removes the endpoint whose turn it is. `None` if none may start. `is_settled`: every result is recorded.
    pub(super) fn next(&mut self, now: Instant, is_settled: bool) -> Option<Turn> {
        let admission = self.admission(now, is_settled);
        if admission == Admission::Suspect {
            return self.suspects.iter_mut().find_map(VecDeque::pop_front).map(Turn::Alone);
        }
        for offset in 0..Class::ALL.len() {
            let index = (self.turn + offset) % Class::ALL.len();
            let class = Class::ALL[index];
            if !self.has_room(class, admission) || self.is_paced(class, now) {
                continue;
            }
            if let Some(key) = self.waiting[index].pop_front() {
                self.turn = (index + 1) % Class::ALL.len();
                if class != Class::Healthy {
                    self.pace.count(now);
                }
                return Some(Turn::Lane(class, key));
            }
        }
        None
    }

    fn admission(&mut self, now: Instant, is_settled: bool) -> Admission {
        let situation = Situation {
            has_suspects: self.has_suspects(),
            is_quiet: is_settled && self.in_use() == 0,
            has_unproven: self.unreserved() > 0,
        };
        self.isolation.admission(now, situation)
    }

    fn has_room(&self, class: Class, admission: Admission) -> bool {
        let unreserved = self.unreserved() < self.total / 2;
        let is_admitted = match admission {
            Admission::All => true,
            Admission::Healthy => class == Class::Healthy,
            Admission::Nothing | Admission::Suspect => false,
        };
        is_admitted
            && self.in_use() < self.total
            && match class {
                Class::Healthy => true,
                Class::Untried => unreserved && self.used_by(class) < self.total / 4,
                Class::Failing | Class::Slow => unreserved,
            }
    }

    /// Returns whether a class has to wait because of its pace.
    fn is_paced(&self, class: Class, now: Instant) -> bool {
        class != Class::Healthy && self.pace.wait_until(now).is_some()
    }

    /// Uses a slot.
    pub(super) fn occupy(&mut self, class: Class) {
        self.used[class.index()] += 1;
    }

    /// Uses a slot for a suspect: nothing else starts until it is returned.
    pub(super) fn occupy_alone(&mut self, class: Class, now: Instant) {
        self.occupy(class);
        self.isolation.began(now);
    }

    /// Returns a slot.
    pub(super) fn vacate(&mut self, class: Class) {
        let used = &mut self.used[class.index()];
        *used = used.saturating_sub(1);
    }

    /// Returns the slot of a suspect. Nothing starts until its result is recorded.
    pub(super) fn vacate_alone(&mut self, class: Class) {
        self.vacate(class);
        self.isolation.ended();
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    pub(super) fn in_use(&self) -> usize {
        self.used.iter().sum()
    }

    /// Returns how many are used by endpoints that are not healthy.
    fn unreserved(&self) -> usize {
        self.in_use() - self.used_by(Class::Healthy)
    }

    pub(super) fn used_by(&self, class: Class) -> usize {
        self.used[class.index()]
    }

    /// Returns how many endpoints of a class wait. Some of them may have nothing to send any more.
    pub(super) fn waiting(&self, class: Class) -> usize {
        self.waiting[class.index()].len()
    }

    /// Returns whether a suspect waits.
    pub(super) fn has_suspects(&self) -> bool {
        self.suspects.iter().any(|waiting| !waiting.is_empty())
    }

    /// Returns whether an endpoint waits that may start now.
    pub(super) fn can_start(&mut self, now: Instant, is_settled: bool) -> bool {
        let admission = self.admission(now, is_settled);
        admission == Admission::Suspect
            || Class::ALL.iter().any(|class| {
                self.waiting(*class) > 0
                    && self.has_room(*class, admission)
                    && !self.is_paced(*class, now)
            })
    }

    /// Returns when an endpoint that waits because of its pace may start; `None` if none does.
    pub(super) fn resumes_at(&mut self, now: Instant, is_settled: bool) -> Option<Instant> {
        let admission = self.admission(now, is_settled);
        let waits = |class: &Class| {
            *class != Class::Healthy && self.waiting(*class) > 0 && self.has_room(*class, admission)
        };
        self.pace.wait_until(now).filter(|_| Class::ALL.iter().any(waits))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    /// Times that are far enough apart for a start.
    fn times() -> impl Iterator<Item = Instant> {
        let start = Instant::now();
        (0..).map(move |number| start + Duration::from_secs(number))
    }

    /// Starts everything that may start, and returns the number of each class.
    fn start_all(slots: &mut Slots) -> [usize; 4] {
        for now in times() {
            let Some(Turn::Lane(class, _)) = slots.next(now, true) else { break };
            slots.occupy(class);
        }
        Class::ALL.map(|class| slots.used_by(class))
    }

    #[test]
    fn half_of_the_slots_are_for_healthy_endpoints_only() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Failing, 100);
        fill(&mut slots, Class::Untried, 100);
        assert_eq!(start_all(&mut slots), [0, 4, 4, 0]);
        assert!(!slots.can_start(Instant::now(), true));
        fill(&mut slots, Class::Healthy, 100);
        assert_eq!(start_all(&mut slots), [8, 4, 4, 0]);
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Failing, 100);
        fill(&mut slots, Class::Slow, 100);
        assert_eq!(start_all(&mut slots), [0, 0, 4, 4]);
    }

    #[test]
    fn untried_endpoints_use_a_quarter_and_healthy_ones_all() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Untried, 100);
        assert_eq!(start_all(&mut slots), [0, 4, 0, 0]);
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Healthy, 100);
        assert_eq!(start_all(&mut slots), [16, 0, 0, 0]);
    }

    #[test]
    fn the_first_to_wait_is_the_first_to_start_and_classes_take_turns() {
        let mut slots = Slots::new(16);
        fill(&mut slots, Class::Healthy, 3);
        fill(&mut slots, Class::Failing, 2);
        let order: Vec<Turn> = times().map_while(|now| slots.next(now, true)).collect();
        let expected = [
            Turn::Lane(Class::Healthy, key(0)),
            Turn::Lane(Class::Failing, key(0)),
            Turn::Lane(Class::Healthy, key(1)),
            Turn::Lane(Class::Failing, key(1)),
            Turn::Lane(Class::Healthy, key(2)),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_vacated_slot_is_used_again() {
        let mut slots = Slots::new(4);
        fill(&mut slots, Class::Untried, 2);
        assert_eq!(start_all(&mut slots), [0, 1, 0, 0]);
        slots.vacate(Class::Untried);
        let later = Instant::now() + Duration::from_mins(1);
        assert!(slots.can_start(later, true));
        assert_eq!(slots.next(later, true), Some(Turn::Lane(Class::Untried, key(1))));
    }

    #[test]
    fn endpoints_that_are_not_healthy_start_at_a_pace() {
        let (mut slots, now) = (Slots::new(64), Instant::now());
        fill(&mut slots, Class::Failing, 3);
        fill(&mut slots, Class::Healthy, 5);
        assert_eq!(slots.resumes_at(now, true), None);
        let started = std::iter::from_fn(|| slots.next(now, true)).count();
        assert_eq!((started, slots.waiting(Class::Failing)), (7, 1));
        assert!(!slots.can_start(now, true));
        let later = slots.resumes_at(now, true).expect("one waits");
        assert!(slots.can_start(later, true) && slots.resumes_at(later, true).is_none());
    }

    #[test]
    fn a_suspect_is_alone_and_those_of_healthy_endpoints_are_first() {
        let (mut slots, now) = (Slots::new(16), Instant::now());
        slots.wait_alone(Class::Failing, key(1));
        slots.wait_alone(Class::Healthy, key(2));
        fill(&mut slots, Class::Healthy, 1);
        slots.occupy(Class::Untried);
        assert_eq!(slots.next(now, true), Some(Turn::Lane(Class::Healthy, key(0))));
        slots.vacate(Class::Untried);
        assert_eq!(slots.next(now, false), None, "a result is not recorded");
        assert_eq!(slots.next(now, true), Some(Turn::Alone(key(2))));
        slots.occupy_alone(Class::Healthy, now);
        fill(&mut slots, Class::Healthy, 1);
        assert!(!slots.can_start(now, true) && slots.next(now, true).is_none());
        slots.vacate_alone(Class::Healthy);
        assert_eq!(slots.next(now, false), None, "its result is not recorded");
        assert_eq!(slots.next(now, true), Some(Turn::Alone(key(1))));
        assert!(!slots.has_suspects());
        assert_eq!(slots.next(now, true), Some(Turn::Lane(Class::Healthy, key(0))));
    }

    proptest! {
        #[test]
        fn the_limits_hold_in_every_order(
            total in 4usize..40, steps in prop::collection::vec((0usize..4, any::<bool>()), 0..200)
        ) {
            let mut slots = Slots::new(total);
            for (index, starts) in steps {
                let class = Class::ALL[index];
                if starts {
                    slots.wait(class, key(1));
                    if let Some(Turn::Lane(class, _)) = slots.next(Instant::now(), true) {
                        slots.occupy(class);
                    }
                } else if slots.used_by(class) > 0 {
                    slots.vacate(class);
                }
                let [healthy, untried, failing, slow] =
                    Class::ALL.map(|class| slots.used_by(class));
                let unreserved = untried + failing + slow;
                prop_assert!(healthy + unreserved <= total);
                prop_assert!(unreserved <= total / 2 && untried <= total / 4);
            }
        }
    }
}
