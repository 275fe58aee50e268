//! The deliveries of one endpoint in memory.

use std::collections::{HashSet, VecDeque};

use primitives::{EventId, Timestamp};

use crate::dispatcher::health::{Circuit, Health};
use crate::dispatcher::slots::Class;
use crate::table::delivery::{Pending, StoredHealth};

/// Attempts at one endpoint at the same time; there is just one unless the last one succeeded.
const LANES_MAX: usize = 2;
/// Deliveries that one lane sends one after another: enough that it does not mostly wait for its start to be recorded.
pub(super) const RUN_MAX: usize = 25;
/// Deliveries of a healthy endpoint that wait in memory, unless many endpoints share it.
pub(super) const WAITING_MAX: usize = 100;
/// Deliveries of any other endpoint that wait in memory: there can be many such endpoints, and they wait for long.
pub(super) const WAITING_UNPROVEN_MAX: usize = 2;
/// Deliveries of a healthy endpoint that are loaded at a time.
pub(crate) const LOADED_MAX: usize = loaded_healthy_max(WAITING_MAX);
/// Deliveries of any other endpoint that are loaded at a time: some may be started or quarantined.
pub(crate) const LOADED_UNPROVEN_MAX: usize = 10;

/// Returns how many deliveries of a healthy endpoint are loaded at a time, of which `share` may wait: as many, besides those that
/// are started and not settled.
pub(super) const fn loaded_healthy_max(share: usize) -> usize {
    share + LANES_MAX * RUN_MAX
}

/// Returns how many deliveries of an endpoint are loaded at a time.
pub(super) fn loaded_max(stored: Option<StoredHealth>, share: usize) -> usize {
    match Health::of(stored).class() {
        Class::Healthy => loaded_healthy_max(share),
        Class::Untried | Class::Failing | Class::Slow => LOADED_UNPROVEN_MAX,
    }
}

/// Whether the database has due deliveries that are not in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    No,
    Yes,
    /// Perhaps. Reading it before another result is recorded would return the same.
    AfterResult,
}

/// The deliveries of an endpoint that are due, and those that are started.
#[derive(Debug)]
pub(super) struct EndpointQueue {
    pub(super) health: Health,
    /// Due, the longest due first.
    waiting: VecDeque<Pending>,
    /// Due, and attempted alone: they take no place of the others.
    suspects: VecDeque<Pending>,
    /// Started or quarantined, and the result is not recorded.
    unsettled: HashSet<EventId>,
    /// How many may wait while it is healthy.
    pub(super) share: usize,
    lanes: usize,
    more: More,
    /// When another delivery in the database is due; `None` if there is none or it is not known.
    next_due: Option<Timestamp>,
    /// The database may know better than `health`, which was not replaced because results were not recorded.
    is_stale: bool,
    /// The class in which it waits for a slot.
    pub(super) queued: Option<Class>,
    /// It waits for the turn of a suspect.
    pub(super) awaits_turn: bool,
}

impl EndpointQueue {
    pub(super) fn new() -> Self {
        Self {
            health: Health::UNTRIED,
            waiting: VecDeque::new(),
            suspects: VecDeque::new(),
            unsettled: HashSet::new(),
            share: WAITING_MAX,
            lanes: 0,
            more: More::No,
            next_due: None,
            is_stale: false,
            queued: None,
            awaits_turn: false,
        }
    }

