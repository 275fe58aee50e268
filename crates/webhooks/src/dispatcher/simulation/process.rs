//! A simulated session: the memory of a process, and the loop of `session.rs` and `start.rs` without waiting.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use primitives::{EventId, MerchantId, Timestamp};
use rand::RngExt;
use rand::rngs::StdRng;
use tokio::time::Instant;
use uuid::Uuid;

use super::SimulationSummary;
use super::receiver::Receiver;
use super::tables::Tables;
use crate::dispatcher::StartCounts;
use crate::dispatcher::attempt::{AttemptResult, Outcome};
use crate::dispatcher::decision::Report;
use crate::dispatcher::endpoint_queue::LOADED_MAX;
use crate::dispatcher::memory::{Chosen, LaneNumber, Memory};
use crate::dispatcher::results::Settled;
use crate::dispatcher::start::TRANSACTIONS_MAX;
use crate::schedule::Jitter;
use crate::table::delivery::{DeliveryKey, EndpointKey, Loaded, Wanted};

/// How often the transaction that starts deliveries fails.
const START_FAILS: f64 = 0.01;
/// How often other things happen between the choice of deliveries and the end of that transaction.
const START_TAKES_LONGER: f64 = 0.3;

/// A delivery whose start is recorded.
#[derive(Debug, Clone, Copy)]
struct Started {
    key: DeliveryKey,
    counts: StartCounts,
    is_first: bool,
    jitter: Jitter,
}

/// A lane: its first delivery is being sent.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) endpoint: EndpointKey,
    /// The version of the endpoint when the lane started, and what was at its URL.
    health_version: i32,
    pub(super) receiver: Receiver,
    is_alone: bool,
    deliveries: VecDeque<Started>,
    since: Timestamp,
}

impl Lane {
    /// Returns what it has not reported, first what it is sending.
    pub(super) fn keys(&self) -> impl Iterator<Item = DeliveryKey> {
        self.deliveries.iter().map(|started| started.key)
    }
}

/// A session of a process.
pub(super) struct Session {
    pub(super) owner: Uuid,
    pub(super) memory: Memory,
    /// What is chosen and whose start is not recorded: that of each transaction.
    pub(super) starting: Vec<Vec<Chosen>>,
    pub(super) lanes: BTreeMap<LaneNumber, Lane>,
    /// A suspect from its start until its result is recorded. Nothing else is attempted meanwhile.
    pub(super) suspect: Option<DeliveryKey>,
    /// A time of the clock of processes, and the simulated time that it stands for.
    clock: (Instant, Timestamp),
    /// Reports that are not recorded.
    pub(super) reports: Vec<Report>,
}

