//! What operators see of scores: how far they are, and both methodologies side by side.

use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::v41::Tier;
use crate::{Comparison, Shadow, TrustCounts};

/// Counts stores by their standing, and what waits.
pub(crate) async fn counts(sql: &mut PgConnection, now: Timestamp) -> sqlx::Result<TrustCounts> {
    sqlx::query_as!(
        TrustCounts,
        r#"SELECT count(*) AS "stores!",
                  count(*) FILTER (WHERE score IS NOT NULL) AS "scored!",
                  count(*) FILTER (WHERE score IS NOT NULL AND provisional) AS "provisional!",
                  count(*) FILTER (WHERE score < $1) AS "suspended!",
                  (SELECT count(*) FROM (SELECT FROM trust_stale_day WHERE due_at <= $2 LIMIT 100000) AS due)
                      AS "stale_days!"
           FROM store LEFT JOIN standing USING (merchant_id)"#,
        merchants::SUSPENSION_THRESHOLD,
        now as Timestamp,
    )
    .fetch_one(sql)
    .await
}

struct ComparisonRow {
    merchant: MerchantId,
    slug: String,
    score: Option<f64>,
    v41_score: Option<f64>,
    v41_tier: Option<Tier>,
}

/// Returns the newest scores of stores after a slug in the order of their slugs, or of the store with this slug. Stores
/// without a score in these epochs are left out.
pub(crate) async fn comparisons(
    sql: &mut PgConnection,
    only: Option<&str>,
    after: &str,
    (first, last): (i64, i64),
    limit: i64,
) -> sqlx::Result<Vec<Comparison>> {
    let rows = sqlx::query_as!(
        ComparisonRow,
        r#"SELECT named.merchant_id AS "merchant!: MerchantId", named.slug AS "slug!", scored.score AS "score?",
                  scored.v41_score AS "v41_score?", scored.v41_tier AS "v41_tier?: Tier"
           FROM platform.store_slug AS named
           CROSS JOIN LATERAL (
               SELECT score, v41_score, v41_tier FROM trust_score
               WHERE trust_score.merchant_id = named.merchant_id AND epoch BETWEEN $3 AND $4
               ORDER BY epoch DESC, revision DESC LIMIT 1
           ) AS scored
           WHERE named.slug > $2 AND ($1::text IS NULL OR named.slug = $1)
           ORDER BY named.slug LIMIT $5"#,
        only,
        after,
        first,
        last,
        limit,
    )
    .fetch_all(sql)
    .await?;
    let comparison = |row: ComparisonRow| {
        let ComparisonRow { merchant, slug, score, v41_score, v41_tier } = row;
        let shadow = v41_tier.map(|tier| Shadow::outline(tier, v41_score));
        Comparison { merchant, slug, score, shadow }
    };
    Ok(rows.into_iter().map(comparison).collect())
}
