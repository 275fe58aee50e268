//! All SQL of this crate.

mod idempotency;
mod measure;
mod outbox;
mod queue;

pub(crate) use idempotency::{answer_key, claim_key, find_key, remove_old_keys};
pub(crate) use measure::{measure_cursors, measure_queue};
pub(crate) use outbox::{
    advance_cursor, cursor, events, insert_events, next_horizon, present, record_horizon,
    remove_cursor, remove_old_events,
};
pub(crate) use queue::{
    Claimed, NewJob, advance_schedule, bury, claim, claim_alone, dead_jobs, finish, finish_all,
    forgive, hold, insert, release, renew, retry, revive, show_lease, start, suspect_waits,
};
