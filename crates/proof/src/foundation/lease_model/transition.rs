//! What a step does. Each is one transaction of the real thing, named after the function of `jobs`
//! that it follows.

use crate::foundation::lease_model::state::{Hold, Phase, Place, State, Worker};
use crate::foundation::lease_model::step::Step;
use crate::foundation::lease_model::{Commit, Guard, Protocol};

impl State {
    /// What the state becomes.
    pub(super) fn after(&self, protocol: &Protocol, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Claim { worker, at_once } => next.claim(protocol, worker, at_once),
            Step::ClaimAlone { worker, job } => next.claim_alone(protocol, worker, job),
            Step::Start { worker } => next.start(protocol, worker),
            Step::OpenWork { worker, hold } => next.open_work(protocol, worker, hold),
            Step::Finish { worker, hold } => next.finish(protocol, worker, hold),
            Step::Fail { worker, hold } => next.fail(worker, hold),
            Step::Forget { worker, hold } => _ = next.let_go(worker, hold),
            Step::Renew { worker, hold } => {
                let job = next.workers[worker].holds[hold].job;
                next.rows[job].leased = true;
            }
            Step::HandBack { worker } => next.hand_back(worker),
            Step::Kill { worker } => next.workers[worker] = Worker::default(),
            Step::TakeDown { worker, hold } => next.take_down(worker, hold),
            Step::EndLease { job } => next.rows[job].leased = false,
        }
        next.sort();
        next
    }

    fn sort(&mut self) {
        for worker in &mut self.workers {
            worker.holds.sort_unstable();
            worker.alone &= !worker.holds.is_empty();
        }
        self.workers.sort_unstable();
    }

    /// A new token: whoever had one for the row has an old one now.
    fn new_token(&mut self, job: usize) {
        let holds = self.workers.iter_mut().flat_map(|worker| &mut worker.holds);
        holds.filter(|hold| hold.job == job).for_each(|hold| hold.current = false);
    }

    fn lease(&mut self, worker: usize, job: usize, phase: Phase) {
        self.new_token(job);
        self.rows[job].leased = true;
        self.workers[worker].holds.push(Hold { job, current: true, phase });
    }

    fn claim(&mut self, protocol: &Protocol, worker: usize, at_once: bool) {
        for job in 0..self.rows.len() {
            if self.is_due(protocol, job, false) {
                self.rows[job].started = at_once && protocol.has(Guard::MarkStarted);
                let phase = if at_once { Phase::Running } else { Phase::Waiting };
                self.lease(worker, job, phase);
            }
        }
    }

    fn claim_alone(&mut self, protocol: &Protocol, worker: usize, job: usize) {
        self.rows[job].crashes += 1;
        if self.rows[job].crashes > protocol.crashes_max {
            self.new_token(job);
            self.rows[job].place = Place::Quarantined;
        } else {
            self.lease(worker, job, Phase::Running);
            self.workers[worker].alone = protocol.has(Guard::Alone);
        }
    }

    fn start(&mut self, protocol: &Protocol, worker: usize) {
        let rows = &mut self.rows;
        self.workers[worker].holds.retain_mut(|hold| {
            let row = &mut rows[hold.job];
            let ours = hold.current && row.leased;
            if hold.phase == Phase::Waiting && ours {
                row.started = protocol.has(Guard::MarkStarted);
                hold.phase = Phase::Running;
            }
            hold.phase != Phase::Waiting
        });
    }

    fn open_work(&mut self, protocol: &Protocol, worker: usize, hold: usize) {
        let taken = self.workers[worker].holds[hold];
        let ours = taken.current && self.rows[taken.job].leased;
        if ours || !protocol.has(Guard::FenceCheck) {
            self.workers[worker].holds[hold].phase = Phase::Open;
        } else {
            self.let_go(worker, hold);
        }
    }

    fn finish(&mut self, protocol: &Protocol, worker: usize, hold: usize) {
        let taken = self.workers[worker].holds[hold];
        let row = &mut self.rows[taken.job];
        let ours = (taken.current && row.leased) || !protocol.has(Guard::FinishCheck);
        let is_first = taken.phase == Phase::Open;
        let (effect, removal) = match protocol.commit {
            Commit::Together => (ours, ours),
            Commit::EffectFirst => (is_first && ours, !is_first && ours),
            Commit::RemovalFirst => (!is_first, is_first && ours),
        };
        row.effects = (row.effects + u8::from(effect)).min(2);
        if removal {
            row.place = Place::Finished;
            row.leased = false;
            self.new_token(taken.job);
        }
        if is_first && ours && protocol.commit != Commit::Together {
            self.workers[worker].holds[hold].phase = Phase::Between;
        } else {
            self.let_go(worker, hold);
        }
    }

    fn fail(&mut self, worker: usize, hold: usize) {
        let taken = self.let_go(worker, hold);
        if taken.current {
            self.give_back(taken.job);
        }
    }

    fn hand_back(&mut self, worker: usize) {
        let holds = std::mem::take(&mut self.workers[worker].holds);
        let (waiting, running) = holds.into_iter().partition(|hold| hold.phase == Phase::Waiting);
        self.workers[worker].holds = running;
        let waiting: Vec<Hold> = waiting;
        for taken in waiting.into_iter().filter(|taken| taken.current) {
            self.give_back(taken.job);
        }
    }

    fn give_back(&mut self, job: usize) {
        self.new_token(job);
        self.rows[job].started = false;
        self.rows[job].leased = false;
    }

    /// The worker dies, and so do the runs beside the poisonous one.
    fn take_down(&mut self, worker: usize, hold: usize) {
        let poison = self.let_go(worker, hold);
        let lost = std::mem::take(&mut self.workers[worker]).holds;
        for taken in lost {
            let counts = taken.current && taken.phase != Phase::Waiting && taken.job != poison.job;
            let row = &mut self.rows[taken.job];
            row.felled = (row.felled + u8::from(counts)).min(3);
        }
    }

    fn let_go(&mut self, worker: usize, hold: usize) -> Hold {
        self.workers[worker].holds.remove(hold)
    }
}
