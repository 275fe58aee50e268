//! The state of the database, of the dispatchers and of the receiver.

use crate::webhooks::delivery_model::Protocol;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) rows: Vec<Row>,
    /// Whether a wake of the store exists. Several have the effect of one.
    pub(super) has_wake: bool,
    pub(super) queue: Queue,
    pub(super) dispatchers: Vec<Dispatcher>,
    /// For the properties: somebody recorded something about a store of another owner.
    pub(super) foreign_write: bool,
    /// For the properties: the store was taken from an owner that was killed.
    pub(super) was_taken_over: bool,
}

/// The row of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Row {
    pub(super) status: RowStatus,
    pub(super) failures: u8,
    /// For the properties: the receiver has it.
    pub(super) received: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RowStatus {
    Unpublished,
    Pending,
    Removed,
}

/// The row of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// `due_at` is not null: somebody looks at the store sooner or later.
    pub(super) is_due: bool,
    pub(super) owner: Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    None,
    /// The present id of a dispatcher.
    Present(usize),
    /// The id of a dispatcher that was killed or has given it up.
    Former {
        is_expired: bool,
    },
}

/// A dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "in the model each occurs with any of the others"
)]
pub(super) struct Dispatcher {
    /// Its lease has expired, and it has not noticed.
    pub(super) is_expired: bool,
    /// For each delivery.
    pub(super) memory: Vec<Memory>,
    /// The store was claimed or woken, and is not read since.
    pub(super) is_listed: bool,
    /// The end of a transaction is not known.
    pub(super) is_doubtful: bool,
    /// Wakes were deleted, and the store is not due yet. Only without `WakeAtomic`.
    pub(super) has_taken_wake: bool,
    /// Whether deliveries were pending when they were read for a release. Only without `ReleaseKeepsDue`.
    pub(super) read_for_release: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    None,
    Waiting,
    /// It is due later: an alarm is set.
    Later,
    /// Its start is recorded.
    Started,
    /// The receiver has responded with success, and this is not recorded.
    Succeeded,
    /// The request has failed, and this is not recorded.
    Failed,
}

impl Dispatcher {
    pub(super) fn new(protocol: &Protocol) -> Self {
        Self {
            is_expired: false,
            memory: vec![Memory::None; protocol.deliveries],
            is_listed: false,
            is_doubtful: false,
            has_taken_wake: false,
            read_for_release: None,
        }
    }

    /// Whether nothing is in memory but alarms.
    pub(super) fn is_idle(&self) -> bool {
        self.memory.iter().all(|it| matches!(it, Memory::None | Memory::Later))
    }

    /// Whether it has to read the store.
    fn will_read(&self) -> bool {
        self.is_listed || self.is_doubtful || self.has_taken_wake
    }
}

impl State {
    pub(super) fn new(protocol: &Protocol) -> Self {
        let row = Row { status: RowStatus::Unpublished, failures: 0, received: false };
        Self {
            rows: vec![row; protocol.deliveries],
            has_wake: false,
            queue: Queue { is_due: false, owner: Owner::None },
            dispatchers: vec![Dispatcher::new(protocol); protocol.dispatchers],
            foreign_write: false,
            was_taken_over: false,
        }
    }

    pub(super) fn is_owner(&self, dispatcher: usize) -> bool {
        self.queue.owner == Owner::Present(dispatcher)
    }

    pub(super) fn any_pending(&self) -> bool {
        self.rows.iter().any(|row| row.status == RowStatus::Pending)
    }

    pub(super) fn is_delivered(&self) -> bool {
        self.rows.iter().all(|row| row.status == RowStatus::Removed)
    }

    /// Whether somebody attends to every pending delivery.
    pub(super) fn is_attended(&self) -> bool {
        let is_attended = |(delivery, row): (usize, &Row)| {
            row.status != RowStatus::Pending
                || match self.queue.owner {
                    Owner::None => false,
                    // Its lease expires, or has.
                    Owner::Former { .. } => true,
                    Owner::Present(owner) => {
                        let dispatcher = &self.dispatchers[owner];
                        dispatcher.is_expired
                            || dispatcher.memory[delivery] != Memory::None
                            || dispatcher.will_read()
                    }
                }
        };
        let is_announced = self.has_wake || self.queue.is_due;
        is_announced || self.rows.iter().enumerate().all(is_attended)
    }
}
