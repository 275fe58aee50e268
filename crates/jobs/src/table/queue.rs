//! The job queue.

use database::Work;
use primitives::{JobId, MerchantId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::context::Lease;
use crate::{DeadJob, DeadReason};

pub(crate) struct NewJob<'key> {
    pub(crate) id: JobId,
    pub(crate) kind: &'static str,
    pub(crate) payload: Value,
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) run_at: Timestamp,
    pub(crate) unique_key: Option<&'key str>,
}

/// A leased job.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: JobId,
    pub(crate) kind: String,
    pub(crate) payload: Value,
    pub(crate) attempts: i32,
    pub(crate) crashes: i32,
}

/// Inserts a job, unless one with the same key exists. Returns whether it was inserted.
pub(crate) async fn insert(work: &mut Work, job: &NewJob<'_>) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "INSERT INTO job (id, kind, payload, merchant_id, run_at, once_key, enqueued_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (kind, once_key) WHERE once_key IS NOT NULL DO NOTHING",
        job.id as JobId,
        job.kind,
        job.payload,
        job.merchant as Option<MerchantId>,
        job.run_at as Timestamp,
        job.unique_key,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Leases due jobs of lane 0, oldest first; marks them as started if `at_once`.
pub(crate) async fn claim(
    work: &mut Work,
    token: Uuid,
    until: Timestamp,
    limit: i64,
    at_once: bool,
) -> sqlx::Result<Vec<Claimed>> {
    let now = work.now();
    sqlx::query_as!(
        Claimed,
        r#"UPDATE job SET lease_token = $1, run_at = $2, lane = $5
           WHERE id = ANY (ARRAY(
               SELECT id FROM job WHERE lane = 0 AND run_at <= $3
               ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED))
           RETURNING id AS "id: JobId", kind, payload, attempts, crashes"#,
        token,
        until as Timestamp,
        now as Timestamp,
        limit,
        i16::from(at_once),
    )
    .fetch_all(work.sql())
    .await
}

/// Returns whether a suspect is due: a job that was started and never completed.
pub(crate) async fn is_suspect_due(work: &mut Work) -> sqlx::Result<bool> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"SELECT EXISTS (SELECT FROM job WHERE lane = 1 AND run_at <= $1) AS "waits!""#,
        now as Timestamp,
    )
    .fetch_one(work.sql())
    .await
}

/// Leases one suspect and increments its crash count.
pub(crate) async fn claim_suspect(
    work: &mut Work,
    token: Uuid,
    until: Timestamp,
) -> sqlx::Result<Option<Claimed>> {
    let now = work.now();
    sqlx::query_as!(
        Claimed,
        r#"UPDATE job SET lease_token = $1, run_at = $2, crashes = crashes + 1
           WHERE id = ANY (ARRAY(
               SELECT id FROM job WHERE lane = 1 AND run_at <= $3
               ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED))
           RETURNING id AS "id: JobId", kind, payload, attempts, crashes"#,
        token,
        until as Timestamp,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await
}

/// Marks leased jobs as started and returns those whose lease is still valid.
pub(crate) async fn start(
    work: &mut Work,
    token: Uuid,
    jobs: &[Uuid],
    until: Timestamp,
) -> sqlx::Result<Vec<JobId>> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"UPDATE job SET lane = 1, run_at = $3
           WHERE id = ANY ($1) AND lease_token = $2 AND run_at > $4
           RETURNING id AS "id: JobId""#,
        jobs,
        token,
        until as Timestamp,
        now as Timestamp,
    )
    .fetch_all(work.sql())
    .await
}

