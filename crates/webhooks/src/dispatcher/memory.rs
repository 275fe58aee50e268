//! What a process has in memory, and what it decides from it: what starts, and what follows from the results.
//!
//! Nothing here waits. A session does what is decided here, and the simulation runs the same code.

use std::collections::BTreeMap;
use std::time::Duration;

use primitives::{EventId, MerchantId, Timestamp};
use tokio::time::Instant;
use uuid::Uuid;

use crate::dispatcher::attempt::{AttemptResult, LANE_MAX};
use crate::dispatcher::decision::{self, Plan, Report};
use crate::dispatcher::endpoint_queue::RUN_MAX;
use crate::dispatcher::results::{Disposition, Settled};
use crate::dispatcher::slots::{Class, Slots, Turn};
use crate::dispatcher::stores::{Backlog, STORES_MAX, Stores};
use crate::table::delivery::{DeliveryKey, EndpointKey, Loaded, Pending, Startable};

/// Deliveries whose start is recorded in one transaction.
const STARTS_PER_TRANSACTION: usize = 500;
/// Deliveries in lanes, for each slot, to which runs are limited.
const RUNNING_PER_SLOT: usize = 4;
/// Reports that are not recorded, for each slot, from which nothing starts.
const UNSETTLED_PER_SLOT: usize = 4;
/// Endpoints of a class, for each slot, from which further ones do not wait in memory.
const BACKLOG_PER_SLOT: usize = 4;
/// The same for any number of slots: endpoints that do not respond leave room for the stores of others.
const BACKLOG_MAX: usize = STORES_MAX / 6;
/// For how long such an endpoint is left out, and nothing starts at one of which the database refused a start or a result.
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

    /// Returns the events of its deliveries.
    pub(super) fn events(&self) -> Vec<EventId> {
        self.deliveries.iter().map(|pending| pending.event).collect()
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
        let backlog = self.backlog();
        for merchant in merchants {
            self.stores.offer_all(*merchant, &mut self.slots, now, backlog);
            self.stores.review(*merchant, now);
        }
        self.unsettled += quarantined.len();
        let report = |(endpoint, pending)| {
            Report::quarantined(owner, DeliveryKey::of(endpoint, &pending), &pending, now)
        };
        quarantined.into_iter().map(report).collect()
    }

    fn backlog(&self) -> Backlog {
        let max = (self.slots.total() * BACKLOG_PER_SLOT).min(BACKLOG_MAX);
        Backlog { max, defer_until: self.now.plus(DEFERRED) }
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
        let (run_max, backlog) = (self.run_max(), self.backlog());
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
            self.stores.offer(lane.endpoint, &mut self.slots, self.now, backlog);
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
        // More than it is expected to send would be started and taken back.
        let deliveries = queue.take(run_max.min(queue.health.requests_within(LANE_MAX)));
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

    /// Returns deliveries whose start the database refuses: their endpoint gets no attempts for a while.
    pub(super) fn refuse(&mut self, chosen: &Chosen) {
        self.undo(chosen);
        if let Some(queue) = self.stores.endpoint(chosen.endpoint) {
            queue.hold(self.now.plus(DEFERRED));
        }
        self.stores.review(chosen.endpoint.merchant, self.now);
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
                let report = decision::decide(result, queue.health_at(result.health_version), now);
                // More of it may be in memory now, or one after another.
                if report.plan == Plan::Delivered && queue.health.class() != class {
                    queue.expect_more();
                }
                queue.pause_if_open();
                if let Plan::Withheld(delay) = report.plan {
                    let until = now.plus(delay);
                    self.stores.withhold(key.endpoint, result.health_version, until);
                }
                report
            }
            None => decision::decide(result, None, now),
        };
        self.offer(key.endpoint);
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
        let Settled { key, health_version, disposition, health, is_disabled, .. } = *result;
        if disposition == Disposition::Fenced {
            self.stores.remove(key.endpoint.merchant);
            return;
        }
        let Some(queue) = self.stores.endpoint(key.endpoint) else { return };
        queue.settled(key.event);
        if let Some((health, recorded)) = queue.health_at(health_version).zip(health) {
            health.recorded(recorded.failing_since, recorded.probe_at);
        }
        match disposition {
            Disposition::Due(at) => queue.refill_at(at),
            Disposition::Returned => queue.expect_more(),
            Disposition::Unrecordable | Disposition::Done | Disposition::Fenced => {}
        }
        queue.pause_if_open();
        if is_disabled {
            queue.drop_waiting();
        }
        if disposition == Disposition::Unrecordable {
            queue.hold(self.now.plus(DEFERRED));
        }
        self.offer(key.endpoint);
    }

    /// Lets an endpoint of which a result came wait for a slot.
    fn offer(&mut self, endpoint: EndpointKey) {
        let (now, backlog) = (self.now, self.backlog());
        self.stores.offer(endpoint, &mut self.slots, now, backlog);
        self.stores.review(endpoint.merchant, now);
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
        let (now, backlog) = (self.now, self.backlog());
        self.stores.lane_ended(endpoint, &mut self.slots, now, backlog);
        self.stores.review(endpoint.merchant, now);
    }
}

#[cfg(test)]
mod tests;
