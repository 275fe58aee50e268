//! Lists of orders. What a filter leaves open is a limit before or after all orders: plain conditions bound the scan of an index,
//! also in a plan for all values, where `OR` and `coalesce` do not.

use jobs::SweepRow;
use primitives::{CartId, CheckoutId, ConfirmationId, Id, KeyId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::orders;
use crate::{Order, OrderCursor, OrderError, OrderLine, OrderStatus, OrdersFilter};

/// Changed orders that are read and sorted for one page. If more changed, the list is read in its own order: the newest orders
/// are among them.
pub(super) const CHANGED_MAX: i64 = 10_000;
/// The year 2200, after all orders and what belongs to them.
pub(super) const LATEST_MICROS: i64 = 7_258_118_400_000_000;

/// An order and its position in a list.
pub(crate) struct OrderPosition {
    pub(crate) merchant: MerchantId,
    pub(crate) created_at: Timestamp,
    pub(crate) id: OrderId,
}

/// The limits of a filter.
pub(super) struct Limits {
    pub(super) created_min: Timestamp,
    /// Not after `updated_max`: an order does not change before it is placed.
    pub(super) created_max: Timestamp,
    pub(super) updated_max: Timestamp,
    pub(super) after: OrderCursor,
}

impl Limits {
    pub(super) fn of(filter: &OrdersFilter) -> Self {
        let earliest = Timestamp::from_unix_micros(0);
        let latest = Timestamp::from_unix_micros(LATEST_MICROS);
        let first = OrderCursor { created_at: latest, id: OrderId::from_uuid(Uuid::max()) };
        let updated_max = filter.updated_max.unwrap_or(latest);
        Self {
            created_min: filter.created_min.unwrap_or(earliest),
            created_max: filter.created_max.unwrap_or(latest).min(updated_max),
            updated_max,
            after: filter.after.unwrap_or(first),
        }
    }
}

/// Returns the orders of a store that a filter selects, without those of sandboxes, the newest first.
pub(crate) async fn orders_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    if let Some(since) = filter.updated_min
        && count_changed_of_store(sql, merchant, since, filter).await? <= CHANGED_MAX
    {
        return changed_of_store(sql, merchant, since, filter).await;
    }
    match filter.statuses.as_slice() {
        [status] => orders_with_status(sql, merchant, *status, filter).await,
        _ => orders_with_statuses(sql, merchant, filter).await,
    }
}

/// Counts the orders of a store that last changed between the times of a filter, up to one more than are read for a page.
async fn count_changed_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Timestamp,
    filter: &OrdersFilter,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!"
           FROM (SELECT FROM placed_order
                 WHERE merchant_id = $1 AND NOT is_sandbox AND updated_at >= $2 AND updated_at <= $3
                 LIMIT $4) AS changed"#,
        merchant as MerchantId,
        since as Timestamp,
        Limits::of(filter).updated_max as Timestamp,
        CHANGED_MAX + 1,
    )
    .fetch_one(sql)
    .await
}

