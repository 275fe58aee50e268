//! The world of a simulation: what happens when.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use primitives::{EventId, Id, MerchantId, Timestamp};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use uuid::Uuid;

use super::SimulationSummary;
use super::checks::{ATTEMPTS_MAX, STORE_LANES_MAX};
use super::process::{Lane, Session};
use super::tables::{Change, Tables};
use crate::dispatcher::attempt::Outcome;
use crate::dispatcher::decision::{Plan, Report};
use crate::dispatcher::memory::LaneNumber;
use crate::dispatcher::results::{Disposition, Settled};
use crate::table::delivery::{DeliveryKey, EndpointKey};

pub(super) const PROCESSES: usize = 2;
const LEASE: Duration = Duration::from_secs(15);
/// Time between two steps of a process that has something to do, or has to look again.
const BUSY: Duration = Duration::from_millis(20);
const IDLE: Duration = Duration::from_millis(500);
/// Steps after which a simulation does not end any more.
const STEPS_MAX: u32 = 100_000;
/// How long the first attempt at an endpoint that works may wait.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Something that happens.
pub(super) enum Happening {
    Publish,
    /// A merchant changes an endpoint.
    Change(EndpointKey, Change),
    /// A process takes a step.
    Step(usize),
    /// A request ends, unless its process has crashed.
    RequestEnds {
        process: usize,
        generation: u64,
        lane: LaneNumber,
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
    pub(super) session: Option<Session>,
    paused_until: Option<Timestamp>,
    /// When it takes its next step.
    step_at: Option<Timestamp>,
}

pub(super) struct World {
    pub(super) rng: StdRng,
    pub(super) now: Timestamp,
    sequence: u64,
    agenda: BTreeMap<(Timestamp, u64), Happening>,
    pub(super) tables: Tables,
    pub(super) processes: Vec<Process>,
    pub(super) slots: usize,
    pub(super) merchants: Vec<MerchantId>,
    /// Events whose attempts crash the process, and how many there are at most.
    pub(super) poison: BTreeSet<EventId>,
    pub(super) poison_max: usize,
    /// Deliveries that were alone when their process was killed or lost its lease, not through an event.
    pub(super) disturbed_alone: BTreeSet<DeliveryKey>,
    /// Whether no process is killed or paused, and there is little to send: no endpoint that works has to wait.
    pub(super) is_calm: bool,
    /// Deliveries that a receiver has accepted.
    pub(super) received: BTreeSet<DeliveryKey>,
    /// Starts of each delivery that have no recorded result.
    pub(super) lost: BTreeMap<DeliveryKey, u32>,
    pub(super) quarantined: BTreeSet<DeliveryKey>,
    /// Requests that each endpoint got.
    requests: BTreeMap<EndpointKey, u32>,
    /// Deliveries that were published when their endpoint was known to work, and not attempted yet.
    awaited: BTreeSet<DeliveryKey>,
    pub(super) summary: SimulationSummary,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let now = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let mut world = Self {
            now,
            sequence: 0,
            agenda: BTreeMap::new(),
            tables: Tables::default(),
            processes: (0..PROCESSES).map(|_| Process::default()).collect(),
            slots: 0,
            merchants: Vec::new(),
            poison: BTreeSet::new(),
            poison_max: 0,
            disturbed_alone: BTreeSet::new(),
            is_calm: false,
            received: BTreeSet::new(),
            lost: BTreeMap::new(),
            quarantined: BTreeSet::new(),
            requests: BTreeMap::new(),
            awaited: BTreeSet::new(),
            summary: SimulationSummary::default(),
            rng: StdRng::seed_from_u64(seed),
        };
        world.furnish(seed);
        world
    }

