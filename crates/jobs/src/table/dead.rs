//! Dead letters.

use database::Work;
use primitives::{JobId, Timestamp};

use crate::DeadReason;
use crate::context::Lease;
use crate::dead::Revival;

/// Moves a job to the dead letters.
pub(crate) async fn move_to_dead_letters(
    work: &mut Work,
    lease: Lease,
    reason: DeadReason,
    error: Option<&str>,
) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "WITH gone AS (DELETE FROM job WHERE id = $1 AND lease_token = $2 RETURNING *)
         INSERT INTO dead_job
             (id, kind, payload, merchant_id, priority, once_key, reason, attempts, crashes, last_error,
              enqueued_at, died_at)
         SELECT id, kind, payload, merchant_id, priority, once_key, $3,
                attempts + CASE WHEN $3 = 'failed' THEN 1 ELSE 0 END, crashes,
                coalesce($4, last_error), enqueued_at, $5
         FROM gone",
        lease.job as JobId,
        lease.token,
        reason.as_str(),
        error,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Returns the newest dead letter of a kind, and when it died.
pub(crate) async fn newest_dead_of_kind(
    work: &mut Work,
    kind: &str,
) -> sqlx::Result<Option<(JobId, Timestamp)>> {
    let found = sqlx::query!(
        r#"SELECT id AS "id: JobId", died_at AS "died_at: Timestamp" FROM dead_job
           WHERE kind = $1 ORDER BY died_at DESC LIMIT 1"#,
        kind,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(found.map(|row| (row.id, row.died_at)))
}

/// Moves a dead letter back to the queue, unless a job with the same key is queued. Returns `None` if it does not exist.
pub(crate) async fn revive(work: &mut Work, job: JobId) -> sqlx::Result<Option<Revival>> {
    let now = work.now();
    let row = sqlx::query!(
        r#"WITH back AS (DELETE FROM dead_job WHERE id = $1 RETURNING *),
           queued AS (
               INSERT INTO job
                   (id, kind, payload, merchant_id, priority, once_key, run_at, enqueued_at, last_error)
               SELECT id, kind, payload, merchant_id, priority, once_key, $2, enqueued_at, last_error
               FROM back
               ON CONFLICT (kind, once_key) WHERE once_key IS NOT NULL DO NOTHING
               RETURNING id)
           SELECT EXISTS (SELECT FROM back) AS "is_found!", EXISTS (SELECT FROM queued) AS "is_queued!""#,
        job as JobId,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await?;
    let revival = if row.is_queued { Revival::Queued } else { Revival::Superseded };
    Ok(row.is_found.then_some(revival))
}

/// Deletes a dead letter. Returns `false` if it does not exist.
pub(crate) async fn delete_dead(work: &mut Work, job: JobId) -> sqlx::Result<bool> {
    let done = sqlx::query!("DELETE FROM dead_job WHERE id = $1", job as JobId)
        .execute(work.sql())
        .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes dead letters that died before a time.
pub(crate) async fn purge_dead(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM dead_job WHERE id = ANY (ARRAY(
             SELECT id FROM dead_job WHERE died_at < $1 ORDER BY died_at LIMIT $2))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}
