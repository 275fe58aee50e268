//! Statistics of deliveries.

use primitives::Timestamp;
use sqlx::PgConnection;

use crate::WebhookStats;

/// Deliveries of events since `oldest` are counted.
///
/// A store waits if it is due and nobody has claimed it, or if its owner has crashed. If it has an owner, or a wake that is not
/// processed, its endpoints wait: each whose circuit is closed since its first delivery is due. While that one is started,
/// the endpoint waits for its receiver, as long as results are recorded: successes once a minute. Of wakes the oldest are looked at,
/// and of more than five thousand owned stores some, others each time.
///
/// The first delivery of an endpoint is found by an index, so that what is read does not grow with what waits.
pub(crate) async fn webhook_stats(
    sql: &mut PgConnection,
    now: Timestamp,
    oldest: Timestamp,
) -> sqlx::Result<WebhookStats> {
    let row = sqlx::query!(
        r#"WITH endpoints AS (
               SELECT count(*) FILTER (WHERE status = 'enabled') AS enabled,
                      count(*) FILTER (WHERE disabled_reason = 'merchant') AS by_merchant,
                      count(*) FILTER (WHERE disabled_reason = 'gone') AS gone,
                      count(*) FILTER (WHERE disabled_reason = 'failing') AS failing
               FROM webhook_endpoint),
           waiting AS (
               SELECT min(due_at) AS since FROM webhook_queue WHERE due_at <= $1
               UNION ALL
               SELECT min(worker.lease_until) FROM webhook_worker AS worker
               WHERE worker.lease_until <= $1
                 AND EXISTS (SELECT FROM webhook_queue AS queue WHERE queue.owner = worker.owner)
               UNION ALL
               SELECT min(CASE WHEN first.starts > first.attempts
                               THEN greatest(first.due_at, health.last_attempt_at + interval '1 minute')
                               ELSE first.due_at END)
               FROM ((SELECT merchant_id FROM webhook_queue WHERE owner IS NOT NULL
                      ORDER BY hashtextextended(merchant_id::text, extract(epoch FROM $1)::bigint) LIMIT 5000)
                     UNION
                     (SELECT merchant_id FROM webhook_wake ORDER BY wake_id LIMIT 100)) AS store
               JOIN webhook_endpoint AS endpoint
                 ON endpoint.merchant_id = store.merchant_id AND endpoint.status = 'enabled'
               LEFT JOIN webhook_health AS health
                 ON health.merchant_id = endpoint.merchant_id AND health.endpoint_id = endpoint.endpoint_id
               CROSS JOIN LATERAL (
                   SELECT delivery.due_at, delivery.attempts, delivery.starts FROM webhook_delivery AS delivery
                   WHERE delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
                     AND delivery.dead_at IS NULL AND delivery.due_at <= $1
                   ORDER BY delivery.due_at LIMIT 1) AS first
               WHERE health.probe_at IS NULL)
           SELECT (SELECT count(*) FROM (SELECT FROM webhook_delivery WHERE dead_at IS NULL AND event_at >= $3
                                         LIMIT $2) AS counted) AS "pending!",
                  (SELECT count(*) FROM (SELECT FROM webhook_delivery WHERE dead_at IS NOT NULL AND event_at >= $3
                                         LIMIT $2) AS counted) AS "dead!",
                  coalesce(extract(epoch FROM $1 - (SELECT min(since) FROM waiting)), 0)::float8 AS "lag_seconds!",
                  (SELECT count(*) FROM webhook_health AS health JOIN webhook_endpoint AS endpoint USING (merchant_id, endpoint_id)
                   WHERE health.probe_at IS NOT NULL AND endpoint.status = 'enabled') AS "open_circuits!",
                  (SELECT count(*) FROM webhook_worker WHERE lease_until > $1) AS "dispatchers!",
                  enabled AS "enabled!", by_merchant AS "by_merchant!", gone AS "gone!", failing AS "failing!"
           FROM endpoints"#,
        now as Timestamp,
        WebhookStats::COUNT_MAX,
        oldest as Timestamp,
    )
    .fetch_one(sql)
    .await?;
    Ok(WebhookStats {
        pending: row.pending,
        dead: row.dead,
        lag_seconds: row.lag_seconds.max(0.0),
        enabled_endpoints: row.enabled,
        disabled_by_merchant: row.by_merchant,
        disabled_gone: row.gone,
        disabled_failing: row.failing,
        open_circuits: row.open_circuits,
        dispatchers: row.dispatchers,
    })
}

/// Counts the deliveries that began more often than they failed, of stores whose owner has a valid lease. Of each
/// endpoint only the first `limit` by due time are looked at, a dispatcher loads at most as many: it starts no others. One
/// whose attempt panicked is left out while it is not due.
pub(crate) async fn started(
    sql: &mut PgConnection,
    now: Timestamp,
    limit: i64,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "started!"
           FROM webhook_worker AS worker
           JOIN webhook_queue AS queue ON queue.owner = worker.owner
           JOIN webhook_endpoint AS endpoint ON endpoint.merchant_id = queue.merchant_id
           CROSS JOIN LATERAL (
               SELECT delivery.attempts, delivery.starts FROM webhook_delivery AS delivery
               WHERE delivery.merchant_id = endpoint.merchant_id AND delivery.endpoint_id = endpoint.endpoint_id
                 AND delivery.dead_at IS NULL AND delivery.due_at <= $1
               ORDER BY delivery.due_at LIMIT $2) AS first
           WHERE worker.lease_until > $1 AND first.starts > first.attempts"#,
        now as Timestamp,
        limit,
    )
    .fetch_one(sql)
    .await
}