/// Reads the orders that changed since a time and sorts them (`OFFSET 0`: before anything else is compared).
async fn changed_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Timestamp,
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let limits = Limits::of(filter);
    sqlx::query_as!(
        OrderPosition,
        r#"SELECT merchant_id AS "merchant!: MerchantId", created_at AS "created_at!: Timestamp", order_id AS "id!: OrderId"
           FROM (SELECT merchant_id, created_at, order_id, status FROM placed_order
                 WHERE merchant_id = $1 AND NOT is_sandbox AND updated_at >= $2 AND updated_at <= $3
                 OFFSET 0) AS changed
           WHERE (cardinality($4::text[]) = 0 OR status = ANY($4))
             AND (cardinality($5::uuid[]) = 0 OR order_id = ANY($5))
             AND created_at >= $6 AND created_at <= $7 AND (created_at, order_id) < ($8, $9)
           ORDER BY created_at DESC, order_id DESC OFFSET $10 LIMIT $11"#,
        merchant as MerchantId,
        since as Timestamp,
        limits.updated_max as Timestamp,
        &filter.status_names(),
        &filter.ids as &[OrderId],
        limits.created_min as Timestamp,
        limits.created_max as Timestamp,
        limits.after.created_at as Timestamp,
        limits.after.id as OrderId,
        i64::from(filter.skip),
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

/// Reads the orders of one status, by the index of statuses. Times of changes are no limits here: the index of changes has
/// another order.
async fn orders_with_status(
    sql: &mut PgConnection,
    merchant: MerchantId,
    status: OrderStatus,
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let limits = Limits::of(filter);
    sqlx::query_as!(
        OrderPosition,
        r#"SELECT merchant_id AS "merchant!: MerchantId", created_at AS "created_at!: Timestamp", order_id AS "id!: OrderId"
           FROM placed_order
           WHERE merchant_id = $1 AND NOT is_sandbox AND status = $2
             AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
             AND created_at >= $4 AND created_at <= $5 AND (created_at, order_id) < ($6, $7)
             AND ($8::timestamptz IS NULL OR updated_at >= $8) AND ($9::timestamptz IS NULL OR updated_at <= $9)
           ORDER BY created_at DESC, order_id DESC OFFSET $10 LIMIT $11"#,
        merchant as MerchantId,
        status.as_str(),
        &filter.ids as &[OrderId],
        limits.created_min as Timestamp,
        limits.created_max as Timestamp,
        limits.after.created_at as Timestamp,
        limits.after.id as OrderId,
        filter.updated_min as Option<Timestamp>,
        filter.updated_max as Option<Timestamp>,
        i64::from(filter.skip),
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

async fn orders_with_statuses(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let limits = Limits::of(filter);
    sqlx::query_as!(
        OrderPosition,
        r#"SELECT merchant_id AS "merchant!: MerchantId", created_at AS "created_at!: Timestamp", order_id AS "id!: OrderId"
           FROM placed_order
           WHERE merchant_id = $1 AND NOT is_sandbox
             AND (cardinality($2::text[]) = 0 OR status = ANY($2))
             AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
             AND created_at >= $4 AND created_at <= $5 AND (created_at, order_id) < ($6, $7)
             AND ($8::timestamptz IS NULL OR updated_at >= $8) AND ($9::timestamptz IS NULL OR updated_at <= $9)
           ORDER BY created_at DESC, order_id DESC OFFSET $10 LIMIT $11"#,
        merchant as MerchantId,
        &filter.status_names(),
        &filter.ids as &[OrderId],
        limits.created_min as Timestamp,
        limits.created_max as Timestamp,
        limits.after.created_at as Timestamp,
        limits.after.id as OrderId,
        filter.updated_min as Option<Timestamp>,
        filter.updated_max as Option<Timestamp>,
        i64::from(filter.skip),
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

/// Returns orders of one store by their ids, in no order.
pub(crate) async fn find_many(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<Vec<Order>, OrderError> {
    let rows = orders!(
        "WHERE merchant_id = $1 AND order_id = ANY($2)",
        merchant as MerchantId,
        ids as &[OrderId],
    );
    rows.fetch_all(sql).await?.into_iter().map(Order::try_from).collect()
}

/// Returns the merchant of an order, for requests that name an order without its store.
pub(crate) async fn merchant_of(
    sql: &mut PgConnection,
    id: OrderId,
) -> sqlx::Result<Option<MerchantId>> {
    sqlx::query_scalar!(
        r#"SELECT merchant_id AS "merchant: MerchantId" FROM placed_order WHERE order_id = $1"#,
        id as OrderId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns delivered orders of all stores whose return window has ended, after a row, the oldest first. An order with a return
/// that is not settled, or with an open dispute, is left out.
pub(crate) async fn find_completable(
    sql: &mut PgConnection,
    now: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", order_id AS "id", returnable_until AS "due_at!: Timestamp"
           FROM placed_order
           WHERE status = 'delivered' AND returnable_until <= $1
             AND ($2::timestamptz IS NULL OR (returnable_until, order_id) > ($2, $3))
             AND NOT EXISTS (SELECT FROM order_return AS it
                             WHERE (it.merchant_id, it.order_id) = (placed_order.merchant_id, placed_order.order_id)
                               AND it.status IN ('requested', 'approved', 'in_transit', 'received', 'inspected'))
             AND NOT EXISTS (SELECT FROM order_dispute AS it
                             WHERE (it.merchant_id, it.order_id) = (placed_order.merchant_id, placed_order.order_id)
                               AND it.status IN ('open', 'under_review'))
           ORDER BY returnable_until, order_id LIMIT $4"#,
        now as Timestamp,
        after.map(|row| row.due_at) as Option<Timestamp>,
        after.map(|row| row.id),
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| SweepRow { merchant: row.merchant, id: row.id, due_at: row.due_at })
        .collect())
}
