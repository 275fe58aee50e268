//! Stores whose facts could not be counted, or whose score could not be computed.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::{Epoch, Failure, FailureStage};

/// Records a failure. It replaces a former one, but that of a score none of counting.
pub(crate) async fn put(
    work: &mut Work,
    merchant: MerchantId,
    stage: FailureStage,
    error: &str,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO trust_failure AS former (merchant_id, stage, epoch, failed_at, error) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (merchant_id) DO UPDATE
         SET stage = excluded.stage, epoch = excluded.epoch, failed_at = excluded.failed_at, error = excluded.error
         WHERE former.stage = 'score' OR excluded.stage = 'count'",
        merchant as MerchantId,
        stage.as_str(),
        Epoch::of(now).0,
        now as Timestamp,
        error,
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

/// Removes the failure of a store whose facts were counted.
pub(crate) async fn remove_counted(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "DELETE FROM trust_failure WHERE merchant_id = $1 AND stage = 'count'",
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns failures, newest first.
pub(crate) async fn list(sql: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Failure>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant!: MerchantId", store.slug AS "slug?", stage AS "stage!: FailureStage",
                  epoch AS "epoch!", failed_at AS "failed_at!: Timestamp", error AS "error!"
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
    });
    Ok(failures.collect())
}

/// Returns the number of failures.
pub(crate) async fn count(sql: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar!(r#"SELECT count(*) AS "count!" FROM trust_failure"#).fetch_one(sql).await
}
