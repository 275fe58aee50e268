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

/// Returns jobs, the earliest first.
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
           ORDER BY at, id LIMIT $5"#,
        now as Timestamp,
        filter.state.map(JobState::as_str),
        filter.kind.as_deref(),
        id as Option<JobId>,
        limit,
    )
    .fetch_all(sql)
    .await
}
