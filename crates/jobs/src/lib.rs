#![doc = include_str!("../README.md")]

mod context;
mod dead;
mod enqueue;
mod error;
mod housekeeping;
mod idempotency;
mod inspect;
mod job;
mod outbox;
mod runner;
mod schedule;
mod stats;
mod sweep;
mod table;

pub use context::JobContext;
pub use dead::{DeadReason, Revival, discard, revive};
pub use enqueue::{enqueue, enqueue_at, enqueue_unique};
pub use error::{IdempotencyError, JobError, QueueError};
pub use housekeeping::housekeeping;
pub use idempotency::{Claim, IdempotencyKey, claim_key, record_response};
pub use inspect::{
    FailedRow, InvalidJobCursor, JobCursor, JobFilter, JobInfo, JobState, count, failed_rows, find,
    list,
};
pub use job::{Job, Outcome};
pub use outbox::{
    Batch, Cursor, Event, NewEvent, advance, cursor, delete_cursor, latest_cursor, outbox_is_ahead,
    publish, read_events, read_topics, restart_outbox,
};
pub use runner::{Runner, RunnerSettings};
pub use schedule::{Epoch, Scheduled};
pub use stats::{CursorLag, QueueStats, queue_stats};
pub use sweep::{Sweep, SweepRow, enqueue_sweep};
