//! What a process has in memory, and what it decides from it: what starts, and what follows from the results.
//!
//! Nothing here waits. A session does what is decided here, and the simulation runs the same code.

use std::collections::BTreeMap;
use std::time::Duration;

use primitives::{EventId, MerchantId, Timestamp};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::AttemptResult;
use crate::dispatcher::decision::{self, Plan, Report};
use crate::dispatcher::endpoint_queue::RUN_MAX;
use crate::dispatcher::results::{Disposition, Settled};
use crate::dispatcher::slots::{Class, Slots, Turn};
use crate::dispatcher::stores::Stores;
use crate::table::delivery::{DeliveryKey, EndpointKey, Loaded, Pending, Startable};

/// Deliveries whose start is recorded in one transaction.
const STARTS_PER_TRANSACTION: usize = 500;
/// Deliveries in lanes, for each slot, to which runs are limited.
const RUNNING_PER_SLOT: usize = 4;
/// Reports that are not recorded, for each slot, from which nothing starts.
const UNSETTLED_PER_SLOT: usize = 4;
/// Endpoints of a class, for each slot, from which further ones do not wait in memory.
const BACKLOG_PER_SLOT: usize = 4;
/// For how long such an endpoint is left out, and one whose result cannot be recorded.
const DEFERRED: Duration = Duration::from_mins(1);

/// The deliveries of a lane before their start is recorded.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) endpoint: EndpointKey,
    class: Class,
    /// Its only delivery is a suspect.
    pub(super) is_alone: bool,
    pub(super) deliveries: Vec<Pending>,
}

impl Chosen {
    /// Returns what is to be started.
    pub(super) fn startable(&self) -> impl Iterator<Item = Startable> {
        self.deliveries.iter().map(|pending| Startable {
            key: DeliveryKey::of(self.endpoint, pending),
            counts: pending.counts,
        })
    }
}

/// The number of a lane, which is used once.
pub(super) type LaneNumber = u64;

/// What is known of a running lane.
#[derive(Debug, Clone, Copy)]
struct RunningLane {
    endpoint: EndpointKey,
    class: Class,
    is_alone: bool,
    /// Deliveries that it has and did not report.
    unreported: usize,
}

/// The memory of a process.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) stores: Stores,
    pub(super) slots: Slots,
    lanes: BTreeMap<LaneNumber, RunningLane>,
    last_lane: LaneNumber,
    /// Deliveries that are chosen and whose start is not recorded.
    starting: usize,
    /// Reports whose record is not confirmed.
    unsettled: usize,
    /// The time of the database when it was last asked.
    pub(super) now: Timestamp,
}

impl Memory {
    pub(super) fn new(slots: usize, now: Timestamp) -> Self {
        Self {
            stores: Stores::default(),
            slots: Slots::new(slots),
            lanes: BTreeMap::new(),
            last_lane: 0,
            starting: 0,
            unsettled: 0,
            now,
        }
    }

    /// Forgets stores and lanes: the lease was lost. The record of reports is still awaited.
    pub(super) fn forget(&mut self) {
        self.stores = Stores::default();
        self.slots = Slots::new(self.slots.total());
        self.lanes.clear();
        self.starting = 0;
    }

    /// Returns whether every report is recorded.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    /// Awaits the record of no report any more: those that were not recorded are lost.
    pub(super) fn lose_reports(&mut self) {
        self.unsettled = 0;
    }

    /// Returns whether something is starting, is in flight, is not recorded or waits for its turn alone.
    pub(super) fn is_busy(&self) -> bool {
        let is_in_flight = self.starting > 0 || !self.lanes.is_empty();
        is_in_flight || !self.is_settled() || self.slots.has_suspects()
    }

    /// Takes over what was read of stores, with the share of endpoints then. Returns the reports of deliveries that are quarantined now.
    pub(super) fn refill(
        &mut self,
        owner: Uuid,
        merchants: &[MerchantId],
        loaded: &[Loaded],
        share: usize,
    ) -> Vec<Report> {
        let now = self.now;
        let quarantined = self.stores.refill(merchants, loaded, share, now);
        let backlog_max = self.slots.total() * BACKLOG_PER_SLOT;
        for merchant in merchants {
            let slots = &mut self.slots;
            self.stores.offer_all(*merchant, slots, now, backlog_max, now.plus(DEFERRED));
            self.stores.review(*merchant, now);
        }
        self.unsettled += quarantined.len();
        let report = |(endpoint, pending)| {
            Report::quarantined(owner, DeliveryKey::of(endpoint, &pending), &pending, now)
        };
        quarantined.into_iter().map(report).collect()
    }

    /// Returns whether an attempt can start: not while too many results wait to be recorded.
    pub(super) fn can_start(&mut self, instant: Instant) -> bool {
        let is_behind = self.unsettled > self.slots.total() * UNSETTLED_PER_SLOT;
        !is_behind && self.slots.can_start(instant, self.is_settled())
    }

