//! The steps: when each is enabled, and its effect.

use crate::webhooks::delivery_model::state::{Dispatcher, Memory, Owner, RowStatus, State};
use crate::webhooks::delivery_model::{Guard, Protocol};

/// A step. `by` is a dispatcher, `delivery` an index into the deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// An event is published: its delivery and a wake are committed together.
    Publish {
        delivery: usize,
    },
    /// Processes wakes and claims the store. If the end is not known, the dispatcher does not know whether it has it.
    Claim {
        by: usize,
        is_end_known: bool,
    },
    /// Reads a store that is listed.
    Read {
        by: usize,
    },
    /// Only without `ListUntilRead`: a read fails. With it, this changes nothing.
    FailRead {
        by: usize,
    },
    /// Only without `WakeAtomic`: the first half of processing wakes.
    TakeWake {
        by: usize,
    },
    /// Only without `WakeAtomic`: the second half.
    MakeDue {
        by: usize,
    },
    Reconcile {
        by: usize,
    },
    Start {
        by: usize,
        delivery: usize,
    },
    Send {
        by: usize,
        delivery: usize,
        succeeds: bool,
    },
    Record {
        by: usize,
        delivery: usize,
    },
    /// A delivery that was due later is due.
    Ring {
        by: usize,
        delivery: usize,
    },
    /// Only without `ReleaseKeepsDue`: reads what the release will write.
    ReadForRelease {
        by: usize,
    },
    Release {
        by: usize,
    },
    /// The dispatcher is killed; another one starts in its place.
    Kill {
        by: usize,
    },
    /// A lease expires: of a dispatcher that is paused.
    ExpireLease {
        by: usize,
    },
    /// The lease of an owner that is gone expires.
    ExpireFormer,
    /// The dispatcher notices that its lease has expired, and gives up what it had.
    LoseLease {
        by: usize,
    },
}

impl State {
    /// Collects every step that the protocol allows in this state.
    pub(super) fn steps(&self, protocol: &Protocol, steps: &mut Vec<Step>) {
        for (delivery, row) in self.rows.iter().enumerate() {
            if row.status == RowStatus::Unpublished {
                steps.push(Step::Publish { delivery });
            }
        }
        if self.queue.owner == (Owner::Former { is_expired: false }) {
            steps.push(Step::ExpireFormer);
        }
        for (by, dispatcher) in self.dispatchers.iter().enumerate() {
            self.steps_of_queue(protocol, by, dispatcher, steps);
            for (delivery, memory) in dispatcher.memory.iter().enumerate() {
                self.steps_of_delivery(protocol, (by, delivery), *memory, steps);
            }
            steps.push(Step::Kill { by });
            let lease = if dispatcher.is_expired {
                Step::LoseLease { by }
            } else {
                Step::ExpireLease { by }
            };
            steps.push(lease);
        }
    }

    fn steps_of_queue(
        &self,
        protocol: &Protocol,
        by: usize,
        dispatcher: &Dispatcher,
        steps: &mut Vec<Step>,
    ) {
        let is_own = self.is_owner(by);
        if self.has_wake && !protocol.has(Guard::WakeAtomic) {
            steps.push(Step::TakeWake { by });
        }
        if dispatcher.has_taken_wake {
            steps.push(Step::MakeDue { by });
        }
        let has_wake = self.has_wake && protocol.has(Guard::WakeAtomic);
        // A lease that has expired is noticed at the next transaction, at the latest.
        if !dispatcher.is_expired && (has_wake || self.can_claim(protocol, by)) {
            let ends = [true, false].map(|is_end_known| Step::Claim { by, is_end_known });
            steps.extend(ends);
        }
        if dispatcher.is_listed {
            steps.push(Step::Read { by });
        }
        if dispatcher.is_listed && !protocol.has(Guard::ListUntilRead) {
            steps.push(Step::FailRead { by });
        }
        if dispatcher.is_doubtful && is_own && !dispatcher.is_expired {
            steps.push(Step::Reconcile { by });
        }
        let is_settled = !dispatcher.is_listed && !dispatcher.is_doubtful;
        let releases = is_own && dispatcher.is_idle() && is_settled;
        let keeps_due = protocol.has(Guard::ReleaseKeepsDue);
        if releases && !keeps_due && dispatcher.read_for_release.is_none() {
            steps.push(Step::ReadForRelease { by });
        }
        if releases && (keeps_due || dispatcher.read_for_release.is_some()) {
            steps.push(Step::Release { by });
        }
    }

    fn steps_of_delivery(
        &self,
        protocol: &Protocol,
        (by, delivery): (usize, usize),
        memory: Memory,
        steps: &mut Vec<Step>,
    ) {
        let may_fail = self.rows[delivery].failures < protocol.failures_max;
        match memory {
            Memory::Waiting => steps.push(Step::Start { by, delivery }),
            Memory::Started => {
                steps.push(Step::Send { by, delivery, succeeds: true });
                if may_fail {
                    steps.push(Step::Send { by, delivery, succeeds: false });
                }
                if !protocol.has(Guard::SendFirst) {
                    steps.push(Step::Record { by, delivery });
                }
            }
            Memory::Succeeded | Memory::Failed => steps.push(Step::Record { by, delivery }),
            Memory::Later => steps.push(Step::Ring { by, delivery }),
            Memory::None => {}
        }
    }

    fn can_claim(&self, protocol: &Protocol, by: usize) -> bool {
        match self.queue.owner {
            Owner::None => self.queue.is_due,
            Owner::Present(owner) if owner == by => self.queue.is_due,
            Owner::Present(owner) => {
                self.dispatchers[owner].is_expired && self.may_take_over(protocol)
            }
            Owner::Former { is_expired } => is_expired && self.may_take_over(protocol),
        }
    }