    pub(super) fn plan(&mut self, at: Timestamp, happening: Happening) {
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
                Happening::Change(key, change) => self.change(key, change),
                Happening::Step(process) => self.step(process)?,
                Happening::RequestEnds { process, generation, lane, outcome, latency } => {
                    self.end_request(process, generation, lane, outcome, latency)?;
                }
                Happening::Kill(process) => {
                    let session = self.processes[process].session.as_ref();
                    self.disturbed_alone.extend(session.and_then(|session| session.suspect));
                    self.kill(process);
                }
                Happening::Start(process) => self.start(process),
                Happening::Pause(process) => self.pause(process),
                Happening::Resume(process) => self.resume(process),
            }
            self.check_limits()?;
        }
        let pending = self.tables.deliveries.first_key_value();
        Err(format!("deliveries do not end at {:?}: {pending:?}", self.now))
    }

    fn publish(&mut self) {
        let merchant = self.merchants[self.rng.random_range(0..self.merchants.len())];
        let event = EventId::from_random(self.rng.random());
        if self.poison.len() < self.poison_max && self.rng.random_bool(0.03) {
            self.poison.insert(event);
        }
        let keys = self.tables.publish(merchant, event, self.now);
        self.summary.deliveries += u32::try_from(keys.len()).unwrap_or(0);
        for key in keys {
            let Some(endpoint) = self.tables.endpoints.get(&key.endpoint) else { continue };
            let has_succeeded = endpoint.health.is_some_and(|it| it.last_success_at.is_some());
            if endpoint.receiver.works() && has_succeeded {
                self.awaited.insert(key);
            }
        }
        self.plan_steps(self.now);
    }

    /// Changes an endpoint. It is not known to work any more.
    fn change(&mut self, key: EndpointKey, change: Change) {
        if self.tables.change(key, change) {
            self.summary.changes += 1;
            self.awaited.retain(|delivery| delivery.endpoint != key);
            self.plan_steps(self.now);
        }
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
        let Some(mut session) = self.processes[process].session.take() else { return Ok(()) };
        // Results are recorded beside the loop: sometimes later.
        if self.rng.random_bool(0.8) {
            self.record(&mut session)?;
        }
        session.take(&mut self.tables, self.now, &mut self.summary);
        let lanes = session.start(&mut self.tables, &mut self.rng, self.now);
        if !lanes.is_empty() {
            let is_full = |it: &&MerchantId| session.lanes_of(**it) >= STORE_LANES_MAX;
            let full = self.merchants.iter().filter(is_full).count();
            self.summary.full_stores += u32::try_from(full).unwrap_or(0);
        }
        if self.rng.random_bool(0.3) {
            session.release(&mut self.tables, &mut self.summary);
        }
        let is_active = session.is_active(self.now);
        // Otherwise the end of a request is followed by a step.
        let (owner, is_idle) = (session.owner, session.lanes.is_empty());
        self.processes[process].session = Some(session);
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

    fn record(&mut self, session: &mut Session) -> Result<(), String> {
        let mut reports = std::mem::take(&mut session.reports);
        while let Some(owner) = reports.first().map(|report| report.owner) {
            let count = reports.iter().position(|it| it.owner != owner).unwrap_or(reports.len());
            let rest = reports.split_off(count);
            let settled = self.tables.record(&reports, self.now);
            for (report, result) in reports.iter().zip(&settled) {
                self.note(report, result)?;
            }
            session.settle(&settled);
            reports = rest;
        }
        Ok(())
    }

    fn note(&mut self, report: &Report, result: &Settled) -> Result<(), String> {
        let (key, is_quarantine) = (result.key, report.plan == Plan::Quarantined);
        if result.disposition == Disposition::Fenced {
            self.summary.fenced += 1;
            // What is quarantined was not started again.
            *self.lost.entry(key).or_default() += u32::from(!is_quarantine);
            return Ok(());
        }
        if is_quarantine {
            self.quarantined.insert(key);
        }
        let endpoint = self.tables.endpoints.get(&key.endpoint);
        let is_same =
            endpoint.is_some_and(|it| it.is_enabled && it.health_version == report.health_version);
        if report.disable.is_some() && is_same {
            return Err(format!(
                "{:?} is gone or has failed for days and is enabled",
                key.endpoint
            ));
        }
        Ok(())
    }

    /// Sends the current delivery of a lane. Returns `false` if that has crashed the process.
    fn send(&mut self, process: usize, lane: LaneNumber) -> Result<bool, String> {
        let session = self.processes[process].session.as_ref();
        let found = session.and_then(|session| session.lanes.get(&lane));
        let Some((key, receiver)) = found.and_then(|it| Some((it.keys().next()?, it.receiver)))
        else {
            return Ok(true);
        };
        let row = self.tables.deliveries.get(&key);
        if row.is_some_and(|row| row.due_at > self.now || row.counts.attempts >= ATTEMPTS_MAX) {
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
        self.summary.slow += u32::from(receiver.is_slow());
        let requests = self.requests.entry(key.endpoint).or_default();
        *requests += 1;
        let (outcome, latency) = receiver.answer(&mut self.rng, self.now, *requests - 1);
        if outcome.is_delivered() {
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
        lane: LaneNumber,
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
        let Some(session) = &mut self.processes[process].session else { return Ok(()) };
        if !session.end(lane, outcome, latency, now) || self.send(process, lane)? {
            self.plan_step(process, now);
        }
        Ok(())
    }

    /// Crashes a process. Its lease stays until it expires, and its starts have no result.
    fn kill(&mut self, process: usize) {
        let Some(session) = self.processes[process].session.take() else { return };
        self.summary.crashes += 1;
        let in_lanes = session.lanes.values().flat_map(Lane::keys);
        // What is quarantined was not started again.
        let started = session.reports.iter().filter(|report| report.plan != Plan::Quarantined);
        for key in in_lanes.chain(started.map(|report| report.key)) {
            *self.lost.entry(key).or_default() += 1;
        }
        self.expire(session.owner);
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
        if self.processes[process].session.is_none() {
            let owner = self.new_owner();
            self.processes[process].session = Some(Session::new(owner, self.slots, self.now));
            self.plan_step(process, self.now);
        }
    }

    fn new_owner(&mut self) -> Uuid {
        let owner = Uuid::from_u128(self.rng.random());
        self.tables.leases.insert(owner, None);
        owner
    }

    fn pause(&mut self, process: usize) {
        let until = self.now.plus(Duration::from_millis(self.rng.random_range(100..40_000)));
        let state = &mut self.processes[process];
        let (Some(session), None) = (&state.session, state.paused_until) else { return };
        let owner = session.owner;
        state.paused_until = Some(until);
        self.summary.pauses += 1;
        self.expire(owner);
        self.plan(until, Happening::Resume(process));
    }

    /// Continues. A process that has lost its lease gives up its requests, and reports that under its former id.
    fn resume(&mut self, process: usize) {
        let (now, next_owner) = (self.now, self.new_owner());
        let state = &mut self.processes[process];
        // It may have been killed and started meanwhile.
        if state.paused_until.is_none_or(|until| until > now) {
            return;
        }
        state.paused_until = None;
        let Some(session) = &mut state.session else { return };
        if self.tables.has_lost_lease(session.owner, now) {
            self.disturbed_alone.extend(session.suspect);
            session.start_over(next_owner, now);
            state.generation += 1;
        } else {
            self.tables.leases.insert(session.owner, None);
        }
        self.plan_step(process, now);
    }
}