    /// Returns when an endpoint may start that waits for nothing but its pace; `None` if there is none.
    pub(super) fn resumes_at(&mut self, instant: Instant) -> Option<Instant> {
        self.slots.resumes_at(instant, self.is_settled())
    }

    /// Chooses deliveries for free slots, in turn: those of any number of lanes, or one suspect.
    pub(super) fn choose(&mut self, instant: Instant) -> Vec<Chosen> {
        let mut chosen = Vec::new();
        let mut count = 0;
        let run_max = self.run_max();
        while count < STARTS_PER_TRANSACTION
            && let Some(turn) = self.slots.next(instant, self.unsettled == 0)
        {
            let lane = match turn {
                Turn::Lane(class, endpoint) => self.choose_lane(class, endpoint, run_max),
                Turn::Alone(endpoint) => self.choose_suspect(endpoint, instant),
            };
            let Some(lane) = lane else { continue };
            count += lane.deliveries.len();
            self.stores.lane_started(lane.endpoint);
            self.stores.offer(lane.endpoint, &mut self.slots, self.now);
            chosen.push(lane);
        }
        self.starting += count;
        chosen
    }

    fn choose_lane(
        &mut self,
        class: Class,
        endpoint: EndpointKey,
        run_max: usize,
    ) -> Option<Chosen> {
        let has_lane = self.stores.has_lane(endpoint.merchant);
        let queue = self.stores.endpoint(endpoint)?;
        if queue.queued != Some(class) {
            return None;
        }
        queue.queued = None;
        if !has_lane || !queue.can_start(self.now) {
            return None;
        }
        let deliveries = queue.take(run_max);
        self.slots.occupy(class);
        Some(Chosen { endpoint, class, is_alone: false, deliveries })
    }

    /// Chooses the first suspect of an endpoint. Nothing else is in flight.
    fn choose_suspect(&mut self, endpoint: EndpointKey, instant: Instant) -> Option<Chosen> {
        let queue = self.stores.endpoint(endpoint)?;
        queue.awaits_turn = false;
        if !queue.can_start_alone(self.now) {
            return None;
        }
        let class = queue.health.class();
        let deliveries = vec![queue.take_suspect()?];
        self.slots.occupy_alone(class, instant);
        Some(Chosen { endpoint, class, is_alone: true, deliveries })
    }

    /// Returns how many deliveries a lane may have: the fewer endpoints wait, the more.
    fn run_max(&self) -> usize {
        let in_lanes: usize = self.lanes.values().map(|lane| lane.unreported).sum();
        let room = self.slots.total() * RUNNING_PER_SLOT;
        let room = room.saturating_sub(in_lanes + self.starting);
        let waiting: usize = Class::ALL.iter().map(|class| self.slots.waiting(*class)).sum();
        (room / waiting.clamp(1, self.slots.total())).clamp(1, RUN_MAX)
    }

    /// Returns deliveries that were not started, as far as is known: their store is read again.
    pub(super) fn undo(&mut self, chosen: &Chosen) {
        self.starting = self.starting.saturating_sub(chosen.deliveries.len());
        if let Some(queue) = self.stores.endpoint(chosen.endpoint) {
            chosen.deliveries.iter().for_each(|pending| queue.settled(pending.event));
            queue.expect_more();
            self.stores.mark_for_read(chosen.endpoint.merchant);
        }
        self.vacate(chosen.endpoint, chosen.class, chosen.is_alone);
    }

    /// Begins a lane with the deliveries whose start is recorded, and returns its number. `None` if there are none. The
    /// `missing` ones do not exist any more, are locked or were changed since they were read, or their endpoint is disabled or
    /// deleted, or the store is not owned any more: the database is read again.
    pub(super) fn begin(
        &mut self,
        chosen: &Chosen,
        missing: &[EventId],
        is_owned: bool,
    ) -> Option<LaneNumber> {
        let Chosen { endpoint, class, is_alone, .. } = *chosen;
        self.starting = self.starting.saturating_sub(chosen.deliveries.len());
        if !is_owned {
            self.stores.remove(endpoint.merchant);
        }
        if let Some(queue) = self.stores.endpoint(endpoint) {
            for event in missing {
                queue.settled(*event);
            }
            if !missing.is_empty() {
                queue.expect_more();
            }
        }
        let unreported = chosen.deliveries.len().saturating_sub(missing.len());
        if unreported == 0 {
            self.vacate(endpoint, class, is_alone);
            return None;
        }
        self.last_lane += 1;
        let lane = RunningLane { endpoint, class, is_alone, unreported };
        self.lanes.insert(self.last_lane, lane);
        Some(self.last_lane)
    }