    fn may_take_over(&self, protocol: &Protocol) -> bool {
        protocol.has(Guard::TakeOver) || self.queue.is_due
    }

    /// Returns the state after a step.
    pub(super) fn apply(&self, protocol: &Protocol, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Publish { delivery } => {
                next.rows[delivery].status = RowStatus::Pending;
                next.has_wake = true;
            }
            Step::Claim { by, is_end_known } => next.claim(protocol, by, is_end_known),
            Step::Read { by } => next.read(by),
            Step::FailRead { by } => next.dispatchers[by].is_listed = false,
            Step::TakeWake { by } => {
                next.has_wake = false;
                next.dispatchers[by].has_taken_wake = true;
            }
            Step::MakeDue { by } => {
                next.queue.is_due = true;
                next.dispatchers[by].has_taken_wake = false;
            }
            Step::Reconcile { by } => {
                next.dispatchers[by].is_doubtful = false;
                next.dispatchers[by].is_listed = true;
            }
            Step::Start { by, delivery } => next.start(protocol, by, delivery),
            Step::Send { by, delivery, succeeds } => {
                next.rows[delivery].received |= succeeds;
                let result = if succeeds { Memory::Succeeded } else { Memory::Failed };
                next.dispatchers[by].memory[delivery] = result;
            }
            Step::Record { by, delivery } => next.record(protocol, by, delivery),
            Step::Ring { by, delivery } => {
                next.dispatchers[by].memory[delivery] = Memory::Waiting;
            }
            Step::ReadForRelease { by } => {
                next.dispatchers[by].read_for_release = Some(next.any_pending());
            }
            Step::Release { by } => next.release(protocol, by),
            Step::Kill { by } | Step::LoseLease { by } => next.forget(protocol, by),
            Step::ExpireLease { by } => next.dispatchers[by].is_expired = true,
            Step::ExpireFormer => next.queue.owner = Owner::Former { is_expired: true },
        }
        next
    }

    fn claim(&mut self, protocol: &Protocol, by: usize, is_end_known: bool) {
        let was_left = matches!(self.queue.owner, Owner::Former { is_expired: true });
        if self.can_claim(protocol, by) {
            self.was_taken_over |= was_left;
            self.queue.owner = Owner::Present(by);
            self.queue.is_due = false;
        } else if std::mem::take(&mut self.has_wake) {
            match self.queue.owner {
                Owner::None => self.queue.owner = Owner::Present(by),
                Owner::Present(owner) if owner == by => {}
                _ => self.queue.is_due = true,
            }
        }
        if !self.is_owner(by) {
            return;
        }
        self.queue.is_due = false;
        if is_end_known {
            self.dispatchers[by].is_listed = true;
        } else {
            self.dispatchers[by].is_doubtful |= protocol.has(Guard::Reconcile);
        }
    }

    /// Reads pending deliveries into memory, whoever the owner is by now.
    fn read(&mut self, by: usize) {
        self.dispatchers[by].is_listed = false;
        for (row, memory) in self.rows.iter().zip(&mut self.dispatchers[by].memory) {
            if row.status == RowStatus::Pending && *memory == Memory::None {
                *memory = Memory::Waiting;
            }
        }
    }

    fn start(&mut self, protocol: &Protocol, by: usize, delivery: usize) {
        let is_own = self.is_owner(by) && !self.dispatchers[by].is_expired;
        let is_pending = self.rows[delivery].status == RowStatus::Pending;
        let is_allowed = is_own || !protocol.has(Guard::StartByOwner);
        self.foreign_write |= is_allowed && !self.is_owner(by);
        let next = if is_allowed && is_pending { Memory::Started } else { Memory::None };
        self.dispatchers[by].memory[delivery] = next;
        // Without the lease or the store, everything is given up.
        if !is_allowed {
            self.forget(protocol, by);
        }
    }

    fn record(&mut self, protocol: &Protocol, by: usize, delivery: usize) {
        let memory = self.dispatchers[by].memory[delivery];
        let is_allowed = self.is_owner(by) || !protocol.has(Guard::RecordByOwner);
        let row = &mut self.rows[delivery];
        self.foreign_write |= is_allowed && self.queue.owner != Owner::Present(by);
        let is_failure = memory == Memory::Failed;
        let is_pending = row.status == RowStatus::Pending;
        if is_allowed && is_pending && is_failure {
            row.failures += 1;
        } else if is_allowed && is_pending {
            row.status = RowStatus::Removed;
        }
        let next =
            if is_allowed && is_pending && is_failure { Memory::Later } else { Memory::None };
        self.dispatchers[by].memory[delivery] = next;
    }

    fn release(&mut self, protocol: &Protocol, by: usize) {
        let read = self.dispatchers[by].read_for_release.take();
        self.queue.is_due = match read {
            Some(read) if !protocol.has(Guard::ReleaseKeepsDue) => read,
            _ => self.queue.is_due || self.any_pending(),
        };
        self.queue.owner = Owner::None;
        self.dispatchers[by].memory.fill(Memory::None);
    }

    /// Empties the memory of a dispatcher, which has another owner id from now on.
    fn forget(&mut self, protocol: &Protocol, by: usize) {
        if self.is_owner(by) {
            self.queue.owner = Owner::Former { is_expired: self.dispatchers[by].is_expired };
        }
        self.dispatchers[by] = Dispatcher::new(protocol);
    }
}
