//! The effect of each step. A step is one transaction of `jobs` and is named after the function that
//! runs it.

use crate::foundation::lease_model::state::{Claim, JobStatus, Phase, State, Worker};
use crate::foundation::lease_model::step::Step;
use crate::foundation::lease_model::{Commit, Guard, Protocol};

/// More than any property allows, so that the number of states is finite.
const CRASHES_COUNTED_MAX: u8 = 8;
const COLLATERAL_COUNTED_MAX: u8 = 5;

impl State {
    /// Returns the state after a step.
    pub(super) fn apply(&self, protocol: &Protocol, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Claim { worker, at_once } => next.claim(protocol, worker, at_once),
            Step::ClaimSuspect { worker, job } => next.claim_suspect(protocol, worker, job),
            Step::Start { worker } => next.start(protocol, worker),
            Step::OpenWork { worker, claim } => next.open_work(protocol, worker, claim),
            Step::Finish { worker, claim } => next.finish(protocol, worker, claim),
            Step::Fail { worker, claim } => next.fail(worker, claim),
            Step::LoseResult { worker, claim } => _ = next.remove_claim(worker, claim),
            Step::Renew { worker, claim } => {
                let job = next.workers[worker].claims[claim].job;
                next.rows[job].leased = true;
            }
            Step::Release { worker } => next.release(worker),
            Step::Kill { worker } => next.workers[worker] = Worker::default(),
            Step::CrashWorker { worker, claim } => next.crash_worker(worker, claim),
            Step::ExpireLease { job } => next.rows[job].leased = false,
        }
        next.sort();
        next
    }

    fn sort(&mut self) {
        for worker in &mut self.workers {
            worker.claims.sort_unstable();
            worker.exclusive &= !worker.claims.is_empty();
        }
        self.workers.sort_unstable();
    }

    /// Gives the row a new token: all other claims of the job now have an old one.
    fn new_token(&mut self, job: usize) {
        let claims = self.workers.iter_mut().flat_map(|worker| &mut worker.claims);
        claims.filter(|claim| claim.job == job).for_each(|claim| claim.current = false);
    }

    fn lease(&mut self, worker: usize, job: usize, phase: Phase) {
        self.new_token(job);
        self.rows[job].leased = true;
        self.workers[worker].claims.push(Claim { job, current: true, phase });
    }

    fn claim(&mut self, protocol: &Protocol, worker: usize, at_once: bool) {
        for job in 0..self.rows.len() {
            if self.is_claimable(protocol, job) {
                let row = &mut self.rows[job];
                row.crashes = (row.crashes + u8::from(row.started)).min(CRASHES_COUNTED_MAX);
                row.started |= at_once && protocol.has(Guard::MarkStarted);
                let phase = if at_once { Phase::Running } else { Phase::Waiting };
                self.lease(worker, job, phase);
            }
        }
    }

    fn claim_suspect(&mut self, protocol: &Protocol, worker: usize, job: usize) {
        self.rows[job].crashes += 1;
        if self.rows[job].crashes > protocol.crashes_max {
            self.new_token(job);
            self.rows[job].status = JobStatus::Quarantined;
        } else {
            self.lease(worker, job, Phase::Running);
            self.workers[worker].exclusive = protocol.has(Guard::Exclusive);
        }
    }

    fn start(&mut self, protocol: &Protocol, worker: usize) {
        let rows = &mut self.rows;
        self.workers[worker].claims.retain_mut(|claim| {
            let row = &mut rows[claim.job];
            let ours = claim.current && row.leased;
            if claim.phase == Phase::Waiting && ours {
                row.started = protocol.has(Guard::MarkStarted);
                claim.phase = Phase::Running;
            }
            claim.phase != Phase::Waiting
        });
    }

    fn open_work(&mut self, protocol: &Protocol, worker: usize, claim: usize) {
        let claimed = self.workers[worker].claims[claim];
        let ours = claimed.current && self.rows[claimed.job].leased;
        if ours || !protocol.has(Guard::FenceCheck) {
            self.workers[worker].claims[claim].phase = Phase::Open;
        } else {
            self.remove_claim(worker, claim);
        }
    }

    fn finish(&mut self, protocol: &Protocol, worker: usize, claim: usize) {
        let claimed = self.workers[worker].claims[claim];
        let row = &mut self.rows[claimed.job];
        let ours = (claimed.current && row.leased) || !protocol.has(Guard::FinishCheck);
        let is_first = claimed.phase == Phase::Open;
        let (effect, removal) = match protocol.commit {
            Commit::Together => (ours, ours),
            Commit::EffectFirst => (is_first && ours, !is_first && ours),
            Commit::RemovalFirst => (!is_first, is_first && ours),
        };
        row.effects = (row.effects + u8::from(effect)).min(2);
        if removal {
            row.status = JobStatus::Finished;
            row.leased = false;
            self.new_token(claimed.job);
        }
        if is_first && ours && protocol.commit != Commit::Together {
            self.workers[worker].claims[claim].phase = Phase::Between;
        } else {
            self.remove_claim(worker, claim);
        }
    }

    fn fail(&mut self, worker: usize, claim: usize) {
        let claimed = self.remove_claim(worker, claim);
        if claimed.current {
            self.release_row(claimed.job);
        }
    }

    fn release(&mut self, worker: usize) {
        let claims = std::mem::take(&mut self.workers[worker].claims);
        let (waiting, running) =
            claims.into_iter().partition(|claim| claim.phase == Phase::Waiting);
        self.workers[worker].claims = running;
        let waiting: Vec<Claim> = waiting;
        for claimed in waiting.into_iter().filter(|claimed| claimed.current) {
            self.release_row(claimed.job);
        }
    }

    fn release_row(&mut self, job: usize) {
        self.new_token(job);
        self.rows[job].started = false;
        self.rows[job].leased = false;
    }

    /// Crashes the worker, and with it the runs beside the poison job.
    fn crash_worker(&mut self, worker: usize, claim: usize) {
        let poison = self.remove_claim(worker, claim);
        let lost = std::mem::take(&mut self.workers[worker]).claims;
        for claimed in lost {
            let counts =
                claimed.current && claimed.phase != Phase::Waiting && claimed.job != poison.job;
            let row = &mut self.rows[claimed.job];
            row.collateral = (row.collateral + u8::from(counts)).min(COLLATERAL_COUNTED_MAX);
        }
    }

    fn remove_claim(&mut self, worker: usize, claim: usize) -> Claim {
        self.workers[worker].claims.remove(claim)
    }
}
