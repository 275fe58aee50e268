//! What every worker does beside its jobs, each second.

use std::time::Duration;

use database::{Database, Work};

use crate::{QueueError, table};

/// Events stay readable this long, and longer while a cursor is behind them.
const EVENTS_KEPT: Duration = Duration::from_hours(7 * 24);
/// Answers to idempotency keys stay this long.
const ANSWERS_KEPT: Duration = Duration::from_hours(48);
/// Rows removed in one go, so that the transaction stays short.
const ROWS_MAX: i64 = 1_000;

/// Records the horizon for the outbox's readers and removes what is old.
pub async fn keep_house(database: &Database) -> Result<(), QueueError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::record_horizon(&mut work, now).await?;
    table::remove_old_events(&mut work, now.minus(EVENTS_KEPT), ROWS_MAX).await?;
    table::remove_old_keys(&mut work, now.minus(ANSWERS_KEPT), ROWS_MAX).await?;
    work.commit().await?;
    Ok(())
}
