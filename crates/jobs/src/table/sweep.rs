//! Rows that a sweep could not process.

use std::collections::HashMap;

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::FailedRow;
use crate::sweep::{RowFailure, SweepRow};

/// Returns the failures of rows, by row.
pub(crate) async fn row_failures(
    sql: &mut PgConnection,
    sweep: &str,
    rows: &[Uuid],
) -> sqlx::Result<HashMap<Uuid, RowFailure>> {
    let found = sqlx::query!(
        r#"SELECT row_id, attempts, retry_at AS "retry_at: Timestamp" FROM sweep_failure
           WHERE sweep = $1 AND row_id = ANY ($2)"#,
        sweep,
        rows,
    )
    .fetch_all(sql)
    .await?;
    let failures = found
        .into_iter()
        .map(|row| (row.row_id, RowFailure { attempts: row.attempts, retry_at: row.retry_at }));
    Ok(failures.collect())
}

/// Stores the failure of a row.
pub(crate) async fn put_row_failure(
    work: &mut Work,
    sweep: &str,
    row: SweepRow,
    failure: RowFailure,
    error: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO sweep_failure
             (sweep, row_id, merchant_id, attempts, retry_at, last_error, failed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (sweep, row_id) DO UPDATE SET
             attempts = $4, retry_at = $5, last_error = $6, failed_at = $7",
        sweep,
        row.id,
        row.merchant as MerchantId,
        failure.attempts,
        failure.retry_at as Timestamp,
        error,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes the failure of a row that was processed.
pub(crate) async fn delete_row_failure(
    work: &mut Work,
    sweep: &str,
    row: Uuid,
) -> sqlx::Result<()> {
    sqlx::query!("DELETE FROM sweep_failure WHERE sweep = $1 AND row_id = $2", sweep, row)
        .execute(work.sql())
        .await?;
    Ok(())
}

/// Deletes the failures of rows that could be retried in a run that started at `started_at`, and were not: they are no
/// longer due.
pub(crate) async fn delete_row_failures_before(
    work: &mut Work,
    sweep: &str,
    started_at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM sweep_failure WHERE sweep = $1 AND retry_at <= $2 AND failed_at < $2",
        sweep,
        started_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Deletes failures that are older than `before`: of sweeps that no longer exist.
pub(crate) async fn purge_row_failures(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM sweep_failure WHERE (sweep, row_id) IN (
             SELECT sweep, row_id FROM sweep_failure WHERE failed_at < $1
             ORDER BY failed_at LIMIT $2)",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Returns failed rows, those with the most attempts first.
pub(crate) async fn failed_rows(
    sql: &mut PgConnection,
    limit: i64,
) -> sqlx::Result<Vec<FailedRow>> {
    sqlx::query_as!(
        FailedRow,
        r#"SELECT sweep, row_id AS row, merchant_id AS "merchant: MerchantId", attempts,
                  retry_at AS "retry_at: Timestamp", last_error, failed_at AS "failed_at: Timestamp"
           FROM sweep_failure ORDER BY attempts DESC, failed_at, row_id LIMIT $1"#,
        limit,
    )
    .fetch_all(sql)
    .await
}
