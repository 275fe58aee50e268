//! The world of a simulation: what happens when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use primitives::{EndpointId, EventId, Id, MerchantId, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use uuid::Uuid;

use super::SimulationSummary;
use super::checks::ATTEMPTS_MAX;
use super::process::{Lane, Memory};
use super::receiver::Receiver;
use super::tables::Tables;
use crate::dispatcher::attempt::Outcome;
use crate::dispatcher::decision::Plan;
use crate::dispatcher::results::Fate;
use crate::table::delivery::{DeliveryKey, EndpointKey};

const PROCESSES: usize = 2;
const LEASE: Duration = Duration::from_secs(15);
/// Time between two steps of a process that has something to do, or has to look again.
const BUSY: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(500);
/// Time in which events are published, and in which processes are killed and paused.
const ACTIVE: Duration = Duration::from_mins(1);
/// Steps after which a simulation does not end any more.
const STEPS_MAX: u32 = 100_000;
/// Events that end their process.
const POISON_MAX: usize = 3;
/// How long the first attempt at an endpoint that works may wait.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Something that happens.
enum Happening {
    Publish,
    /// A process takes a step.
    Step(usize),
    /// A request ends, unless its process has ended.
    RequestEnds {
        process: usize,
        generation: u64,
        lane: u64,
        outcome: Outcome,
        latency: Duration,
    },
    Kill(usize),
    Start(usize),
    Pause(usize),
    Resume(usize),
}

/// A process, and whether it runs.
#[derive(Default)]
pub(super) struct Process {
    /// Changes when requests in flight do not count any more.
    generation: u64,
    pub(super) memory: Option<Memory>,
    paused_until: Option<Timestamp>,
    /// When it takes its next step.
    step_at: Option<Timestamp>,
}

