//! A simulated process: its memory, and the loop of `session.rs` and `start.rs` without waiting.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use primitives::{MerchantId, Timestamp};
use rand::rngs::StdRng;
use tokio::time::Instant;
use uuid::Uuid;

use super::tables::Tables;
use crate::dispatcher::attempt::{Ended, Outcome};
use crate::dispatcher::decision::{self, Plan, Report};
use crate::dispatcher::endpoint_queue::RUN_MAX;
use crate::dispatcher::results::{Fate, Settled};
use crate::dispatcher::slots::{Class, Slots, Turn};
use crate::dispatcher::stores::Stores;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, EndpointKey};

/// As in `session.rs`, `start.rs` and `attempt.rs`.
const BACKLOG_PER_SLOT: usize = 4;
const DEFERRED: Duration = Duration::from_mins(1);
const STARTS_PER_STEP: usize = 500;
const LANE_MAX: Duration = Duration::from_secs(2);

/// A delivery whose start is recorded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Started {
    pub(super) key: DeliveryKey,
    attempts: i16,
    starts: i16,
    lone_starts: i16,
    jitter: Jitter,
}

/// A lane: its first delivery is being sent.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) endpoint: EndpointKey,
    class: Class,
    is_alone: bool,
    deliveries: VecDeque<Started>,
    since: Timestamp,
}

impl Lane {
    /// Returns what it has not reported.
    pub(super) fn keys(&self) -> impl Iterator<Item = DeliveryKey> {
        self.deliveries.iter().map(|started| started.key)
    }
}

/// What a process has in memory, under one owner id.
pub(super) struct Memory {
    pub(super) owner: Uuid,
    stores: Stores,
    pub(super) slots: Slots,
    pub(super) lanes: BTreeMap<u64, Lane>,
    in_lanes: usize,
    /// A suspect from its start until its result is recorded. Nothing else is attempted meanwhile.
    pub(super) suspect: Option<DeliveryKey>,
    /// A time of the clock of processes, and the simulated time that it stands for.
    clock: (Instant, Timestamp),
    /// Reports that are not recorded.
    pub(super) reports: Vec<Report>,
}

/// What is chosen for a lane before its starts are recorded.
struct Chosen {
    endpoint: EndpointKey,
    class: Class,
    is_alone: bool,
    deliveries: Vec<DeliveryKey>,
}

impl Memory {
    pub(super) fn new(owner: Uuid, slots: usize, now: Timestamp) -> Self {
        Self {
            owner,
            stores: Stores::default(),
            slots: Slots::new(slots),
            lanes: BTreeMap::new(),
            in_lanes: 0,
            suspect: None,
            clock: (Instant::now(), now),
            reports: Vec::new(),
        }
    }

    fn instant(&self, now: Timestamp) -> Instant {
        let (instant, at) = self.clock;
        instant + now.since(at)
    }

    /// Claims and reads stores.
    pub(super) fn take(&mut self, tables: &mut Tables, now: Timestamp) {
        self.stores.ring(now);
        let listed = self.stores.take_listed(usize::MAX);
        let (merchants, loaded) = tables.take(self.owner, listed, now);
        let quarantined = self.stores.refill(&merchants, &loaded, now);
        for (endpoint, pending) in quarantined {
            let key = DeliveryKey::of(endpoint, &pending);
            self.reports.push(Report::quarantined(self.owner, key, &pending, now));
        }
        let backlog_max = self.slots.total() * BACKLOG_PER_SLOT;
        for merchant in merchants {
            let defer_until = now.plus(DEFERRED);
            self.stores.offer_all(merchant, &mut self.slots, now, backlog_max, defer_until);
            self.stores.review(merchant, now);
        }
        self.stores.ring(now);
    }