    /// Decides what follows from an attempt, and returns what is to be recorded.
    pub(super) fn report(&mut self, result: &AttemptResult) -> Report {
        self.unsettled += 1;
        let (key, now) = (result.key, self.now);
        let lane = self.lanes.get_mut(&result.lane);
        // Of a lease that was lost, no lane is known, and what is in memory is that of another one.
        let queue = match lane {
            Some(lane) => {
                lane.unreported = lane.unreported.saturating_sub(1);
                self.stores.endpoint(key.endpoint)
            }
            None => None,
        };
        let report = match queue {
            Some(queue) => {
                let class = queue.health.class();
                let report = decision::decide(result, Some(&mut queue.health), now);
                if report.plan == Plan::Delivered && class != Class::Healthy {
                    queue.expect_more();
                }
                queue.pause_if_open();
                if let Plan::Withheld(delay) = report.plan {
                    self.stores.defer(key.endpoint, now.plus(delay));
                }
                report
            }
            None => decision::decide(result, None, now),
        };
        self.stores.offer(key.endpoint, &mut self.slots, now);
        self.stores.review(key.endpoint.merchant, now);
        report
    }

    /// Takes over what was recorded. Results of a lease that was lost say nothing about what is in memory.
    pub(super) fn settle(&mut self, owner: Option<Uuid>, settled: &[Settled]) {
        self.unsettled = self.unsettled.saturating_sub(settled.len());
        for result in settled.iter().filter(|result| Some(result.owner) == owner) {
            self.settle_one(result);
        }
    }

    fn settle_one(&mut self, result: &Settled) {
        let Settled { key, disposition, health, is_disabled, .. } = *result;
        if disposition == Disposition::Fenced {
            self.stores.remove(key.endpoint.merchant);
            return;
        }
        let now = self.now;
        let Some(queue) = self.stores.endpoint(key.endpoint) else { return };
        queue.settled(key.event);
        if let Some(health) = health {
            queue.health.recorded(health.failing_since, health.probe_at);
        }
        match disposition {
            Disposition::Due(at) => queue.refill_at(at),
            Disposition::Returned => queue.expect_more(),
            Disposition::Unrecordable => queue.refill_at(now.plus(DEFERRED)),
            Disposition::Done | Disposition::Fenced => {}
        }
        queue.pause_if_open();
        if is_disabled {
            queue.clear();
        }
        self.stores.offer(key.endpoint, &mut self.slots, now);
        self.stores.review(key.endpoint.merchant, now);
    }

    /// Ends a lane, and returns its endpoint. `None` for a lane of a lease that was lost.
    pub(super) fn lane_ended(&mut self, lane: LaneNumber) -> Option<EndpointKey> {
        let RunningLane { endpoint, class, is_alone, .. } = self.lanes.remove(&lane)?;
        self.vacate(endpoint, class, is_alone);
        Some(endpoint)
    }

    /// Returns the slot of a lane.
    fn vacate(&mut self, endpoint: EndpointKey, class: Class, was_alone: bool) {
        if was_alone {
            self.slots.vacate_alone(class);
        } else {
            self.slots.vacate(class);
        }
        self.stores.lane_ended(endpoint, &mut self.slots, self.now);
        self.stores.review(endpoint.merchant, self.now);
    }
}

#[cfg(test)]
mod tests {
    use primitives::{EndpointId, Id};
    use rand::SeedableRng;
    use rand::rngs::StdRng;

    use super::*;
    use crate::dispatcher::StartCounts;
    use crate::dispatcher::attempt::Outcome;
    use crate::schedule::Jitter;
    use crate::table::delivery::StoredHealth;

    const OWNER: Uuid = Uuid::from_u128(7);
    const SLOTS: usize = 8;
    const SHARE: usize = 100;

    fn now() -> Timestamp {
        "2026-11-15T08:00:00Z".parse().unwrap()
    }

    fn endpoint() -> EndpointKey {
        EndpointKey { merchant: MerchantId::from_random(1), endpoint: EndpointId::from_random(2) }
    }

    /// A memory with a healthy endpoint, for which that many deliveries are due.
    fn memory(deliveries: u128) -> Memory {
        let mut memory = Memory::new(SLOTS, now());
        let pending = |number| Pending {
            event_at: now(),
            event: EventId::from_random(number),
            due_at: now(),
            counts: StartCounts::default(),
        };
        let health = StoredHealth {
            last_success_at: Some(now()),
            failing_since: None,
            consecutive_failures: 0,
            probe_at: None,
            latency: None,
        };
        let pending = (0..deliveries).map(pending).collect();
        let loaded = Loaded { key: endpoint(), health: Some(health), pending };
        assert!(memory.refill(OWNER, &[endpoint().merchant], &[loaded], SHARE).is_empty());
        memory
    }

