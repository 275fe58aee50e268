//! The job queue.

use database::Work;
use primitives::{JobId, MerchantId, Timestamp};
use serde_json::Value;
use uuid::Uuid;

use crate::context::Lease;
use crate::job::Priority;

pub(crate) struct NewJob<'key> {
    pub(crate) id: JobId,
    pub(crate) kind: &'static str,
    pub(crate) payload: Value,
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) run_at: Timestamp,
    pub(crate) unique_key: Option<&'key str>,
    pub(crate) priority: Priority,
}

/// A leased job.
#[derive(Debug)]
pub(crate) struct Claimed {
    pub(crate) id: JobId,
    pub(crate) kind: String,
    pub(crate) payload: Value,
    pub(crate) merchant: Option<MerchantId>,
    pub(crate) priority: Priority,
    pub(crate) attempts: i32,
    pub(crate) crashes: i32,
}

/// How many jobs a claim may take. Scheduled jobs are not limited: at most one of each schedule exists.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClaimLimits {
    /// Urgent and bulk jobs.
    pub(crate) total: i64,
    /// Bulk jobs.
    pub(crate) bulk: i64,
    /// Bulk jobs of one merchant, those that are running included.
    pub(crate) per_merchant: i64,
    /// The merchant of each bulk job that is running.
    pub(crate) running: Vec<Uuid>,
    /// Merchants with as many running bulk jobs as allowed.
    pub(crate) full: Vec<Uuid>,
}

/// Due bulk jobs that a claim considers for each one that it takes. If they all belong to a few merchants, the claim takes
/// fewer jobs, and the next one skips these merchants.
const CANDIDATES_PER_JOB: i64 = 4;

/// How often a scheduled job that was interrupted is started again beside other jobs. After that it is a suspect.
const INTERRUPTIONS_MAX: i32 = 2;

/// Inserts a job, unless one with the same key exists. Returns whether it was inserted.
pub(crate) async fn insert(work: &mut Work, job: &NewJob<'_>) -> sqlx::Result<bool> {
    let now = work.now();
    let done = sqlx::query!(
        "INSERT INTO job (id, kind, payload, merchant_id, run_at, once_key, enqueued_at, priority)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
         ON CONFLICT (kind, once_key) WHERE once_key IS NOT NULL DO NOTHING",
        job.id as JobId,
        job.kind,
        job.payload,
        job.merchant as Option<MerchantId>,
        job.run_at as Timestamp,
        job.unique_key,
        now as Timestamp,
        job.priority.number(),
    )
    .execute(work.sql())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes a unique job that waits for its next attempt due.
pub(crate) async fn make_due(work: &mut Work, kind: &str, unique_key: &str) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE job SET run_at = $3
         WHERE kind = $1 AND once_key = $2 AND lane = 0 AND lease_token IS NULL AND run_at > $3",
        kind,
        unique_key,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Leases due jobs of lane 0 and marks them as started: scheduled jobs, then urgent ones, then others, the oldest first,
/// up to the limit of each merchant. Scheduled jobs that were interrupted, in lane 1, are leased with them and their crash
/// count is incremented: held stock and payments wait for them, and suspects wait until a worker is idle.
pub(crate) async fn claim(
    work: &mut Work,
    token: Uuid,
    until: Timestamp,
    limits: &ClaimLimits,
) -> sqlx::Result<Vec<Claimed>> {
    let now = work.now();
    sqlx::query_as!(
        Claimed,
        r#"WITH scheduled AS (
               SELECT id FROM job
               WHERE lane IN (0, 1) AND priority = 2 AND run_at <= $3 AND (lane = 0 OR crashes < $10)
               FOR UPDATE SKIP LOCKED),
           urgent AS (
               SELECT id FROM job WHERE lane = 0 AND priority = 1 AND run_at <= $3
               ORDER BY run_at LIMIT $4 FOR UPDATE SKIP LOCKED),
           candidate AS (
               SELECT id, run_at, merchant_id FROM job
               WHERE lane = 0 AND priority = 0 AND run_at <= $3
                 AND (merchant_id IS NULL OR merchant_id <> ALL ($8))
               ORDER BY run_at LIMIT $5::bigint * $9::bigint),
           ranked AS (
               SELECT id, merchant_id,
                      row_number() OVER (PARTITION BY merchant_id ORDER BY run_at) AS rank
               FROM candidate),
           bulk AS (
               SELECT id FROM job
               WHERE lane = 0 AND priority = 0 AND run_at <= $3 AND id = ANY (ARRAY(
                   SELECT id FROM ranked
                   WHERE merchant_id IS NULL
                      OR rank <= $6::bigint - (SELECT count(*) FROM unnest($7::uuid[]) AS running (merchant)
                                       WHERE running.merchant = merchant_id)))
               ORDER BY run_at LIMIT least($5::bigint, $4::bigint - (SELECT count(*) FROM urgent))
               FOR UPDATE SKIP LOCKED)
           UPDATE job SET lease_token = $1, run_at = $2, lane = 1, crashes = crashes + lane
           WHERE id = ANY (ARRAY(
               SELECT id FROM scheduled UNION ALL SELECT id FROM urgent UNION ALL SELECT id FROM bulk))
           RETURNING id AS "id: JobId", kind, payload, merchant_id AS "merchant: MerchantId", priority,
                     attempts, crashes"#,
        token,
        until as Timestamp,
        now as Timestamp,
        limits.total,
        limits.bulk,
        limits.per_merchant,
        &limits.running,
        &limits.full,
        CANDIDATES_PER_JOB,
        INTERRUPTIONS_MAX,
    )
    .fetch_all(work.sql())
    .await
}

/// Returns whether a suspect is due: a job that was started and never completed, and that `claim` does not start again.
pub(crate) async fn is_suspect_due(work: &mut Work) -> sqlx::Result<bool> {
    let now = work.now();
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM job WHERE lane = 1 AND run_at <= $1 AND (priority < 2 OR crashes >= $2)) AS "waits!""#,
        now as Timestamp,
        INTERRUPTIONS_MAX,
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
               SELECT id FROM job WHERE lane = 1 AND run_at <= $3 AND (priority < 2 OR crashes >= $4)
               ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED))
           RETURNING id AS "id: JobId", kind, payload, merchant_id AS "merchant: MerchantId", priority,
                     attempts, crashes"#,
        token,
        until as Timestamp,
        now as Timestamp,
        INTERRUPTIONS_MAX,
    )
    .fetch_optional(work.sql())
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

/// Advances a schedule to an epoch. Returns `false` if it was already reached. A new schedule starts with this epoch.
pub(crate) async fn advance_schedule(
    work: &mut Work,
    name: &str,
    epoch: i64,
) -> sqlx::Result<bool> {
    let moved = sqlx::query!(
        "INSERT INTO schedule AS known (name, epoch) VALUES ($1, $2)
         ON CONFLICT (name) DO UPDATE SET epoch = $2 WHERE known.epoch < $2",
        name,
        epoch,
    )
    .execute(work.sql())
    .await?;
    Ok(moved.rows_affected() == 1)
}
