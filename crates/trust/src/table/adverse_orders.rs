//! Orders and checkouts that lower a score, for their merchant. Only days that have such facts are read.

use primitives::{CheckoutId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

use crate::Day;

/// Returns the ends of the days that begin at these times.
fn ends(days: &[Timestamp]) -> Vec<Timestamp> {
    days.iter().map(|day| Day::of(*day).end()).collect()
}

/// Returns orders that are late, the newest first: those that were not delivered in time, and those of which the merchant
/// canceled units. `days` are the beginnings of the days on which they became it.
pub(crate) async fn late_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT late.order_id AS "order!: OrderId"
           FROM unnest($2::timestamptz[], $3::timestamptz[]) AS day (begins_at, ends_at)
           CROSS JOIN LATERAL (
               SELECT order_id, at FROM trust_late_order
               WHERE merchant_id = $1 AND at >= day.begins_at AND at < day.ends_at
               ORDER BY at DESC, order_id LIMIT $4) AS late
           ORDER BY late.at DESC, late.order_id LIMIT $4"#,
        merchant as MerchantId,
        days as &[Timestamp],
        &ends(days) as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns orders of which the merchant canceled units for a reason of its own, the newest first. Such orders are late: `days`
/// are the beginnings of the days on which they became it.
pub(crate) async fn merchant_fault_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT late.order_id AS "order!: OrderId"
           FROM unnest($2::timestamptz[], $3::timestamptz[]) AS day (begins_at, ends_at)
           CROSS JOIN LATERAL (
               SELECT order_id, at FROM trust_late_order AS late
               WHERE merchant_id = $1 AND at >= day.begins_at AND at < day.ends_at
                 AND EXISTS (SELECT FROM trust_cancellation AS canceled
                             WHERE canceled.merchant_id = $1 AND canceled.order_id = late.order_id AND canceled.is_merchant_fault)
               ORDER BY at DESC, order_id LIMIT $4) AS late
           ORDER BY late.at DESC, late.order_id LIMIT $4"#,
        merchant as MerchantId,
        days as &[Timestamp],
        &ends(days) as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns orders of which the merchant canceled units as out of stock, the newest first. `days` are the beginnings of the days
/// of the first such cancellation.
pub(crate) async fn out_of_stock_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT short.order_id AS "order!: OrderId"
           FROM unnest($2::timestamptz[], $3::timestamptz[]) AS day (begins_at, ends_at)
           CROSS JOIN LATERAL (
               SELECT order_id, at FROM trust_out_of_stock_order
               WHERE merchant_id = $1 AND at >= day.begins_at AND at < day.ends_at
               ORDER BY at DESC, order_id LIMIT $4) AS short
           ORDER BY short.at DESC, short.order_id LIMIT $4"#,
        merchant as MerchantId,
        days as &[Timestamp],
        &ends(days) as &[Timestamp],
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
           FROM (SELECT dispute.order_id, dispute.opened_at AS at, true AS is_open
                 FROM order_dispute AS dispute
                 JOIN trust_order AS placed ON placed.merchant_id = $1 AND placed.order_id = dispute.order_id
                 WHERE dispute.merchant_id = $1 AND dispute.status IN ('open', 'under_review') AND placed.status <> 'failed'
                 UNION ALL
                 SELECT lost.order_id, lost.at, false
                 FROM unnest($2::timestamptz[], $3::timestamptz[]) AS day (begins_at, ends_at)
                 CROSS JOIN LATERAL (
                     SELECT order_id, at FROM trust_lost_dispute
                     WHERE merchant_id = $1 AND at >= day.begins_at AND at < day.ends_at
                     ORDER BY at DESC, order_id LIMIT $4) AS lost) AS disputed
           GROUP BY disputed.order_id
           ORDER BY bool_or(disputed.is_open) DESC, max(disputed.at) DESC, disputed.order_id LIMIT $4"#,
        merchant as MerchantId,
        days as &[Timestamp],
        &ends(days) as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}

/// Returns checkouts of which another price was charged than quoted, the newest first. `days` are the beginnings of the days of the
/// first evidence of another price.
pub(crate) async fn mispriced_checkouts(
    sql: &mut PgConnection,
    merchant: MerchantId,
    days: &[Timestamp],
    limit: i64,
) -> sqlx::Result<Vec<CheckoutId>> {
    sqlx::query_scalar!(
        r#"SELECT price.checkout_id AS "checkout!: CheckoutId"
           FROM unnest($2::timestamptz[], $3::timestamptz[]) AS day (begins_at, ends_at)
           CROSS JOIN LATERAL (
               SELECT checkout_id, min(at) AS at FROM trust_price
               WHERE merchant_id = $1 AND at >= day.begins_at AND at < day.ends_at AND is_different
               GROUP BY checkout_id ORDER BY min(at) DESC, checkout_id LIMIT $4) AS price
           GROUP BY price.checkout_id
           ORDER BY min(price.at) DESC, price.checkout_id LIMIT $4"#,
        merchant as MerchantId,
        days as &[Timestamp],
        &ends(days) as &[Timestamp],
        limit,
    )
    .fetch_all(sql)
    .await
}
