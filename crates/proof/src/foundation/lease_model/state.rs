//! Jobs and workers at one moment.

use crate::foundation::lease_model::{Guard, Protocol};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) rows: Vec<Row>,
    /// In a canonical order: it makes no difference which is which.
    pub(super) workers: Vec<Worker>,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) poisonous: bool,
    pub(super) place: Place,
    /// Lane 1: it was started.
    pub(super) started: bool,
    /// `run_at` lies ahead, because of a lease.
    pub(super) leased: bool,
    pub(super) crashes: u8,
    /// For the properties: how often its effect was committed.
    pub(super) effects: u8,
    /// For the properties: runs it lost because another job took the worker down.
    pub(super) felled: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Queue,
    Finished,
    Quarantined,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Worker {
    /// It runs a suspect: nothing is started beside it.
    pub(super) alone: bool,
    pub(super) holds: Vec<Hold>,
}

/// A job in a worker's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Hold {
    pub(super) job: usize,
    /// The row still has the token of this claim.
    pub(super) current: bool,
    pub(super) phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    Waiting,
    Running,
    /// Its work is open and holds the row.
    Open,
    /// Only if effect and removal are two transactions: the first is done.
    Between,
}

impl State {
    pub(super) fn new(poisonous: &[bool], workers: usize) -> Self {
        let row = |poisonous: &bool| Row {
            poisonous: *poisonous,
            place: Place::Queue,
            started: false,
            leased: false,
            crashes: 0,
            effects: 0,
            felled: 0,
        };
        Self {
            rows: poisonous.iter().map(row).collect(),
            workers: vec![Worker::default(); workers],
        }
    }

    pub(super) fn is_due(&self, protocol: &Protocol, job: usize, started: bool) -> bool {
        let row = &self.rows[job];
        let in_reach = !protocol.has(Guard::SkipLocked) || !self.is_locked(protocol, job);
        row.place == Place::Queue && row.started == started && !row.leased && in_reach
    }

    pub(super) fn is_locked(&self, protocol: &Protocol, job: usize) -> bool {
        let mut holds = self.workers.iter().flat_map(|worker| &worker.holds);
        protocol.has(Guard::FenceLock)
            && holds.any(|hold| hold.job == job && hold.phase == Phase::Open)
    }
}

impl Worker {
    pub(super) fn any_waiting(&self) -> bool {
        self.holds.iter().any(|hold| hold.phase == Phase::Waiting)
    }
}
