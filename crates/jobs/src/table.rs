//! All SQL of this crate.

mod dead;
mod idempotency;
mod inspect;
mod outbox;
mod queue;
mod stats;
mod sweep;

pub(crate) use dead::{delete_dead, move_to_dead_letters, newest_dead_of_kind, purge_dead, revive};
pub(crate) use idempotency::{claim_key, find_key, purge_keys, record_response};
pub(crate) use inspect::{count_jobs, job, jobs};
pub(crate) use outbox::{
    advance_cursor, current_snapshot, cursor, delete_cursor, events, insert_events, next_horizon,
    outbox_is_ahead, purge_events, record_horizon, restart_outbox,
};
pub(crate) use queue::{
    ClaimLimits, Claimed, NewJob, advance_schedule, claim, claim_suspect, finish, finish_all,
    insert, is_suspect_due, lock, make_due, renew, reset_attempts, retry, set_lease_token,
};
pub(crate) use stats::{cursor_lags, queue_stats};
pub(crate) use sweep::{
    delete_row_failure, delete_row_failures_before, failed_rows, purge_row_failures,
    put_row_failure, row_failures,
};
