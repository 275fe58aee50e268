//! Orders that lower a score, for their merchant. Only days that have such orders are read.

use primitives::{MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

/// Returns orders that were not delivered by their promised time, the newest first. `days` are the beginnings of the days of
/// these times.
pub(crate) async fn late_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT late.order_id AS "order!: OrderId"
           FROM unnest($2::timestamptz[]) AS day (begins_at)
           CROSS JOIN LATERAL (
               SELECT placed.order_id, placed.promised_by FROM placed_order AS placed
               WHERE placed.merchant_id = $1 AND NOT placed.is_sandbox AND placed.status <> 'failed'
                 AND placed.promised_by >= day.begins_at AND placed.promised_by < day.begins_at + interval '24 hours'
                 AND (placed.delivered_at IS NULL OR placed.delivered_at > placed.promised_by)
                 AND NOT EXISTS (
                     SELECT FROM order_history AS ended
                     WHERE ended.merchant_id = $1 AND ended.order_id = placed.order_id
                       AND ended.occurred_at <= placed.promised_by
                       AND ((ended.kind = 'status_changed' AND ended.status = 'canceled')
                         OR (ended.kind = 'lines_canceled' AND ended.actor = 'merchant' AND ended.reason = 'out_of_stock')))
           ) AS late
           ORDER BY late.promised_by DESC, late.order_id LIMIT $3"#,
        merchant as MerchantId,
        days as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns orders of which the merchant canceled units as out of stock, the newest cancellation first. `days` are the
/// beginnings of the days of the cancellations.
pub(crate) async fn short_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT short.order_id AS "order!: OrderId"
           FROM unnest($2::timestamptz[]) AS day (begins_at)
           CROSS JOIN LATERAL (
               SELECT entry.order_id, entry.occurred_at
               FROM order_history AS entry
               JOIN placed_order AS placed ON placed.merchant_id = $1 AND placed.order_id = entry.order_id
               WHERE entry.merchant_id = $1 AND entry.kind = 'lines_canceled' AND entry.actor = 'merchant'
                 AND entry.reason = 'out_of_stock'
                 AND entry.occurred_at >= day.begins_at AND entry.occurred_at < day.begins_at + interval '24 hours'
                 AND NOT placed.is_sandbox AND placed.status <> 'failed'
           ) AS short
           GROUP BY short.order_id ORDER BY max(short.occurred_at) DESC, short.order_id LIMIT $3"#,
        merchant as MerchantId,
        days as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns orders with disputes: those that are not decided, then those that were lost, each the newest first. `days` are the
/// beginnings of the days of the resolutions.
pub(crate) async fn disputed_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT disputed.order_id AS "order!: OrderId"
           FROM (SELECT order_id, opened_at AS at, true AS is_open FROM order_dispute
                 WHERE merchant_id = $1 AND status IN ('open', 'under_review')
                 UNION ALL
                 SELECT lost.order_id, lost.resolved_at, false
                 FROM unnest($2::timestamptz[]) AS day (begins_at)
                 CROSS JOIN LATERAL (
                     SELECT dispute.order_id, dispute.resolved_at FROM order_dispute AS dispute
                     WHERE dispute.merchant_id = $1 AND dispute.status = 'resolved'
                       AND dispute.resolved_at >= day.begins_at
                       AND dispute.resolved_at < day.begins_at + interval '24 hours'
                       AND (dispute.resolution = 'buyer'
                         OR (dispute.resolution = 'agreement' AND dispute.refund_minor > 0))
                 ) AS lost) AS disputed
           JOIN placed_order AS placed ON placed.merchant_id = $1 AND placed.order_id = disputed.order_id
           WHERE NOT placed.is_sandbox AND placed.status <> 'failed'
           GROUP BY disputed.order_id
           ORDER BY bool_or(disputed.is_open) DESC, max(disputed.at) DESC, disputed.order_id LIMIT $3"#,
        merchant as MerchantId,
        days as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}
