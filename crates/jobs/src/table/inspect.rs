//! Jobs of the queue and dead letters, as operators see them.

use primitives::{JobId, MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::{JobFilter, JobInfo, JobState};

/// Returns one job.
pub(crate) async fn job(
    sql: &mut PgConnection,
    now: Timestamp,
    id: JobId,
) -> sqlx::Result<Option<JobInfo>> {
    Ok(jobs(sql, now, &JobFilter::default(), Some(id), 1).await?.pop())
}

/// Returns jobs after a position, the earliest first.
pub(crate) async fn jobs(
    sql: &mut PgConnection,
    now: Timestamp,
    filter: &JobFilter,
    id: Option<JobId>,
    limit: i64,
) -> sqlx::Result<Vec<JobInfo>> {
    sqlx::query_as!(
        JobInfo,
        r#"SELECT id AS "id!: JobId", kind AS "kind!", merchant_id AS "merchant: MerchantId",
                  state AS "state!: JobState", attempts AS "attempts!", crashes AS "crashes!",
                  last_error, enqueued_at AS "enqueued_at!: Timestamp", at AS "at!: Timestamp",
                  payload AS "payload!"
           FROM (
               SELECT id, kind, merchant_id,
                      CASE WHEN lane = 1 AND run_at > $1 THEN 'running'
                           WHEN lane = 1 THEN 'suspect'
                           WHEN attempts > 0 THEN 'failing'
                           WHEN run_at <= $1 THEN 'due'
                           ELSE 'waiting' END AS state,
                      attempts, crashes, last_error, enqueued_at, run_at AS at, payload
               FROM job
               UNION ALL
               SELECT id, kind, merchant_id, 'dead', attempts, crashes, last_error, enqueued_at, died_at,
                      payload
               FROM dead_job) AS every
           WHERE ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR kind = $3)
             AND ($4::uuid IS NULL OR id = $4)
             AND ($6::timestamptz IS NULL OR (at, id) > ($6, $7::uuid))
           ORDER BY at, id LIMIT $5"#,
        now as Timestamp,
        filter.state.map(JobState::as_str),
        filter.kind.as_deref(),
        id as Option<JobId>,
        limit,
        filter.after.map(|after| after.at) as Option<Timestamp>,
        filter.after.map(|after| after.id) as Option<JobId>,
    )
    .fetch_all(sql)
    .await
}

/// Returns the number of jobs that a filter selects, wherever the page begins; at most `limit`.
pub(crate) async fn count_jobs(
    sql: &mut PgConnection,
    now: Timestamp,
    filter: &JobFilter,
    limit: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!" FROM (
               SELECT FROM (
                   SELECT kind,
                          CASE WHEN lane = 1 AND run_at > $1 THEN 'running'
                               WHEN lane = 1 THEN 'suspect'
                               WHEN attempts > 0 THEN 'failing'
                               WHEN run_at <= $1 THEN 'due'
                               ELSE 'waiting' END AS state
                   FROM job
                   UNION ALL
                   SELECT kind, 'dead' FROM dead_job) AS every
               WHERE ($2::text IS NULL OR state = $2) AND ($3::text IS NULL OR kind = $3)
               LIMIT $4) AS counted"#,
        now as Timestamp,
        filter.state.map(JobState::as_str),
        filter.kind.as_deref(),
        limit,
    )
    .fetch_one(sql)
    .await
}
