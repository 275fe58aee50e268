//! The state of jobs and workers.

use crate::foundation::lease_model::{Guard, Protocol};

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) rows: Vec<Row>,
    /// In a canonical order: workers are interchangeable.
    pub(super) workers: Vec<Worker>,
}

/// The row of a job.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) kind: JobKind,
    pub(super) status: JobStatus,
    /// Whether it is in lane 1.
    pub(super) started: bool,
    /// `run_at` is in the future, because of a lease.
    pub(super) leased: bool,
    pub(super) crashes: u8,
    /// For the properties: how often its effect was committed.
    pub(super) effects: u8,
    /// For the properties: runs lost because another job crashed the worker.
    pub(super) collateral: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct JobKind {
    /// It may crash its worker whenever it runs.
    pub(super) poison: bool,
    pub(super) scheduled: bool,
}

impl JobKind {
    pub(super) const HEALTHY: Self = Self { poison: false, scheduled: false };
    pub(super) const POISON: Self = Self { poison: true, scheduled: false };

    pub(super) const fn scheduled(self) -> Self {
        Self { scheduled: true, ..self }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobStatus {
    Queue,
    Finished,
    Quarantined,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Worker {
    /// It runs a suspect: nothing is started beside it.
    pub(super) exclusive: bool,
    pub(super) claims: Vec<Claim>,
}

/// A job claimed by a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) job: usize,
    /// The row still has the token of this claim.
    pub(super) current: bool,
    pub(super) phase: Phase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Phase {
    Waiting,
    Running,
    /// Its `Work` is open and locks the row.
    Open,
    /// Only if effect and removal are two transactions: the first is committed.
    Between,
}

impl State {
    pub(super) fn new(jobs: &[JobKind], workers: usize) -> Self {
        let row = |kind: &JobKind| Row {
            kind: *kind,
            status: JobStatus::Queue,
            started: false,
            leased: false,
            crashes: 0,
            effects: 0,
            collateral: 0,
        };
        Self { rows: jobs.iter().map(row).collect(), workers: vec![Worker::default(); workers] }
    }

    /// Returns whether a job is claimed beside others: it was not started, or it is scheduled and was not interrupted too
    /// often.
    pub(super) fn is_claimable(&self, protocol: &Protocol, job: usize) -> bool {
        self.is_due(protocol, job) && !self.needs_exclusive_run(protocol, job)
    }

    pub(super) fn is_suspect(&self, protocol: &Protocol, job: usize) -> bool {
        self.is_due(protocol, job) && self.needs_exclusive_run(protocol, job)
    }

    fn is_due(&self, protocol: &Protocol, job: usize) -> bool {
        let row = &self.rows[job];
        let in_reach = !protocol.has(Guard::SkipLocked) || !self.is_locked(protocol, job);
        row.status == JobStatus::Queue && !row.leased && in_reach
    }

    fn needs_exclusive_run(&self, protocol: &Protocol, job: usize) -> bool {
        let row = &self.rows[job];
        let is_limited = protocol.has(Guard::InterruptionsMax);
        let is_interrupted =
            row.kind.scheduled && (!is_limited || row.crashes < protocol.interruptions_max);
        row.started && !is_interrupted
    }

    pub(super) fn is_locked(&self, protocol: &Protocol, job: usize) -> bool {
        let mut claims = self.workers.iter().flat_map(|worker| &worker.claims);
        protocol.has(Guard::FenceLock)
            && claims.any(|claim| claim.job == job && claim.phase == Phase::Open)
    }
}

impl Worker {
    pub(super) fn any_waiting(&self) -> bool {
        self.claims.iter().any(|claim| claim.phase == Phase::Waiting)
    }
}