/// Extends leases. Rows locked by a fenced transaction are skipped: they cannot be claimed while locked, and waiting for
/// them would delay the other renewals.
pub(crate) async fn renew(
    work: &mut Work,
    jobs: &[Uuid],
    tokens: &[Uuid],
    until: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE job SET run_at = $3
         WHERE id = ANY (ARRAY(
             SELECT job.id FROM job
             JOIN unnest($1::uuid[], $2::uuid[]) AS held (id, token)
               ON job.id = held.id AND job.lease_token = held.token
             FOR UPDATE OF job SKIP LOCKED))",
        jobs,
        tokens,
        until as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Sets the lease token of a transaction, so that row-level security shows it that job and no other.
pub(crate) async fn set_lease_token(work: &mut Work, lease: Lease) -> sqlx::Result<()> {
    sqlx::query!("SELECT set_config('souk.lease_token', $1, true)", lease.token.to_string())
        .fetch_one(work.sql())
        .await?;
    Ok(())
}

/// Locks the job's row. Returns `false` if the lease has expired.
pub(crate) async fn lock(work: &mut Work, lease: Lease, now: Timestamp) -> sqlx::Result<bool> {
    let held = sqlx::query_scalar!(
        r#"SELECT id AS "id: JobId" FROM job
           WHERE id = $1 AND lease_token = $2 AND run_at > $3 FOR NO KEY UPDATE"#,
        lease.job as JobId,
        lease.token,
        now as Timestamp,
    )
    .fetch_optional(work.sql())
    .await?;
    Ok(held.is_some())
}

/// Resets the crash and failure counts. Returns `false` if the lease is lost.
pub(crate) async fn reset_attempts(work: &mut Work, lease: Lease) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "UPDATE job SET crashes = 0, attempts = 0 WHERE id = $1 AND lease_token = $2",
        lease.job as JobId,
        lease.token,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes a job. Returns `false` if the lease has expired.
pub(crate) async fn finish(work: &mut Work, lease: Lease, now: Timestamp) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "DELETE FROM job WHERE id = $1 AND lease_token = $2 AND run_at > $3",
        lease.job as JobId,
        lease.token,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Deletes the jobs whose token is still valid, and returns their number.
pub(crate) async fn finish_all(
    work: &mut Work,
    jobs: &[Uuid],
    tokens: &[Uuid],
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "DELETE FROM job USING unnest($1::uuid[], $2::uuid[]) AS held (id, token)
         WHERE job.id = held.id AND job.lease_token = held.token",
        jobs,
        tokens,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected())
}

/// Returns a failed job to lane 0, due later. It completed, so that it is no longer a suspect.
pub(crate) async fn retry(
    work: &mut Work,
    lease: Lease,
    at: Timestamp,
    error: &str,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "UPDATE job SET lane = 0, lease_token = NULL, crashes = 0, attempts = attempts + 1, run_at = $3, last_error = $4
         WHERE id = $1 AND lease_token = $2",
        lease.job as JobId,
        lease.token,
        at as Timestamp,
        error,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Releases jobs that were claimed and not started.
pub(crate) async fn release(work: &mut Work, token: Uuid, jobs: &[Uuid]) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE job SET lease_token = NULL, run_at = $3
         WHERE id = ANY ($1) AND lease_token = $2 AND lane = 0",
        jobs,
        token,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

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
             (id, kind, payload, merchant_id, reason, attempts, crashes, last_error, enqueued_at, died_at)
         SELECT id, kind, payload, merchant_id, $3,
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

/// Returns dead letters, the oldest first.
pub(crate) async fn dead_jobs(sql: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<DeadJob>> {
    let rows = sqlx::query!(
        r#"SELECT id AS "id: JobId", kind, merchant_id AS "merchant: MerchantId", reason, attempts,
                  crashes, last_error, died_at AS "died_at: Timestamp"
           FROM dead_job ORDER BY died_at, id LIMIT $1"#,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let mut jobs = Vec::with_capacity(rows.len());
    for row in rows {
        jobs.push(DeadJob {
            id: row.id,
            kind: row.kind,
            merchant: row.merchant,
            reason: row
                .reason
                .parse::<DeadReason>()
                .map_err(|error| sqlx::Error::Decode(error.into()))?,
            attempts: row.attempts,
            crashes: row.crashes,
            last_error: row.last_error,
            died_at: row.died_at,
        });
    }
    Ok(jobs)
}

/// Moves a dead letter back to the queue. Returns `false` if it does not exist.
pub(crate) async fn requeue(work: &mut Work, job: JobId) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "WITH back AS (DELETE FROM dead_job WHERE id = $1 RETURNING *)
         INSERT INTO job (id, kind, payload, merchant_id, run_at, enqueued_at, last_error)
         SELECT id, kind, payload, merchant_id, $2, enqueued_at, last_error FROM back",
        job as JobId,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Advances a schedule to an epoch. Returns the previous epoch, or `None` if it was already reached.
pub(crate) async fn advance_schedule(
    work: &mut Work,
    name: &str,
    epoch: i64,
) -> sqlx::Result<Option<i64>> {
    // A new schedule starts with the current epoch.
    sqlx::query!(
        "INSERT INTO schedule (name, epoch) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING",
        name,
        epoch - 1,
    )
    .execute(work.sql())
    .await?;
    let previous =
        sqlx::query_scalar!("SELECT epoch FROM schedule WHERE name = $1 FOR UPDATE", name)
            .fetch_one(work.sql())
            .await?;
    let moved =
        sqlx::query!("UPDATE schedule SET epoch = $2 WHERE name = $1 AND epoch < $2", name, epoch)
            .execute(work.sql())
            .await?;
    Ok((moved.rows_affected() == 1).then_some(previous))
}