    /// Starts lanes in free slots, and returns their numbers, from `next_lane` on.
    pub(super) fn start(
        &mut self,
        tables: &mut Tables,
        rng: &mut StdRng,
        next_lane: &mut u64,
        now: Timestamp,
    ) -> Vec<u64> {
        let chosen = if self.can_start(now) { self.choose(now) } else { Vec::new() };
        let owned = tables.owned(self.owner, true, now);
        let mut numbers = Vec::new();
        for lane in chosen {
            let is_owned = owned.contains(&lane.endpoint.merchant);
            let mut deliveries = VecDeque::new();
            for key in &lane.deliveries {
                let row = if is_owned { tables.start(*key, lane.is_alone) } else { None };
                match row {
                    Some(row) => deliveries.push_back(Started {
                        key: *key,
                        attempts: row.attempts,
                        starts: row.starts,
                        lone_starts: row.lone_starts - i16::from(lane.is_alone),
                        jitter: Jitter::random(rng),
                    }),
                    None => {
                        if let Some(queue) = self.stores.endpoint(lane.endpoint) {
                            queue.settled(key.event);
                        }
                    }
                }
            }
            if !is_owned {
                self.stores.remove(lane.endpoint.merchant);
            }
            let Chosen { endpoint, class, is_alone, .. } = lane;
            if deliveries.is_empty() {
                self.vacate(endpoint, class, is_alone, now);
                continue;
            }
            self.in_lanes += deliveries.len();
            if is_alone {
                self.suspect = deliveries.front().map(|started| started.key);
            }
            *next_lane += 1;
            let lane = Lane { endpoint, class, is_alone, deliveries, since: now };
            self.lanes.insert(*next_lane, lane);
            numbers.push(*next_lane);
        }
        numbers
    }

    fn can_start(&mut self, now: Timestamp) -> bool {
        let (instant, is_settled) = (self.instant(now), self.reports.is_empty());
        self.slots.can_start(instant, is_settled)
    }

    fn choose(&mut self, now: Timestamp) -> Vec<Chosen> {
        let mut chosen = Vec::new();
        let mut count = 0;
        let room = (self.slots.total() * 2).saturating_sub(self.in_lanes);
        let waiting: usize = Class::ALL.iter().map(|class| self.slots.waiting(*class)).sum();
        let run_max = (room / waiting.clamp(1, self.slots.total())).clamp(1, RUN_MAX);
        let (instant, is_settled) = (self.instant(now), self.reports.is_empty());
        while count < STARTS_PER_STEP
            && let Some(turn) = self.slots.next(instant, is_settled)
        {
            let lane = match turn {
                Turn::Lane(class, endpoint) => self.choose_lane(class, endpoint, run_max, now),
                Turn::Alone(endpoint) => self.choose_suspect(endpoint, now),
            };
            let Some(lane) = lane else { continue };
            count += lane.deliveries.len();
            self.stores.lane_started(lane.endpoint);
            self.stores.offer(lane.endpoint, &mut self.slots, now);
            chosen.push(lane);
        }
        chosen
    }

    fn choose_lane(
        &mut self,
        class: Class,
        endpoint: EndpointKey,
        run_max: usize,
        now: Timestamp,
    ) -> Option<Chosen> {
        let has_lane = self.stores.has_lane(endpoint.merchant);
        let queue = self.stores.endpoint(endpoint)?;
        if queue.queued != Some(class) {
            return None;
        }
        queue.queued = None;
        if !has_lane || !queue.can_start(now) {
            return None;
        }
        let pending = queue.take(run_max);
        let deliveries = pending.iter().map(|pending| DeliveryKey::of(endpoint, pending)).collect();
        self.slots.occupy(class);
        Some(Chosen { endpoint, class, is_alone: false, deliveries })
    }

    fn choose_suspect(&mut self, endpoint: EndpointKey, now: Timestamp) -> Option<Chosen> {
        let instant = self.instant(now);
        let queue = self.stores.endpoint(endpoint)?;
        queue.awaits_turn = false;
        if !queue.can_start_alone(now) {
            return None;
        }
        let class = queue.health.class();
        let deliveries = vec![DeliveryKey::of(endpoint, &queue.take_suspect()?)];
        self.slots.occupy_alone(class, instant);
        Some(Chosen { endpoint, class, is_alone: true, deliveries })
    }

    /// Returns the delivery that a lane sends.
    pub(super) fn current(&self, lane: u64) -> Option<Started> {
        self.lanes.get(&lane)?.deliveries.front().copied()
    }

