//! Housekeeping that every worker does each second.

use std::time::Duration;

use database::{Database, Work};

use crate::{QueueError, table};

/// Minimum retention of outbox events; longer while a cursor has not read them.
const EVENT_RETENTION: Duration = Duration::from_hours(7 * 24);
/// Retention of idempotency keys and their responses.
const KEY_RETENTION: Duration = Duration::from_hours(48);
/// Retention of dead letters.
const DEAD_RETENTION: Duration = Duration::from_hours(90 * 24);
/// Retention of failures of rows after the last attempt. A row that still fails is tried every six hours.
const ROW_FAILURE_RETENTION: Duration = Duration::from_hours(7 * 24);
/// Rows deleted per run and table, so that the transaction stays short.
const ROWS_MAX: i64 = 1_000;

/// Records the horizon for readers of the outbox, and purges old events, idempotency keys, dead letters and failures of
/// rows (docs/retention.md).
pub async fn housekeeping(database: &Database) -> Result<(), QueueError> {
    let mut work = Work::for_platform(database).await?;
    let now = work.now();
    table::record_horizon(&mut work, now).await?;
    work.commit().await?;
    let mut work = Work::for_platform(database).await?;
    table::purge_events(&mut work, now.minus(EVENT_RETENTION), ROWS_MAX).await?;
    table::purge_keys(&mut work, now.minus(KEY_RETENTION), ROWS_MAX).await?;
    table::purge_dead(&mut work, now.minus(DEAD_RETENTION), ROWS_MAX).await?;
    table::purge_row_failures(&mut work, now.minus(ROW_FAILURE_RETENTION), ROWS_MAX).await?;
    work.commit().await?;
    Ok(())
}