    /// Replaces what waits by what the database has. Returns deliveries that are quarantined now.
    pub(super) fn refill(
        &mut self,
        stored: Option<StoredHealth>,
        pending: &[Pending],
        now: Timestamp,
    ) -> Vec<Pending> {
        self.is_stale = !self.unsettled.is_empty();
        if !self.is_stale {
            self.health = Health::of(stored);
        }
        let fresh = pending.iter().filter(|it| !self.unsettled.contains(&it.event));
        let (due, later): (Vec<Pending>, Vec<Pending>) = fresh.partition(|it| it.due_at <= now);
        let (quarantined, due): (Vec<Pending>, Vec<Pending>) =
            due.into_iter().partition(|it| it.counts.is_quarantined());
        let first_due = due.first().map(|it| it.due_at);
        let (mut suspects, mut due): (Vec<Pending>, Vec<Pending>) =
            due.into_iter().partition(|it| it.counts.is_suspect());
        self.unsettled.extend(quarantined.iter().map(|it| it.event));
        self.next_due = later.first().map(|it| it.due_at);
        let is_full = pending.len() >= loaded_max(stored, self.share) && later.is_empty();
        match self.health.circuit {
            Circuit::Closed => {
                self.more = match due.len() > self.waiting_max() {
                    true => More::Yes,
                    false if is_full => More::AfterResult,
                    false => More::No,
                };
                due.truncate(self.waiting_max());
            }
            Circuit::Open { probe_at } => {
                // One of them is the probe; the others wait for its result.
                let is_settled = self.unsettled.is_empty();
                let is_probe_due = is_settled && probe_at.is_some_and(|at| at <= now);
                if !is_probe_due {
                    let first = first_due.or(self.next_due);
                    // Without a result, the next one decides.
                    let first = first.filter(|_| is_settled);
                    self.next_due =
                        first.map(|at| probe_at.map_or(at, |probe_at| probe_at.max(at)));
                }
                due.truncate(usize::from(is_probe_due));
                suspects.truncate(usize::from(is_probe_due && due.is_empty()));
                self.more = More::No;
            }
        }
        (self.waiting, self.suspects) = (due.into(), suspects.into());
        quarantined
    }

    fn waiting_max(&self) -> usize {
        if self.health.class() == Class::Healthy { self.share } else { WAITING_UNPROVEN_MAX }
    }