    /// Chooses and starts everything. Returns the lanes with their deliveries.
    fn start(memory: &mut Memory) -> Vec<(LaneNumber, Vec<DeliveryKey>)> {
        let chosen = memory.choose(Instant::now());
        let begin = |lane: Chosen| {
            let number = memory.begin(&lane, &[], true).expect("it has deliveries");
            (number, lane.startable().map(|it| it.key).collect())
        };
        chosen.into_iter().map(begin).collect()
    }

    fn delivered(lane: LaneNumber, key: DeliveryKey) -> AttemptResult {
        AttemptResult {
            owner: OWNER,
            lane,
            key,
            version: 1,
            counts: StartCounts::default().started(false),
            is_alone: false,
            is_first: true,
            jitter: Jitter::random(&mut StdRng::seed_from_u64(1)),
            at: now(),
            latency: Duration::from_millis(5),
            outcome: Outcome::Response { status: 200, retry_after: None, start: Vec::new() },
        }
    }

    #[test]
    fn a_lane_that_panics_leaves_nothing_in_flight() {
        let mut memory = memory(2 * u128::try_from(RUN_MAX).unwrap());
        let before = memory.run_max();
        let lanes = start(&mut memory);
        assert_eq!(lanes.len(), 2);
        memory.report(&delivered(lanes[0].0, lanes[0].1[0]));
        assert!(memory.run_max() < before && memory.is_busy());
        for (lane, _) in lanes {
            assert_eq!(memory.lane_ended(lane), Some(endpoint()));
        }
        memory.stores.remove(endpoint().merchant);
        memory.lose_reports();
        assert_eq!((memory.run_max(), memory.slots.in_use()), (before, 0));
        assert!(!memory.is_busy());
    }

    #[test]
    fn a_result_of_a_lost_lease_is_recorded_and_changes_nothing_in_memory() {
        let mut memory = memory(20);
        let lanes = start(&mut memory);
        memory.forget();
        let report = memory.report(&delivered(lanes[0].0, lanes[0].1[0]));
        assert_eq!((report.plan, report.health), (Plan::Delivered, None));
        assert!(!memory.is_settled());
        let settled = Settled {
            owner: OWNER,
            key: report.key,
            disposition: Disposition::Fenced,
            health: None,
            is_disabled: false,
        };
        memory.settle(Some(Uuid::from_u128(8)), &[settled]);
        assert!(memory.is_settled());
        assert_eq!(memory.lane_ended(lanes[0].0), None);
    }

    #[test]
    fn an_endpoint_whose_secret_cannot_be_read_gets_no_other_attempt_for_some_time() {
        let mut memory = memory(20);
        let mut settled = Vec::new();
        for (lane, keys) in start(&mut memory) {
            for key in keys {
                let outcome = Outcome::SecretUnreadable;
                let report = memory.report(&AttemptResult { outcome, ..delivered(lane, key) });
                let Plan::Withheld(delay) = report.plan else { panic!("{:?}", report.plan) };
                settled.push(Settled {
                    owner: OWNER,
                    key,
                    disposition: Disposition::Due(now().plus(delay)),
                    health: None,
                    is_disabled: false,
                });
            }
            memory.lane_ended(lane);
        }
        memory.settle(Some(OWNER), &settled);
        assert!(!memory.can_start(Instant::now()) && !memory.stores.has_listed());
        let released = memory.stores.idle(true, 10);
        assert_eq!(released.len(), 1);
        assert_eq!(released[0].not_before, Some(now().plus(Duration::from_mins(5))));
    }

    #[test]
    fn deliveries_that_were_not_started_are_read_again() {
        let mut memory = memory(1);
        let chosen = memory.choose(Instant::now());
        memory.undo(&chosen[0]);
        assert!(memory.stores.has_listed() && !memory.is_busy());
        assert_eq!(memory.slots.in_use(), 0);
    }

    #[test]
    fn a_store_whose_start_failed_is_read_again_whatever_else_waits() {
        let mut memory = memory(u128::try_from(SHARE).unwrap());
        memory.slots.wait(Class::Healthy, endpoint());
        let chosen = memory.choose(Instant::now());
        assert!(!memory.stores.has_listed());
        memory.undo(&chosen[0]);
        assert!(memory.stores.has_listed());
    }

    #[test]
    fn nothing_starts_while_too_many_results_are_not_recorded() {
        let mut memory = memory(20);
        let most = SLOTS * UNSETTLED_PER_SLOT;
        let key =
            DeliveryKey { endpoint: endpoint(), event_at: now(), event: EventId::from_random(0) };
        for _ in 0..most {
            memory.report(&delivered(99, key));
        }
        assert!(memory.can_start(Instant::now()));
        memory.report(&delivered(99, key));
        assert!(!memory.can_start(Instant::now()));
    }
}
