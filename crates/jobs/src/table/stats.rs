//! Statistics of the queue and the outbox.

use primitives::Timestamp;
use sqlx::PgConnection;

use crate::{CursorLag, QueueStats};

/// The age of the oldest open transaction is derived from the horizons that workers record each second: it is the age of
/// the first record of the current horizon, and needs no privilege to see the sessions of other roles.
pub(crate) async fn queue_stats(
    sql: &mut PgConnection,
    now: Timestamp,
) -> sqlx::Result<QueueStats> {
    let row = sqlx::query!(
        r#"WITH horizon AS (
               SELECT pg_snapshot_xmin(snapshot) AS lower, pg_snapshot_xmax(snapshot) AS upper
               FROM pg_current_snapshot() AS snapshot)
           SELECT count(*) FILTER (WHERE lane = 0 AND run_at <= $1) AS "due!",
                  coalesce(extract(epoch FROM $1 - min(run_at) FILTER (WHERE lane = 0 AND run_at <= $1)), 0)::float8
                      AS "oldest_due_seconds!",
                  count(*) FILTER (WHERE lease_token IS NOT NULL AND run_at > $1) AS "leased!",
                  count(*) FILTER (WHERE lane = 1 AND run_at <= $1) AS "suspects!",
                  (SELECT count(*) FROM dead_job) AS "dead!",
                  count(*) FILTER (WHERE priority = 2 AND attempts > 0) AS "failing_schedules!",
                  (SELECT count(*) FROM sweep_failure) AS "failed_rows!",
                  (SELECT upper::text::bigint - lower::text::bigint FROM horizon) AS "xmin_age_transactions!",
                  coalesce((SELECT extract(epoch FROM $1 - min(seen_at))
                            FROM horizon JOIN outbox_horizon AS seen ON seen.upper > horizon.lower
                            WHERE pg_snapshot_xmin(seen.snapshot) = horizon.lower
                              AND horizon.lower < horizon.upper), 0)::float8
                      AS "xmin_age_seconds!"
           FROM job"#,
        now as Timestamp,
    )
    .fetch_one(sql)
    .await?;
    Ok(QueueStats {
        due: row.due,
        oldest_due_seconds: row.oldest_due_seconds,
        leased: row.leased,
        suspects: row.suspects,
        dead: row.dead,
        failing_schedules: row.failing_schedules,
        failed_rows: row.failed_rows,
        xmin_age_transactions: row.xmin_age_transactions,
        xmin_age_seconds: row.xmin_age_seconds.max(0.0),
        cursors: Vec::new(),
    })
}

pub(crate) async fn cursor_lags(
    sql: &mut PgConnection,
    now: Timestamp,
) -> sqlx::Result<Vec<CursorLag>> {
    sqlx::query_as!(
        CursorLag,
        r#"SELECT name,
                  coalesce(extract(epoch FROM $1 - (
                      SELECT at FROM outbox
                      WHERE transaction >= pg_snapshot_xmin(low)
                        AND NOT pg_visible_in_snapshot(transaction, low)
                      ORDER BY transaction, position LIMIT 1)), 0)::float8 AS "seconds!"
           FROM outbox_cursor ORDER BY name"#,
        now as Timestamp,
    )
    .fetch_all(sql)
    .await
}
