//! What operators see of scores: how far they are, and both methodologies side by side.

use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;

use crate::v41::Tier;
use crate::{Comparison, Epoch, MethodologyVersion, Shadow, TrustCounts};

/// Counts stores by their standing. Standings that were computed before `old_before` are old.
pub(crate) async fn counts(
    sql: &mut PgConnection,
    old_before: Timestamp,
) -> sqlx::Result<TrustCounts> {
    sqlx::query_as!(
        TrustCounts,
        r#"SELECT count(*) AS "stores!",
                  count(*) FILTER (WHERE score IS NOT NULL) AS "scored!",
                  count(*) FILTER (WHERE score IS NOT NULL AND provisional) AS "provisional!",
                  count(*) FILTER (WHERE score < $1) AS "suspended!",
                  count(*) FILTER (WHERE standing.computed_at < $2 AND (store.status <> 'closed' OR store.status_by_owner)
                                     AND NOT quality.is_outdated) AS "old_standings!"
           FROM store
           LEFT JOIN standing USING (merchant_id)
           LEFT JOIN catalog_quality AS quality USING (merchant_id)"#,
        merchants::SUSPENSION_THRESHOLD,
        old_before as Timestamp,
    )
    .fetch_one(sql)
    .await
}

/// Counts the days whose facts have to be counted again, up to 100,000.
pub(crate) async fn stale_days(sql: &mut PgConnection, now: Timestamp) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "due!" FROM (SELECT FROM trust_stale_day WHERE due_at <= $1 LIMIT 100000) AS due"#,
        now as Timestamp,
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
           JOIN catalog_quality AS quality USING (merchant_id)
           WHERE standing.computed_at < $1 AND (store.status <> 'closed' OR store.status_by_owner) AND NOT quality.is_outdated"#,
        before as Timestamp,
    )
    .fetch_one(sql)
    .await
}

/// Returns the methodology of the newest score of some stores.
pub(crate) async fn newest_methodology(
    sql: &mut PgConnection,
    current: Epoch,
) -> sqlx::Result<Option<MethodologyVersion>> {
    sqlx::query_scalar!(
        r#"SELECT scored.methodology AS "methodology!: MethodologyVersion"
           FROM (SELECT merchant_id FROM trust_detail LIMIT 100) AS sampled
           CROSS JOIN LATERAL (SELECT methodology, epoch, computed_at FROM trust_score
                               WHERE trust_score.merchant_id = sampled.merchant_id AND epoch <= $1
                               ORDER BY epoch DESC, revision DESC LIMIT 1) AS scored
           ORDER BY scored.computed_at DESC LIMIT 1"#,
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
