//! Stores whose facts could not be counted, or whose score could not be computed.

use database::Work;
use jobs::SweepRow;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::{Epoch, Failure, FailureStage};

/// Returns how often a stage of a store failed without a success.
pub(crate) async fn attempts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    stage: FailureStage,
) -> sqlx::Result<i32> {
    let attempts = sqlx::query_scalar!(
        "SELECT attempts FROM trust_failure WHERE merchant_id = $1 AND stage = $2",
        merchant as MerchantId,
        stage.as_str(),
    )
    .fetch_optional(sql)
    .await?;
    Ok(attempts.unwrap_or(0))
}

/// Records a failure. It replaces a former one, but that of a score none of counting.
pub(crate) async fn put(
    work: &mut Work,
    merchant: MerchantId,
    stage: FailureStage,
    error: &str,
    (attempts, retry_at): (i32, Option<Timestamp>),
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO trust_failure AS former (merchant_id, stage, epoch, failed_at, error, attempts, retry_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (merchant_id) DO UPDATE
         SET stage = excluded.stage, epoch = excluded.epoch, failed_at = excluded.failed_at, error = excluded.error,
             attempts = excluded.attempts, retry_at = excluded.retry_at
         WHERE former.stage = 'score' OR excluded.stage = 'count'",
        merchant as MerchantId,
        stage.as_str(),
        Epoch::of(now).0,
        now as Timestamp,
        error,
        attempts,
        retry_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Removes the failures, up to an epoch, of stores whose score of that epoch was computed.
pub(crate) async fn remove_scored(
    work: &mut Work,
    stores: &[MerchantId],
    epoch: Epoch,
) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM trust_failure WHERE merchant_id = ANY ($1) AND stage = 'score' AND epoch <= $2",
        stores as &[MerchantId],
        epoch.0,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Removes the failure of a store whose facts were counted. Returns whether there was one.
pub(crate) async fn remove_counted(work: &mut Work, merchant: MerchantId) -> sqlx::Result<bool> {
    let removed = sqlx::query!(
        "DELETE FROM trust_failure WHERE merchant_id = $1 AND stage = 'count'",
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(removed.rows_affected() > 0)
}

/// Returns stores whose facts could not be counted and are to be counted again, after a row, those that have waited the longest
/// first.
pub(crate) async fn uncounted(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", retry_at AS "due_at!: Timestamp" FROM trust_failure
           WHERE retry_at <= $1 AND ($2::timestamptz IS NULL OR (retry_at, merchant_id) > ($2, $3))
           ORDER BY retry_at, merchant_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    let row = |merchant: MerchantId, due_at| SweepRow { merchant, id: merchant.uuid(), due_at };
    Ok(rows.into_iter().map(|it| row(it.merchant, it.due_at)).collect())
}

/// Returns failures, newest first.
pub(crate) async fn list(sql: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Failure>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant!: MerchantId", store.slug AS "slug?", stage AS "stage!: FailureStage",
                  epoch AS "epoch!", failed_at AS "failed_at!: Timestamp", error AS "error!",
                  attempts AS "attempts!", retry_at AS "retry_at?: Timestamp"
           FROM trust_failure LEFT JOIN store USING (merchant_id)
           ORDER BY failed_at DESC, merchant_id LIMIT $1"#,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let failures = rows.into_iter().map(|row| Failure {
        merchant: row.merchant,
        slug: row.slug.unwrap_or_default(),
        stage: row.stage,
        epoch: Epoch(row.epoch),
        failed_at: row.failed_at,
        error: row.error,
        attempts: row.attempts,
        retry_at: row.retry_at,
    });
    Ok(failures.collect())
}

/// Returns the number of failures.
pub(crate) async fn count(sql: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "count!" FROM trust_failure"#).fetch_one(sql).await
}
