//! Lists of orders. Optional conditions are written so that the columns before them in an index still bound the scan.

use jobs::SweepRow;
use primitives::{CartId, CheckoutId, ConfirmationId, KeyId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::orders;
use crate::{Order, OrderError, OrderLine, OrdersFilter};

/// Returns the position of the page after which the filter selects.
fn position(filter: &OrdersFilter) -> (Option<Timestamp>, Option<OrderId>) {
    (filter.after.map(|after| after.created_at), filter.after.map(|after| after.id))
}

/// Returns the orders of a store that a filter selects, without those of sandboxes, the newest first.
pub(crate) async fn orders_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &OrdersFilter,
) -> Result<Vec<Order>, OrderError> {
    let (after_time, after_id) = position(filter);
    let rows = match filter.statuses.as_slice() {
        // A constant status, so that the index by status applies.
        [status] => {
            orders!(
                "WHERE merchant_id = $1 AND NOT is_sandbox AND status = $2
                   AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                   AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at <= $5)
                   AND ($6::timestamptz IS NULL OR updated_at >= $6) AND ($7::timestamptz IS NULL OR updated_at <= $7)
                   AND ($8::timestamptz IS NULL OR (created_at, order_id) < ($8, $9))
                 ORDER BY created_at DESC, order_id DESC OFFSET $10 LIMIT $11",
                merchant as MerchantId,
                status.as_str(),
                &filter.ids as &[OrderId],
                filter.created_min as Option<Timestamp>,
                filter.created_max as Option<Timestamp>,
                filter.updated_min as Option<Timestamp>,
                filter.updated_max as Option<Timestamp>,
                after_time as Option<Timestamp>,
                after_id as Option<OrderId>,
                i64::from(filter.skip),
                i64::from(filter.limit),
            )
            .fetch_all(sql)
            .await?
        }
        _ => {
            orders!(
                "WHERE merchant_id = $1 AND NOT is_sandbox
                   AND (cardinality($2::text[]) = 0 OR status = ANY($2))
                   AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                   AND ($4::timestamptz IS NULL OR created_at >= $4) AND ($5::timestamptz IS NULL OR created_at <= $5)
                   AND ($6::timestamptz IS NULL OR updated_at >= $6) AND ($7::timestamptz IS NULL OR updated_at <= $7)
                   AND ($8::timestamptz IS NULL OR (created_at, order_id) < ($8, $9))
                 ORDER BY created_at DESC, order_id DESC OFFSET $10 LIMIT $11",
                merchant as MerchantId,
                &filter.status_names(),
                &filter.ids as &[OrderId],
                filter.created_min as Option<Timestamp>,
                filter.created_max as Option<Timestamp>,
                filter.updated_min as Option<Timestamp>,
                filter.updated_max as Option<Timestamp>,
                after_time as Option<Timestamp>,
                after_id as Option<OrderId>,
                i64::from(filter.skip),
                i64::from(filter.limit),
            )
            .fetch_all(sql)
            .await?
        }
    };
    rows.into_iter().map(Order::try_from).collect()
}

/// Returns the orders that were placed with keys and that a filter selects, the newest first: of these stores, or of all. Each
/// key is bounded by itself, so that the cost does not grow with the orders of the account.
pub(crate) async fn orders_of_keys(
    sql: &mut PgConnection,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<(MerchantId, OrderId)>> {
    let (after_time, after_id) = position(filter);
    let statuses = filter.status_names();
    let rows = sqlx::query!(
        r#"SELECT found.merchant_id AS "merchant!: MerchantId", found.order_id AS "order!: OrderId"
           FROM unnest($2::uuid[]) AS key (id),
               LATERAL (SELECT merchant_id, order_id, created_at FROM placed_order
                        WHERE agent_key_id = key.id AND ($1::uuid[] IS NULL OR merchant_id = ANY($1))
                          AND (cardinality($3::text[]) = 0 OR status = ANY($3))
                          AND (cardinality($4::uuid[]) = 0 OR order_id = ANY($4))
                          AND ($5::timestamptz IS NULL OR created_at >= $5)
                          AND ($6::timestamptz IS NULL OR created_at <= $6)
                          AND ($7::timestamptz IS NULL OR updated_at >= $7)
                          AND ($8::timestamptz IS NULL OR updated_at <= $8)
                          AND ($9::timestamptz IS NULL OR (created_at, order_id) < ($9, $10))
                        ORDER BY created_at DESC, order_id DESC LIMIT $11::bigint + $12::bigint) AS found
           ORDER BY found.created_at DESC, found.order_id DESC OFFSET $11 LIMIT $12"#,
        stores as Option<&[MerchantId]>,
        keys as &[KeyId],
        &statuses,
        &filter.ids as &[OrderId],
        filter.created_min as Option<Timestamp>,
        filter.created_max as Option<Timestamp>,
        filter.updated_min as Option<Timestamp>,
        filter.updated_max as Option<Timestamp>,
        after_time as Option<Timestamp>,
        after_id as Option<OrderId>,
        i64::from(filter.skip),
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.order)).collect())
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

/// Returns delivered orders of all stores whose return window has ended, after a row, the oldest first.
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
