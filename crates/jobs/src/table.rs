//! All SQL of this crate.

mod idempotency;
mod outbox;
mod queue;
mod stats;

pub(crate) use idempotency::{claim_key, find_key, purge_keys, record_response};
pub(crate) use outbox::{
    advance_cursor, current_snapshot, cursor, delete_cursor, events, insert_events, next_horizon,
    purge_events, record_horizon,
};
pub(crate) use queue::{
    Claimed, NewJob, advance_schedule, claim, claim_suspect, dead_jobs, finish, finish_all, insert,
    is_suspect_due, lock, move_to_dead_letters, release, renew, requeue, reset_attempts, retry,
    set_lease_token, start,
};
pub(crate) use stats::{cursor_lags, queue_stats};