pub(super) struct World {
    rng: StdRng,
    pub(super) now: Timestamp,
    sequence: u64,
    agenda: BTreeMap<(Timestamp, u64), Happening>,
    pub(super) tables: Tables,
    pub(super) processes: Vec<Process>,
    slots: usize,
    next_lane: u64,
    pub(super) receivers: HashMap<EndpointKey, Receiver>,
    pub(super) merchants: Vec<MerchantId>,
    /// Events whose attempts end the process.
    pub(super) poison: BTreeSet<EventId>,
    /// Deliveries that were alone when their process was killed or lost its lease, not through an event.
    pub(super) disturbed_alone: BTreeSet<DeliveryKey>,
    /// Whether no process is killed or paused.
    is_calm: bool,
    /// Deliveries that a receiver has accepted.
    pub(super) received: BTreeSet<DeliveryKey>,
    /// Starts of each delivery that have no recorded result.
    pub(super) lost: HashMap<DeliveryKey, u32>,
    pub(super) quarantined: BTreeSet<DeliveryKey>,
    /// Deliveries that were published when their endpoint was known to work, and not attempted yet.
    awaited: BTreeSet<DeliveryKey>,
    pub(super) summary: SimulationSummary,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let now = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let is_calm = rng.random_bool(0.3);
        let mut world = Self {
            now,
            sequence: 0,
            agenda: BTreeMap::new(),
            tables: Tables::default(),
            processes: (0..PROCESSES).map(|_| Process::default()).collect(),
            slots: rng.random_range(4..=16),
            next_lane: 0,
            receivers: HashMap::new(),
            merchants: Vec::new(),
            poison: BTreeSet::new(),
            disturbed_alone: BTreeSet::new(),
            is_calm,
            received: BTreeSet::new(),
            lost: HashMap::new(),
            quarantined: BTreeSet::new(),
            awaited: BTreeSet::new(),
            summary: SimulationSummary::default(),
            rng,
        };
        world.furnish();
        world
    }

    /// Draws stores, endpoints, events and faults.
    fn furnish(&mut self) {
        for _ in 0..self.rng.random_range(1..=3_u32) {
            let merchant = MerchantId::from_random(self.rng.random());
            self.merchants.push(merchant);
            for _ in 0..self.rng.random_range(1..=3_u32) {
                let endpoint = EndpointId::from_random(self.rng.random());
                let key = EndpointKey { merchant, endpoint };
                self.tables.add_endpoint(key);
                self.receivers.insert(key, Receiver::random(&mut self.rng, self.now));
            }
        }
        for process in 0..PROCESSES {
            self.plan(self.now, Happening::Start(process));
        }
        for _ in 0..self.rng.random_range(5..=30_u32) {
            let at = self.moment();
            self.plan(at, Happening::Publish);
        }
        if self.is_calm {
            return;
        }
        for _ in 0..self.rng.random_range(0..=2_u32) {
            let (at, process) = (self.moment(), self.rng.random_range(0..PROCESSES));
            self.plan(at, Happening::Kill(process));
        }
        for _ in 0..self.rng.random_range(0..=2_u32) {
            let (at, process) = (self.moment(), self.rng.random_range(0..PROCESSES));
            self.plan(at, Happening::Pause(process));
        }
    }

    /// A time at which something happens.
    fn moment(&mut self) -> Timestamp {
        let micros = u64::try_from(ACTIVE.as_micros()).unwrap_or(u64::MAX);
        self.now.plus(Duration::from_micros(self.rng.random_range(0..micros)))
    }

    fn plan(&mut self, at: Timestamp, happening: Happening) {
        self.sequence += 1;
        self.agenda.insert((at, self.sequence), happening);
    }

    /// Lets a process take a step at a time, or earlier.
    fn plan_step(&mut self, process: usize, at: Timestamp) {
        if self.processes[process].step_at.is_none_or(|planned| at < planned) {
            self.processes[process].step_at = Some(at);
            self.plan(at, Happening::Step(process));
        }
    }

    fn plan_steps(&mut self, at: Timestamp) {
        for process in 0..PROCESSES {
            self.plan_step(process, at);
        }
    }

    pub(super) fn run(mut self) -> Result<SimulationSummary, String> {
        for _ in 0..STEPS_MAX {
            let Some(((at, _), happening)) = self.agenda.pop_first() else {
                return self.finish();
            };
            self.now = at;
            match happening {
                Happening::Publish => self.publish(),
                Happening::Step(process) => self.step(process)?,
                Happening::RequestEnds { process, generation, lane, outcome, latency } => {
                    self.end_request(process, generation, lane, outcome, latency)?;
                }
                Happening::Kill(process) => {
                    let memory = self.processes[process].memory.as_ref();
                    self.disturbed_alone.extend(memory.and_then(|memory| memory.suspect));
                    self.kill(process);
                }
                Happening::Start(process) => self.start(process),
                Happening::Pause(process) => self.pause(process),
                Happening::Resume(process) => self.resume(process),
            }
            self.check_limits()?;
        }
        let rows = &self.tables.deliveries;
        let pending = rows.iter().find(|(_, row)| !row.is_dead);
        Err(format!("deliveries do not end at {:?}: {pending:?}", self.now))
    }

    fn publish(&mut self) {
        let merchant = self.merchants[self.rng.random_range(0..self.merchants.len())];
        let event = EventId::from_random(self.rng.random());
        if !self.is_calm && self.poison.len() < POISON_MAX && self.rng.random_bool(0.03) {
            self.poison.insert(event);
        }
        let keys = self.tables.publish(merchant, event, self.now);
        self.summary.deliveries += u32::try_from(keys.len()).unwrap_or(0);
        for key in keys {
            let works = self.receivers.get(&key.endpoint).is_some_and(Receiver::works);
            let endpoint = self.tables.endpoints.get(&key.endpoint);
            let health = endpoint.and_then(|endpoint| endpoint.health);
            if works && health.is_some_and(|health| health.last_success_at.is_some()) {
                self.awaited.insert(key);
            }
        }
        self.plan_steps(self.now);
    }

    /// Takes a step, as `Session::step`.
    fn step(&mut self, process: usize) -> Result<(), String> {
        if self.processes[process].step_at != Some(self.now) {
            return Ok(());
        }
        self.processes[process].step_at = None;
        if self.processes[process].paused_until.is_some() {
            return Ok(());
        }
        let Some(mut memory) = self.processes[process].memory.take() else { return Ok(()) };
        // Results are recorded beside the loop: sometimes later.
        if self.rng.random_bool(0.8) {
            self.record(&mut memory);
        }
        memory.take(&mut self.tables, self.now);
        let lanes = memory.start(&mut self.tables, &mut self.rng, &mut self.next_lane, self.now);
        if self.rng.random_bool(0.3) {
            memory.release(&mut self.tables);
        }
        let is_active = memory.is_active(self.now) || !memory.reports.is_empty();
        // Otherwise the end of a request is followed by a step.
        let (owner, is_idle) = (memory.owner, memory.lanes.is_empty());
        self.processes[process].memory = Some(memory);
        for lane in lanes {
            if !self.send(process, lane)? {
                return Ok(());
            }
        }
        let (is_due, later) = self.tables.next_for(owner, self.now);
        if is_active {
            self.plan_step(process, self.now.plus(BUSY));
        } else if is_due && is_idle {
            self.plan_step(process, self.now.plus(IDLE));
        }
        if let Some(later) = later {
            self.plan_step(process, later);
        }
        Ok(())
    }

    fn record(&mut self, memory: &mut Memory) {
        let mut reports = std::mem::take(&mut memory.reports);
        while let Some(owner) = reports.first().map(|report| report.owner) {
            let count = reports.iter().position(|it| it.owner != owner).unwrap_or(reports.len());
            let rest = reports.split_off(count);
            let settled = self.tables.record(&reports, self.now);
            for result in &settled {
                let is_quarantine = |key: DeliveryKey| {
                    reports.iter().any(|it| it.key == key && it.plan == Plan::Quarantined)
                };
                match (result.fate, is_quarantine(result.key)) {
                    (Fate::Fenced, is_quarantine) => {
                        self.summary.fenced += 1;
                        // What is quarantined was not started again.
                        *self.lost.entry(result.key).or_default() += u32::from(!is_quarantine);
                    }
                    (_, true) => {
                        self.quarantined.insert(result.key);
                    }
                    (_, false) => {}
                }
            }
            memory.settle(settled, self.now);
            reports = rest;
        }
    }

    /// Sends the current delivery of a lane. Returns `false` if that has ended the process.
    fn send(&mut self, process: usize, lane: u64) -> Result<bool, String> {
        let memory = self.processes[process].memory.as_ref();
        let Some(started) = memory.and_then(|memory| memory.current(lane)) else {
            return Ok(true);
        };
        let key = started.key;
        let row = self.tables.deliveries.get(&key);
        if row.is_some_and(|row| row.due_at > self.now || row.attempts >= ATTEMPTS_MAX) {
            return Err(format!("{key:?} is attempted too early or too often: {row:?}"));
        }
        self.summary.attempts += 1;
        if self.awaited.remove(&key) && self.is_calm {
            let wait = self.now.since(key.event_at);
            self.summary.longest_wait = self.summary.longest_wait.max(wait);
            if wait > WAIT_MAX {
                return Err(format!("an endpoint that works had to wait for {wait:?}: {key:?}"));
            }
        }
        if self.poison.contains(&key.event) {
            self.kill(process);
            return Ok(false);
        }
        let Some(receiver) = self.receivers.get(&key.endpoint) else { return Ok(true) };
        let (outcome, latency) = receiver.answer(&mut self.rng, self.now);
        if matches!(outcome, Outcome::Response { status: 200..=299, .. }) {
            self.received.insert(key);
        }
        let generation = self.processes[process].generation;
        let at = self.now.plus(latency);
        self.plan(at, Happening::RequestEnds { process, generation, lane, outcome, latency });
        Ok(true)
    }

    fn end_request(
        &mut self,
        process: usize,
        generation: u64,
        lane: u64,
        outcome: Outcome,
        latency: Duration,
    ) -> Result<(), String> {
        if self.processes[process].generation != generation {
            return Ok(());
        }
        if let Some(until) = self.processes[process].paused_until {
            self.plan(
                until,
                Happening::RequestEnds { process, generation, lane, outcome, latency },
            );
            return Ok(());
        }
        let now = self.now;
        let Some(memory) = &mut self.processes[process].memory else { return Ok(()) };
        if !memory.end(lane, outcome, latency, now) || self.send(process, lane)? {
            self.plan_step(process, now);
        }
        Ok(())
    }

    /// Ends a process. Its lease stays until it expires, and its starts have no result.
    fn kill(&mut self, process: usize) {
        let Some(memory) = self.processes[process].memory.take() else { return };
        self.summary.ends += 1;
        let in_lanes = memory.lanes.values().flat_map(Lane::keys);
        // What is quarantined was not started again.
        let started = memory.reports.iter().filter(|report| report.plan != Plan::Quarantined);
        for key in in_lanes.chain(started.map(|report| report.key)) {
            *self.lost.entry(key).or_default() += 1;
        }
        self.expire(memory.owner);
        let generation = self.processes[process].generation + 1;
        self.processes[process] = Process { generation, ..Process::default() };
        let pause = Duration::from_millis(self.rng.random_range(100..5_000));
        self.plan(self.now.plus(pause), Happening::Start(process));
    }

    /// Lets a lease end, if it is not renewed. The other process looks then.
    fn expire(&mut self, owner: Uuid) {
        let until = self.now.plus(LEASE);
        self.tables.leases.insert(owner, Some(until));
        self.plan_steps(until);
    }

    fn start(&mut self, process: usize) {
        if self.processes[process].memory.is_some() {
            return;
        }
        let owner = Uuid::from_u128(self.rng.random());
        self.tables.leases.insert(owner, None);
        self.processes[process].memory = Some(Memory::new(owner, self.slots, self.now));
        self.plan_step(process, self.now);
    }

    fn pause(&mut self, process: usize) {
        let until = self.now.plus(Duration::from_millis(self.rng.random_range(100..40_000)));
        let state = &mut self.processes[process];
        let (Some(memory), None) = (&state.memory, state.paused_until) else { return };
        let owner = memory.owner;
        state.paused_until = Some(until);
        self.summary.pauses += 1;
        self.expire(owner);
        self.plan(until, Happening::Resume(process));
    }

    /// Continues. A process that has lost its lease gives up its requests, and reports that under its former id.
    fn resume(&mut self, process: usize) {
        let now = self.now;
        let state = &mut self.processes[process];
        // It may have been killed and started meanwhile.
        if state.paused_until.is_none_or(|until| until > now) {
            return;
        }
        state.paused_until = None;
        let Some(memory) = &mut state.memory else { return };
        if !self.tables.has_lost_lease(memory.owner, now) {
            self.tables.leases.insert(memory.owner, None);
            self.plan_step(process, now);
            return;
        }
        self.disturbed_alone.extend(memory.suspect);
        let lanes: Vec<u64> = memory.lanes.keys().copied().collect();
        for lane in lanes {
            memory.end(lane, Outcome::GivenUp, Duration::ZERO, now);
        }
        let reports = std::mem::take(&mut memory.reports);
        state.generation += 1;
        state.memory = None;
        self.start(process);
        if let Some(memory) = &mut self.processes[process].memory {
            memory.reports = reports;
        }
    }
}
