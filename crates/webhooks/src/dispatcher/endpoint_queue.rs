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

/// Until when nothing starts at an endpoint, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// The database refused a start or a result of it.
    Refused(Timestamp),
    /// This process cannot sign for it, which is no reason to keep its store from others.
    Withheld(Timestamp),
}

impl Hold {
    const fn until(self) -> Timestamp {
        match self {
            Self::Refused(until) | Self::Withheld(until) => until,
        }
    }
}

/// The deliveries of an endpoint that are due, and those that are started.
#[derive(Debug)]
pub(super) struct EndpointQueue {
    /// Results of another version say nothing about the health.
    health_version: i32,
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
    hold: Option<Hold>,
    /// The read of its store that is under way leaves it out.
    pub(super) is_skipped: bool,
    /// The class in which it waits for a slot.
    pub(super) queued: Option<Class>,
    /// It waits for the turn of a suspect.
    pub(super) awaits_turn: bool,
}

impl EndpointQueue {
    pub(super) fn new() -> Self {
        Self {
            health_version: 0,
            health: Health::UNTRIED,
            waiting: VecDeque::new(),
            suspects: VecDeque::new(),
            unsettled: HashSet::new(),
            share: WAITING_MAX,
            lanes: 0,
            more: More::No,
            next_due: None,
            is_stale: false,
            hold: None,
            is_skipped: false,
            queued: None,
            awaits_turn: false,
        }
    }

    /// Adopts the version that was read. If it is another one, the health is replaced, even if results are not recorded, and
    /// nothing is held any more: its address or its secret is another one.
    pub(super) fn adopt_health_version(
        &mut self,
        health_version: i32,
        stored: Option<StoredHealth>,
    ) {
        if self.health_version != health_version {
            (self.health_version, self.health) = (health_version, Health::of(stored));
            self.hold = None;
        }
    }

    /// Returns the health that a result of this version changes.
    pub(super) fn health_at(&mut self, health_version: i32) -> Option<&mut Health> {
        Some(&mut self.health).filter(|_| self.health_version == health_version)
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
        match self.hold {
            Some(hold) if hold.until() > now => self.hold_on(hold),
            _ => self.hold = None,
        }
        quarantined
    }

    fn waiting_max(&self) -> usize {
        if self.health.class() == Class::Healthy { self.share } else { WAITING_UNPROVEN_MAX }
    }

    /// Forgets what waits: the endpoint is disabled, or has to wait longer.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.suspects.clear();
        (self.more, self.next_due) = (More::No, None);
    }

    /// Starts nothing before a time, whatever wakes the store: the database refused a start or a result.
    pub(super) fn hold(&mut self, until: Timestamp) {
        self.hold_on(Hold::Refused(until));
    }

    /// The same for an endpoint of this version that this process cannot sign for. A process that can may take its store.
    pub(super) fn withhold(&mut self, health_version: i32, until: Timestamp) {
        if self.health_version == health_version {
            self.hold_on(Hold::Withheld(until));
        }
    }

    fn hold_on(&mut self, hold: Hold) {
        self.clear();
        (self.hold, self.next_due) = (Some(hold), Some(hold.until()));
    }

    /// Returns until when it is withheld.
    pub(super) fn withheld_until(&self) -> Option<Timestamp> {
        self.hold.filter(|hold| matches!(hold, Hold::Withheld(_))).map(Hold::until)
    }

    /// Forgets everything that waits, and for what: nothing keeps the endpoint in memory but what is in flight.
    pub(super) fn drop_waiting(&mut self) {
        self.refilling();
        self.clear();
        self.hold = None;
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
        self.lanes < lanes_max && self.hold.is_none_or(|hold| hold.until() <= now)
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
            // It is read when the hold ends, which nothing else lifts.
            let next_due = self.hold.map(Hold::until).or(probe_at).or(self.next_due);
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

    /// Returns whether a read would change nothing that matters now: it has enough deliveries, or may start none. It is read anyway
    /// when few are left, or it is time.
    pub(super) fn is_full(&self, now: Timestamp) -> bool {
        let has_enough = self.more == More::Yes && !self.is_low();
        (has_enough || self.hold.is_some()) && !self.needs_refill(now)
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
            && !matches!(self.hold, Some(Hold::Refused(_)))
    }

    /// Returns the deliveries in memory.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.suspects.len() + self.unsettled.len()
    }

    /// Returns whether its share of the memory limits what waits.
    pub(super) fn has_share(&self) -> bool {
        self.health.class() == Class::Healthy && self.len() > 0
    }
}

#[cfg(test)]
mod tests;
