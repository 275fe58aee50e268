#![doc = include_str!("../README.md")]

mod context;
mod dead;
mod enqueue;
mod error;
mod housekeeping;
mod idempotency;
mod job;
mod measure;
mod outbox;
mod runner;
mod schedule;
mod table;

pub use context::JobContext;
pub use dead::{DeadJob, DeadReason, dead_jobs, revive};
pub use enqueue::{enqueue, enqueue_at, enqueue_once};
pub use error::{IdempotencyError, JobError, QueueError};
pub use housekeeping::keep_house;
pub use idempotency::{Claim, IdempotencyKey, answer, claim};
pub use job::{Job, Outcome};
pub use measure::{CursorLag, Measures, measure};
pub use outbox::{
    Batch, Cursor, Event, NewEvent, advance, cursor, follow, follow_topics, forget_cursor, present,
    publish,
};
pub use runner::{Runner, RunnerSettings};
pub use schedule::{Epoch, Scheduled};