    /// Forgets what waits: the endpoint is disabled or deleted, or has to wait longer.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.suspects.clear();
        (self.more, self.next_due) = (More::No, None);
    }

    /// Sets when the database is to be read again, unless it is earlier.
    pub(super) fn refill_at(&mut self, at: Timestamp) {
        self.next_due = Some(self.next_due.map_or(at, |known| known.min(at)));
    }

    /// Returns whether an attempt can start as far as the endpoint is concerned.
    pub(super) fn can_start(&self, now: Timestamp) -> bool {
        self.has_lane(now) && !self.waiting.is_empty()
    }

    /// Returns whether a suspect can start as far as the endpoint is concerned.
    pub(super) fn can_start_alone(&self, now: Timestamp) -> bool {
        self.has_lane(now) && !self.suspects.is_empty()
    }

    fn has_lane(&self, now: Timestamp) -> bool {
        let lanes_max = match self.health.circuit {
            Circuit::Closed => match self.health.class() {
                Class::Healthy | Class::Slow => LANES_MAX,
                Class::Untried | Class::Failing => 1,
            },
            Circuit::Open { probe_at } => {
                usize::from(probe_at.is_some_and(|at| at <= now) && self.unsettled.is_empty())
            }
        };
        self.lanes < lanes_max
    }

    /// Removes the deliveries that a lane sends: several of a healthy endpoint, otherwise one. A delivery with a lost
    /// start is the only one of its lane.
    pub(super) fn take(&mut self, run_max: usize) -> Vec<Pending> {
        let mut taken: Vec<Pending> = self.waiting.pop_front().into_iter().collect();
        let is_clean = |it: &Pending| it.counts.is_clean();
        if self.health.class() == Class::Healthy && taken.iter().all(is_clean) {
            while taken.len() < run_max && self.waiting.front().is_some_and(is_clean) {
                taken.extend(self.waiting.pop_front());
            }
        }
        self.unsettled.extend(taken.iter().map(|it| it.event));
        taken
    }

    /// Removes the first suspect.
    pub(super) fn take_suspect(&mut self) -> Option<Pending> {
        let taken = self.suspects.pop_front()?;
        self.unsettled.insert(taken.event);
        Some(taken)
    }

    pub(super) fn lane_started(&mut self) {
        self.lanes += 1;
    }

    pub(super) fn lane_ended(&mut self) {
        self.lanes = self.lanes.saturating_sub(1);
    }

    /// Removes a delivery that is settled or was not started.
    pub(super) fn settled(&mut self, event: EventId) {
        if self.unsettled.remove(&event) && self.more == More::AfterResult {
            self.more = More::Yes;
        }
    }

    /// Gets no attempts until the database is read again: of an endpoint whose circuit has opened. If the time of the
    /// probe is not known, because the failure could not be recorded, that is when it would have been read anyway.
    pub(super) fn pause_if_open(&mut self) {
        if let Circuit::Open { probe_at } = self.health.circuit {
            let next_due = probe_at.or(self.next_due);
            self.clear();
            self.next_due = next_due;
        }
    }

    /// Marks that the database has deliveries that are not in memory.
    pub(super) fn expect_more(&mut self) {
        self.more = More::Yes;
    }

    /// Returns whether few deliveries wait in memory.
    fn is_low(&self) -> bool {
        self.waiting.len() <= self.waiting_max() / 4
    }

    /// Returns whether enough deliveries wait in memory. The database is read again anyway when few are left.
    pub(super) fn has_enough(&self) -> bool {
        self.more == More::Yes && !self.is_low()
    }

    /// Returns whether the database is to be read now.
    pub(super) fn needs_refill(&self, now: Timestamp) -> bool {
        (self.more == More::Yes && self.is_low())
            || (self.is_stale && self.unsettled.is_empty())
            || self.next_due.is_some_and(|at| at <= now)
    }

    /// Marks that the database is being read.
    pub(super) fn refilling(&mut self) {
        (self.more, self.is_stale, self.next_due) = (More::No, false, None);
    }

    pub(super) fn next_due(&self) -> Option<Timestamp> {
        self.next_due
    }

    /// Returns whether nothing of it is in memory.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
            && self.suspects.is_empty()
            && self.unsettled.is_empty()
            && self.lanes == 0
            && self.more == More::No
            && !self.is_stale
    }

    /// Returns the deliveries in memory.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.suspects.len() + self.unsettled.len()
    }

    /// Returns whether its share of the memory limits what waits.
    pub(super) fn has_share(&self) -> bool {
        self.health.class() == Class::Healthy && self.len() > 0
    }

    pub(super) fn lanes(&self) -> usize {
        self.lanes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use primitives::Id;

    use super::*;
    use crate::dispatcher::StartCounts;

    const MINUTE: Duration = Duration::from_mins(1);

    fn now() -> Timestamp {
        "2026-11-15T08:00:00Z".parse().unwrap()
    }

    fn pending(number: u128, lost: i16) -> Pending {
        let event = EventId::from_random(number);
        Pending {
            event_at: now(),
            event,
            due_at: now(),
            counts: StartCounts { attempts: 1, starts: 1 + lost, lone_starts: 0 },
        }
    }

    fn rows(count: u128) -> Vec<Pending> {
        (0..count).map(|number| pending(number, 0)).collect()
    }

    fn stored(failures: i32, probe_at: Option<Timestamp>) -> StoredHealth {
        let failing_since = (failures > 0).then(now);
        let last_success_at = Some(now());
        StoredHealth {
            last_success_at,
            failing_since,
            consecutive_failures: failures,
            probe_at,
            latency: None,
        }
    }

    fn healthy(count: u128) -> EndpointQueue {
        let mut queue = EndpointQueue::new();
        assert!(queue.refill(Some(stored(0, None)), &rows(count), now()).is_empty());
        queue
    }

    #[test]
    fn a_healthy_endpoint_has_two_lanes_and_others_one() {
        let mut queue = healthy(30);
        for lanes in 0..2 {
            assert!(queue.can_start(now()), "{lanes}");
            assert_eq!(queue.take(4).len(), 4);
            queue.lane_started();
        }
        assert!(!queue.can_start(now()));
        for health in [None, Some(stored(1, None))] {
            let mut queue = EndpointQueue::new();
            queue.refill(health, &rows(30), now());
            assert_eq!(queue.take(4).len(), 1);
            queue.lane_started();
            assert!(!queue.can_start(now()));
        }
    }

    #[test]
    fn a_slow_endpoint_has_two_lanes_of_one_delivery_and_few_wait() {
        let mut queue = EndpointQueue::new();
        let latency = Some(Duration::from_secs(9));
        queue.refill(Some(StoredHealth { latency, ..stored(0, None) }), &rows(30), now());
        assert_eq!((queue.health.class(), queue.len()), (Class::Slow, WAITING_UNPROVEN_MAX));
        for lanes in 0..2 {
            assert!(queue.can_start(now()), "{lanes}");
            assert_eq!(queue.take(4).len(), 1);
            queue.lane_started();
        }
        assert!(!queue.can_start(now()) && queue.needs_refill(now()));
    }

    #[test]
    fn few_deliveries_wait_in_memory_and_more_are_read_in_time() {
        let mut queue = healthy(u128::try_from(LOADED_MAX).unwrap());
        assert_eq!(queue.len(), WAITING_MAX);
        assert!(!queue.needs_refill(now()));
        let (mut taken, most) = (0, WAITING_MAX - WAITING_MAX / 4);
        while taken < most {
            assert!(!queue.needs_refill(now()), "{taken}");
            taken += queue.take(RUN_MAX.min(most - taken)).len();
        }
        assert!(queue.needs_refill(now()));
        let again =
            queue.refill(Some(stored(0, None)), &rows(u128::try_from(LOADED_MAX).unwrap()), now());
        assert_eq!((again.len(), queue.waiting.len()), (0, LOADED_MAX - taken));
        let first = EventId::from_random(u128::try_from(taken).unwrap());
        assert_eq!(queue.waiting.front().unwrap().event, first);
        let mut untried = EndpointQueue::new();
        untried.refill(None, &rows(30), now());
        assert_eq!(untried.len(), WAITING_UNPROVEN_MAX);
    }

    #[test]
    fn few_deliveries_of_an_endpoint_that_fails_are_read_and_those_after_them_in_time() {
        let most = u128::try_from(LOADED_UNPROVEN_MAX).unwrap();
        let failing = Some(stored(1, None));
        let mut queue = EndpointQueue::new();
        queue.refill(failing, &rows(most), now());
        assert_eq!(queue.take(RUN_MAX).len() + queue.take(RUN_MAX).len(), WAITING_UNPROVEN_MAX);
        assert!(queue.needs_refill(now()));
        queue.unsettled = (0..most).map(EventId::from_random).collect();
        queue.refilling();
        queue.refill(failing, &rows(most), now());
        assert!(!queue.needs_refill(now()), "all that can be read are started");
        queue.settled(EventId::from_random(0));
        assert!(queue.needs_refill(now()));
    }

    #[test]
    fn an_endpoint_that_has_just_succeeded_is_read_again_once_a_result_is_recorded() {
        let most = u128::try_from(LOADED_UNPROVEN_MAX).unwrap();
        let mut queue = EndpointQueue::new();
        queue.refill(None, &rows(most), now());
        let taken = queue.take(RUN_MAX);
        assert!(queue.health.succeed(now()));
        queue.refilling();
        queue.refill(None, &rows(most), now());
        assert_eq!(queue.waiting.len(), LOADED_UNPROVEN_MAX - taken.len());
        assert!(!queue.needs_refill(now()), "its success is not recorded");
        queue.settled(taken[0].event);
        assert!(queue.needs_refill(now()));
    }

    #[test]
    fn a_delivery_that_is_started_is_not_read_again_until_it_is_settled() {
        let mut queue = healthy(1);
        let taken = queue.take(10);
        queue.refill(Some(stored(0, None)), &rows(1), now());
        assert!(queue.waiting.is_empty() && !queue.is_idle());
        queue.settled(taken[0].event);
        assert!(queue.needs_refill(now()), "what it read meanwhile may be out of date");
        queue.refilling();
        queue.refill(Some(stored(0, None)), &[], now());
        assert!(queue.is_idle() && !queue.needs_refill(now()));
    }

    #[test]
    fn a_delivery_that_is_due_later_is_read_then() {
        let mut queue = EndpointQueue::new();
        let later = Pending { due_at: now().plus(MINUTE), ..pending(1, 0) };
        queue.refill(Some(stored(0, None)), &[later], now());
        assert!(queue.is_idle() && !queue.needs_refill(now()));
        assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
        assert!(queue.needs_refill(now().plus(MINUTE)));
    }

    #[test]
    fn an_open_circuit_lets_one_probe_through_when_it_is_time() {
        let (mut queue, probe_at) = (EndpointQueue::new(), now().plus(MINUTE));
        queue.refill(Some(stored(5, Some(probe_at))), &rows(30), now());
        assert!(queue.is_idle() && !queue.can_start(now()));
        assert_eq!(queue.next_due(), Some(probe_at));
        queue.refill(Some(stored(5, Some(probe_at))), &rows(30), probe_at);
        assert!(queue.can_start(probe_at));
        assert_eq!(queue.take(10).len(), 1);
        assert!(!queue.can_start(probe_at));
        queue.refill(Some(stored(5, Some(probe_at))), &rows(30), probe_at);
        assert!(!queue.can_start(probe_at), "the probe has no result yet");
        assert!(!queue.needs_refill(probe_at), "it is read again once it has");
    }

    #[test]
    fn the_fifth_failure_opens_the_circuit_and_a_success_closes_it() {
        let mut queue = healthy(30);
        for failures in 1..=5 {
            assert!(queue.can_start(now()), "{failures}");
            queue.health.fail();
            queue.pause_if_open();
        }
        assert!(!queue.can_start(now()) && queue.is_idle());
        queue.health.recorded(Some(now()), Some(now().plus(MINUTE)));
        queue.pause_if_open();
        assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
        assert!(queue.health.succeed(now()), "it is recorded");
        queue.refill(Some(stored(0, None)), &rows(3), now());
        assert!(queue.can_start(now()));
    }

    #[test]
    fn deliveries_with_lost_starts_are_separated_and_others_flow() {
        let mut queue = EndpointQueue::new();
        let mut own = pending(4, 3);
        own.counts.lone_starts = 1;
        let read = [pending(0, 2), pending(1, 1), pending(2, 0), pending(3, 0), own];
        let quarantined = queue.refill(Some(stored(0, None)), &read, now());
        assert_eq!(quarantined, [own]);
        assert_eq!(queue.take(10), [pending(1, 1)], "the only one of its lane");
        assert_eq!(queue.take(10), [pending(2, 0), pending(3, 0)], "a suspect is in no one's way");
        assert_eq!(queue.take(10), [], "the suspect has its own turn");
        assert!(!queue.can_start(now()) && queue.can_start_alone(now()));
        assert_eq!(queue.take_suspect(), Some(pending(0, 2)));
        assert_eq!(queue.take_suspect(), None);
        assert!(!queue.can_start_alone(now()));
    }

    #[test]
    fn suspects_keep_no_other_delivery_of_an_endpoint_that_is_not_healthy_waiting() {
        let read = [pending(0, 2), pending(1, 2), pending(2, 0), pending(3, 0), pending(4, 0)];
        for health in [None, Some(stored(1, None))] {
            let mut queue = EndpointQueue::new();
            queue.refill(health, &read, now());
            assert!(queue.can_start(now()) && queue.can_start_alone(now()));
            assert_eq!(queue.take(10), [pending(2, 0)], "a suspect is in no one's way");
            assert_eq!(queue.take(10), [pending(3, 0)]);
            assert!(queue.needs_refill(now()), "there are more");
            assert_eq!(queue.take_suspect(), Some(pending(0, 2)));
            assert_eq!(queue.take_suspect(), Some(pending(1, 2)));
        }
        let mut open = EndpointQueue::new();
        open.refill(Some(stored(5, Some(now()))), &read, now());
        assert!(open.can_start(now()) && !open.can_start_alone(now()), "there is one probe");
        open.refill(Some(stored(5, Some(now()))), &read[..2], now());
        assert!(!open.can_start(now()) && open.can_start_alone(now()));
        assert!(open.take_suspect().is_some() && open.take_suspect().is_none());
    }

    #[test]
    fn an_endpoint_whose_last_failure_cannot_be_recorded_is_read_again() {
        let mut queue = healthy(1);
        let taken = queue.take(1);
        (0..5).for_each(|_| queue.health.fail());
        queue.pause_if_open();
        queue.settled(taken[0].event);
        queue.refill_at(now().plus(MINUTE));
        queue.pause_if_open();
        assert_eq!(queue.next_due(), Some(now().plus(MINUTE)));
    }

    #[test]
    fn a_store_that_reset_the_health_of_its_endpoint_is_believed_after_the_last_result() {
        let mut queue = EndpointQueue::new();
        queue.refill(Some(stored(5, Some(now()))), &rows(3), now());
        let probe = queue.take(1);
        queue.refill(None, &rows(3), now());
        assert_eq!(queue.health.class(), Class::Failing);
        queue.settled(probe[0].event);
        assert!(queue.needs_refill(now()));
        queue.refill(None, &rows(3), now());
        assert_eq!(queue.health.class(), Class::Untried);
        assert!(queue.can_start(now()));
    }
}