    /// Ends the request of a lane. Returns whether the lane sends another delivery.
    pub(super) fn end(
        &mut self,
        number: u64,
        outcome: Outcome,
        latency: Duration,
        now: Timestamp,
    ) -> bool {
        let Some(lane) = self.lanes.get_mut(&number) else { return false };
        let Some(started) = lane.deliveries.pop_front() else { return false };
        let is_delivered = matches!(outcome, Outcome::Response { status: 200..=299, .. });
        let continues = is_delivered && now.since(lane.since) < LANE_MAX;
        let rest = if continues { VecDeque::new() } else { std::mem::take(&mut lane.deliveries) };
        let is_over = lane.deliveries.is_empty();
        let (endpoint, class, is_alone) = (lane.endpoint, lane.class, lane.is_alone);
        self.report(&started, outcome, latency, now);
        for unsent in rest {
            self.report(&unsent, Outcome::Unsent, Duration::ZERO, now);
        }
        if is_over {
            self.lanes.remove(&number);
            self.vacate(endpoint, class, is_alone, now);
        }
        !is_over
    }

    fn report(&mut self, started: &Started, outcome: Outcome, latency: Duration, now: Timestamp) {
        let Started { key, attempts, starts, lone_starts, jitter } = *started;
        self.in_lanes = self.in_lanes.saturating_sub(1);
        let (owner, at) = (self.owner, now.minus(latency));
        let version = 1;
        let ended = Ended {
            owner,
            key,
            version,
            attempts,
            starts,
            lone_starts,
            jitter,
            at,
            latency,
            outcome,
        };
        let report = match self.stores.endpoint(key.endpoint) {
            Some(queue) => {
                let class = queue.health.class();
                let report = decision::decide(&ended, Some(&mut queue.health), now);
                if report.plan == Plan::Delivered && class != Class::Healthy {
                    queue.expect_more();
                }
                queue.pause_if_open();
                report
            }
            None => decision::decide(&ended, None, now),
        };
        self.reports.push(report);
        self.stores.offer(key.endpoint, &mut self.slots, now);
        self.stores.review(key.endpoint.merchant, now);
    }

    fn vacate(&mut self, endpoint: EndpointKey, class: Class, was_alone: bool, now: Timestamp) {
        if was_alone {
            self.slots.vacate_alone(class);
        } else {
            self.slots.vacate(class);
        }
        self.stores.lane_ended(endpoint, &mut self.slots, now);
        self.stores.review(endpoint.merchant, now);
    }

    /// Takes over what was recorded.
    pub(super) fn settle(&mut self, settled: Vec<Settled>, now: Timestamp) {
        for Settled { owner, key, fate, health, is_disabled } in settled {
            if owner != self.owner {
                continue;
            }
            self.suspect = self.suspect.filter(|suspect| *suspect != key);
            if fate == Fate::Fenced {
                self.stores.remove(key.endpoint.merchant);
                continue;
            }
            let Some(queue) = self.stores.endpoint(key.endpoint) else { continue };
            queue.settled(key.event);
            if let Some(health) = health {
                queue.health.recorded(health.failing_since, health.probe_at);
            }
            match fate {
                Fate::Due(at) => queue.refill_at(at),
                Fate::Returned => queue.expect_more(),
                Fate::Unrecordable => queue.refill_at(now.plus(DEFERRED)),
                Fate::Done | Fate::Fenced => {}
            }
            queue.pause_if_open();
            if is_disabled {
                queue.clear();
            }
            self.stores.offer(key.endpoint, &mut self.slots, now);
            self.stores.review(key.endpoint.merchant, now);
        }
    }

    /// Releases stores that have nothing to send.
    pub(super) fn release(&mut self, tables: &mut Tables) {
        for release in self.stores.idle(true, usize::MAX) {
            tables.release(self.owner, &release);
            self.stores.remove(release.merchant);
        }
    }

    /// Whether there is something to read or to start.
    pub(super) fn is_active(&mut self, now: Timestamp) -> bool {
        self.stores.has_listed() || self.can_start(now)
    }

    /// Whether something is attempted beside a suspect whose result is not recorded.
    pub(super) fn is_suspect_disturbed(&self) -> bool {
        let mut started = self.lanes.values().flat_map(Lane::keys);
        self.suspect.is_some_and(|suspect| started.any(|key| key != suspect))
    }

    /// Returns the lanes of a store.
    pub(super) fn lanes_of(&self, merchant: MerchantId) -> usize {
        self.lanes.values().filter(|lane| lane.endpoint.merchant == merchant).count()
    }
}
