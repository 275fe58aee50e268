//! The steps, and when each is enabled.

use crate::foundation::lease_model::state::{Claim, JobStatus, Phase, State, Worker};
use crate::foundation::lease_model::{Guard, Protocol};

/// Number of jobs that one runner runs concurrently.
const CONCURRENCY: usize = 2;

/// A step of the protocol. `worker` is an index into the workers, `claim` into the worker's claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Claim {
        worker: usize,
        at_once: bool,
    },
    ClaimSuspect {
        worker: usize,
        job: usize,
    },
    Start {
        worker: usize,
    },
    OpenWork {
        worker: usize,
        claim: usize,
    },
    Finish {
        worker: usize,
        claim: usize,
    },
    Fail {
        worker: usize,
        claim: usize,
    },
    /// The runner could not record how a run ended, because the database was unavailable.
    LoseResult {
        worker: usize,
        claim: usize,
    },
    Renew {
        worker: usize,
        claim: usize,
    },
    /// The worker shuts down and releases the jobs that it has not started.
    Release {
        worker: usize,
    },
    /// The worker is killed by an external cause.
    Kill {
        worker: usize,
    },
    /// A poison job runs and crashes the worker.
    CrashWorker {
        worker: usize,
        claim: usize,
    },
    ExpireLease {
        job: usize,
    },
}

impl State {
    /// Collects every step that the protocol allows in this state.
    pub(super) fn steps(&self, protocol: &Protocol, steps: &mut Vec<Step>) {
        for (number, row) in self.rows.iter().enumerate() {
            if row.status == JobStatus::Queue && row.leased {
                steps.push(Step::ExpireLease { job: number });
            }
        }
        for (worker, state) in self.workers.iter().enumerate() {
            self.claim_steps(protocol, worker, state, steps);
            for (claim, claimed) in state.claims.iter().enumerate() {
                self.steps_of_run(protocol, (worker, claim), *claimed, steps);
            }
            if state.any_waiting() {
                steps.extend([Step::Start { worker }, Step::Release { worker }]);
            }
            if !state.claims.is_empty() {
                steps.push(Step::Kill { worker });
            }
        }
    }

    fn claim_steps(
        &self,
        protocol: &Protocol,
        worker: usize,
        state: &Worker,
        steps: &mut Vec<Step>,
    ) {
        let empty = state.claims.is_empty();
        let has_room = !state.any_waiting() && !state.exclusive && state.claims.len() < CONCURRENCY;
        if has_room && (0..self.rows.len()).any(|job| self.is_claimable(protocol, job)) {
            steps.push(Step::Claim { worker, at_once: false });
            if empty {
                steps.push(Step::Claim { worker, at_once: true });
            }
        }
        if empty || (!protocol.has(Guard::Exclusive) && has_room) {
            let suspects = (0..self.rows.len()).filter(|job| self.is_suspect(protocol, *job));
            steps.extend(suspects.map(|job| Step::ClaimSuspect { worker, job }));
        }
    }

    fn steps_of_run(
        &self,
        protocol: &Protocol,
        (worker, claim): (usize, usize),
        claimed: Claim,
        steps: &mut Vec<Step>,
    ) {
        let is_poison = self.rows[claimed.job].kind.poison;
        match claimed.phase {
            Phase::Running if is_poison => steps.push(Step::CrashWorker { worker, claim }),
            Phase::Running => {
                if !self.is_locked(protocol, claimed.job) {
                    steps.push(Step::OpenWork { worker, claim });
                }
                steps.extend([Step::Fail { worker, claim }, Step::LoseResult { worker, claim }]);
            }
            Phase::Open => {
                steps.extend([Step::Finish { worker, claim }, Step::Fail { worker, claim }]);
            }
            Phase::Between => steps.push(Step::Finish { worker, claim }),
            Phase::Waiting => {}
        }
        // `renew` skips a row that an open `Work` locks.
        let renews =
            claimed.current && claimed.phase != Phase::Open && !self.rows[claimed.job].leased;
        if renews {
            steps.push(Step::Renew { worker, claim });
        }
    }
}
