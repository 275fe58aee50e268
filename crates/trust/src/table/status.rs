//! What operators see of scores: how far they are, and both methodologies side by side.

use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::v41::Tier;
use crate::{Comparison, Epoch, MethodologyVersion, Shadow, TrustCounts};

/// Counts stores by their standing, and what waits. Standings that were computed before `old_before` are old.
pub(crate) async fn counts(
    sql: &mut PgConnection,
    now: Timestamp,
    old_before: Timestamp,
) -> sqlx::Result<TrustCounts> {
    sqlx::query_as!(
        TrustCounts,
        r#"SELECT count(*) AS "stores!",
                  count(*) FILTER (WHERE score IS NOT NULL) AS "scored!",
                  count(*) FILTER (WHERE score IS NOT NULL AND provisional) AS "provisional!",
                  count(*) FILTER (WHERE score < $1) AS "suspended!",
                  count(*) FILTER (WHERE standing.computed_at < $3 AND store.status <> 'closed'
                                     AND quality.merchant_id IS NOT NULL) AS "old_standings!",
                  (SELECT count(*) FROM trust_failure) AS "failing!",
                  (SELECT count(*) FROM (SELECT FROM trust_stale_day WHERE due_at <= $2 LIMIT 100000) AS due)
                      AS "stale_days!"
           FROM store
           LEFT JOIN standing USING (merchant_id)
           LEFT JOIN catalog_quality AS quality USING (merchant_id)"#,
        merchants::SUSPENSION_THRESHOLD,
        now as Timestamp,
        old_before as Timestamp,
    )
    .fetch_one(sql)
    .await
}

/// Counts the standings of stores that are scored that were computed before a time.
pub(crate) async fn old_standings(sql: &mut PgConnection, before: Timestamp) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "old!"
           FROM standing
           JOIN store USING (merchant_id)
           JOIN catalog_quality USING (merchant_id)
           WHERE standing.computed_at < $1 AND store.status <> 'closed'"#,
        before as Timestamp,
    )
    .fetch_one(sql)
    .await
}

/// Returns the methodology of the newest score: that of the store with the newest standing.
pub(crate) async fn newest_methodology(
    sql: &mut PgConnection,
    current: Epoch,
) -> sqlx::Result<Option<MethodologyVersion>> {
    sqlx::query_scalar!(
        r#"SELECT scored.methodology AS "methodology!: MethodologyVersion"
           FROM (SELECT standing.merchant_id FROM standing
                 WHERE EXISTS (SELECT FROM trust_detail AS detail WHERE detail.merchant_id = standing.merchant_id)
                 ORDER BY computed_at DESC LIMIT 1) AS newest
           JOIN trust_score AS scored ON scored.merchant_id = newest.merchant_id AND scored.epoch <= $1
           ORDER BY scored.epoch DESC, scored.revision DESC LIMIT 1"#,
        current.0,
    )
    .fetch_optional(sql)
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
