//! The steps, and when each is possible.

use crate::foundation::lease_model::state::{Hold, Phase, Place, State, Worker};
use crate::foundation::lease_model::{Guard, Protocol};

/// Jobs that one runner runs side by side.
const CONCURRENCY: usize = 2;

/// A worker by its place in the list, and a job by its place in the worker's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Claim {
        worker: usize,
        at_once: bool,
    },
    ClaimAlone {
        worker: usize,
        job: usize,
    },
    Start {
        worker: usize,
    },
    OpenWork {
        worker: usize,
        hold: usize,
    },
    Finish {
        worker: usize,
        hold: usize,
    },
    Fail {
        worker: usize,
        hold: usize,
    },
    /// The runner could not record how a run ended: the database was away.
    Forget {
        worker: usize,
        hold: usize,
    },
    Renew {
        worker: usize,
        hold: usize,
    },
    /// Shutting down: what was not started is given back.
    HandBack {
        worker: usize,
    },
    /// The worker is killed from outside.
    Kill {
        worker: usize,
    },
    /// A poisonous job runs.
    TakeDown {
        worker: usize,
        hold: usize,
    },
    EndLease {
        job: usize,
    },
}

impl State {
    /// Every step that the protocol allows here.
    pub(super) fn steps(&self, protocol: &Protocol, steps: &mut Vec<Step>) {
        for (number, row) in self.rows.iter().enumerate() {
            if row.place == Place::Queue && row.leased {
                steps.push(Step::EndLease { job: number });
            }
        }
        for (worker, hands) in self.workers.iter().enumerate() {
            self.claims(protocol, worker, hands, steps);
            for (hold, taken) in hands.holds.iter().enumerate() {
                self.steps_of_run(protocol, (worker, hold), *taken, steps);
            }
            if hands.any_waiting() {
                steps.extend([Step::Start { worker }, Step::HandBack { worker }]);
            }
            if !hands.holds.is_empty() {
                steps.push(Step::Kill { worker });
            }
        }
    }

    fn claims(&self, protocol: &Protocol, worker: usize, hands: &Worker, steps: &mut Vec<Step>) {
        let empty = hands.holds.is_empty();
        let has_room = !hands.any_waiting() && !hands.alone && hands.holds.len() < CONCURRENCY;
        if has_room && (0..self.rows.len()).any(|job| self.is_due(protocol, job, false)) {
            steps.push(Step::Claim { worker, at_once: false });
            if empty {
                steps.push(Step::Claim { worker, at_once: true });
            }
        }
        if empty || (!protocol.has(Guard::Alone) && has_room) {
            let suspects = (0..self.rows.len()).filter(|job| self.is_due(protocol, *job, true));
            steps.extend(suspects.map(|job| Step::ClaimAlone { worker, job }));
        }
    }

    fn steps_of_run(
        &self,
        protocol: &Protocol,
        (worker, hold): (usize, usize),
        taken: Hold,
        steps: &mut Vec<Step>,
    ) {
        let poisonous = self.rows[taken.job].poisonous;
        match taken.phase {
            Phase::Running if poisonous => steps.push(Step::TakeDown { worker, hold }),
            Phase::Running => {
                if !self.is_locked(protocol, taken.job) {
                    steps.push(Step::OpenWork { worker, hold });
                }
                steps.extend([Step::Fail { worker, hold }, Step::Forget { worker, hold }]);
            }
            Phase::Open => {
                steps.extend([Step::Finish { worker, hold }, Step::Fail { worker, hold }]);
            }
            Phase::Between => steps.push(Step::Finish { worker, hold }),
            Phase::Waiting => {}
        }
        // `renew` passes over a row that a work holds.
        let renews = taken.current && taken.phase != Phase::Open && !self.rows[taken.job].leased;
        if renews {
            steps.push(Step::Renew { worker, hold });
        }
    }
}