impl Session {
    pub(super) fn new(owner: Uuid, slots: usize, now: Timestamp) -> Self {
        Self {
            owner,
            memory: Memory::new(slots, now),
            starting: Vec::new(),
            lanes: BTreeMap::new(),
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
    pub(super) fn take(
        &mut self,
        tables: &mut Tables,
        now: Timestamp,
        summary: &mut SimulationSummary,
    ) {
        let memory = &mut self.memory;
        memory.stores.list_due(memory.now);
        let taken = tables.take(self.owner, now);
        memory.now = now;
        for merchant in taken {
            memory.stores.wake(merchant, now);
        }
        let listed = memory.stores.take_listed(usize::MAX, now);
        let share = memory.stores.share();
        let skipped = memory.stores.skipped(&listed);
        summary.partial_reads += u32::from(!skipped.is_empty());
        let loaded = tables.load(Wanted { merchants: &listed, skipped: &skipped }, share);
        self.reports.extend(memory.refill(self.owner, &listed, &loaded, share));
        memory.stores.list_due(now);
        // There may be more that is due than was read.
        let is_long = |it: &Loaded| {
            it.pending.len() >= LOADED_MAX
                && it.pending.last().is_some_and(|last| last.due_at <= now)
        };
        summary.long_queues += loaded.iter().map(|it| u32::from(is_long(it))).sum::<u32>();
        let deferred = |merchant: &MerchantId| u32::from(memory.stores.is_deferred(*merchant));
        summary.deferred += listed.iter().map(deferred).sum::<u32>();
    }

    /// Chooses deliveries for free slots, and starts the lanes of one transaction. Returns their numbers.
    pub(super) fn start(
        &mut self,
        tables: &mut Tables,
        rng: &mut StdRng,
        now: Timestamp,
    ) -> Vec<LaneNumber> {
        let instant = self.instant(now);
        if self.starting.len() < TRANSACTIONS_MAX && self.memory.can_start(instant) {
            let chosen = self.memory.choose(instant);
            self.starting.extend(Some(chosen).filter(|chosen| !chosen.is_empty()));
        }
        if self.starting.is_empty() || rng.random_bool(START_TAKES_LONGER) {
            return Vec::new();
        }
        let first = rng.random_range(0..self.starting.len());
        let chosen = self.starting.swap_remove(first);
        if rng.random_bool(START_FAILS) {
            for lane in &chosen {
                self.memory.undo(lane);
            }
            return Vec::new();
        }
        self.memory.now = now;
        let owned = tables.owned(self.owner, true, now);
        let mut numbers = Vec::new();
        for chosen in chosen {
            let (endpoint, is_alone) = (chosen.endpoint, chosen.is_alone);
            let is_owned = owned.contains(&endpoint.merchant);
            let mut deliveries = VecDeque::new();
            let mut missing: Vec<EventId> = Vec::new();
            for (pending, startable) in chosen.deliveries.iter().zip(chosen.startable()) {
                let key = startable.key;
                match is_owned.then(|| tables.start(startable, is_alone)).flatten() {
                    Some(counts) => deliveries.push_back(Started {
                        key,
                        counts,
                        is_first: pending.is_first(),
                        jitter: Jitter::random(rng),
                    }),
                    None => missing.push(key.event),
                }
            }
            let number = self.memory.begin(&chosen, &missing, is_owned);
            let Some((number, row)) = number.zip(tables.endpoints.get(&endpoint)) else { continue };
            if is_alone {
                self.suspect = deliveries.front().map(|started| started.key);
            }
            let (health_version, receiver) = (row.health_version, row.receiver);
            let lane =
                Lane { endpoint, health_version, receiver, is_alone, deliveries, since: now };
            self.lanes.insert(number, lane);
            numbers.push(number);
        }
        numbers
    }

    /// Ends the request of a lane. Returns whether the lane sends another delivery.
    pub(super) fn end(
        &mut self,
        number: LaneNumber,
        outcome: Outcome,
        latency: Duration,
        now: Timestamp,
    ) -> bool {
        let Some(lane) = self.lanes.get_mut(&number) else { return false };
        let Some(started) = lane.deliveries.pop_front() else { return false };
        let continues = outcome.lets_lane_continue(now.since(lane.since));
        let rest = if continues { VecDeque::new() } else { std::mem::take(&mut lane.deliveries) };
        let is_over = lane.deliveries.is_empty();
        let (health_version, is_alone) = (lane.health_version, lane.is_alone);
        let unsent = rest.into_iter().map(|started| (started, Outcome::Unsent, Duration::ZERO));
        for (started, outcome, latency) in
            std::iter::once((started, outcome, latency)).chain(unsent)
        {
            let Started { key, counts, is_first, jitter } = started;
            let result = AttemptResult {
                owner: self.owner,
                lane: number,
                key,
                health_version,
                counts,
                is_alone,
                is_first,
                jitter,
                at: now.minus(latency),
                latency,
                outcome,
            };
            self.reports.push(self.memory.report(&result));
        }
        if is_over {
            self.lanes.remove(&number);
            self.memory.lane_ended(number);
        }
        !is_over
    }

    /// Takes over what was recorded.
    pub(super) fn settle(&mut self, settled: &[Settled]) {
        let is_own = |it: &&Settled| it.owner == self.owner;
        if settled.iter().filter(is_own).any(|it| Some(it.key) == self.suspect) {
            self.suspect = None;
        }
        self.memory.settle(Some(self.owner), settled);
    }

    /// Starts over under another id, as `lose_lease`: requests are given up, and that is reported under the former one.
    pub(super) fn start_over(&mut self, owner: Uuid, now: Timestamp) {
        let lanes: Vec<LaneNumber> = self.lanes.keys().copied().collect();
        for lane in lanes {
            self.end(lane, Outcome::GivenUp, Duration::ZERO, now);
        }
        self.starting.clear();
        self.memory.forget();
        (self.owner, self.suspect) = (owner, None);
    }

    /// Releases stores that have nothing to send.
    pub(super) fn release(&mut self, tables: &mut Tables, summary: &mut SimulationSummary) {
        for release in self.memory.stores.idle(true, usize::MAX) {
            if tables.release(self.owner, &release) {
                summary.released_later += u32::from(release.not_before.is_some());
                self.memory.stores.remove(release.merchant);
            } else {
                self.memory.stores.review(release.merchant, self.memory.now);
            }
        }
    }

    /// Whether there is something to read, to start or to record.
    pub(super) fn is_active(&mut self, now: Timestamp) -> bool {
        let instant = self.instant(now);
        self.memory.stores.has_listed()
            || self.memory.can_start(instant)
            || self.memory.resumes_at(instant).is_some()
            || !self.starting.is_empty()
            || !self.reports.is_empty()
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
