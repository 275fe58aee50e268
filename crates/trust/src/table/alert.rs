//! Scores that rose or fell unusually fast.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::{Alert, Epoch};

pub(crate) async fn insert(work: &mut Work, alert: &Alert) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_alert (merchant_id, epoch, revision, former_score, score, created_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        alert.merchant as MerchantId,
        alert.epoch.0,
        alert.revision,
        alert.former_score,
        alert.score,
        alert.created_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns alerts since a time, newest first.
pub(crate) async fn list(
    sql: &mut PgConnection,
    since: Timestamp,
    limit: i64,
) -> sqlx::Result<Vec<Alert>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant!: MerchantId", store.slug AS "slug?", epoch AS "epoch!", revision AS "revision!",
                  former_score AS "former_score!", score AS "score!", created_at AS "created_at!: Timestamp"
           FROM trust_alert LEFT JOIN store USING (merchant_id)
           WHERE created_at >= $1 ORDER BY created_at DESC, merchant_id LIMIT $2"#,
        since as Timestamp,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let alerts = rows.into_iter().map(|row| Alert {
        merchant: row.merchant,
        slug: row.slug.unwrap_or_default(),
        epoch: Epoch(row.epoch),
        revision: row.revision,
        former_score: row.former_score,
        score: row.score,
        created_at: row.created_at,
    });
    Ok(alerts.collect())
}
