//! What belongs to the orders of keys. The newest orders of each key bound the cost, however many it has; if only what changed
//! since a time is asked for, those that changed last. No part of an order changes without the order. Each is read in the order of
//! an index: by `created_at` alone, and by `updated_at` with both limits, or the planner reads all orders of a key.

use primitives::{FulfillmentId, KeyId, MerchantId, OrderId, ReturnId, Timestamp};
use sqlx::PgConnection;

use crate::of_agent::{ORDERS_MAX, PartsFilter};
use crate::{ReturnOutcome, ReturnStatus};

/// Returns the fulfillments that a filter selects, the newest first.
pub(crate) async fn fulfillments_of_keys(
    sql: &mut PgConnection,
    merchant: MerchantId,
    keys: &[KeyId],
    filter: &PartsFilter<FulfillmentId>,
) -> sqlx::Result<Vec<(OrderId, FulfillmentId)>> {
    let rows = sqlx::query!(
        r#"SELECT part.order_id AS "order!: OrderId", part.fulfillment_id AS "id!: FulfillmentId"
           FROM unnest($2::uuid[]) AS key (id),
               LATERAL ((SELECT order_id FROM placed_order
                         WHERE $7::timestamptz IS NULL AND agent_key_id = key.id AND merchant_id = $1
                           AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                         ORDER BY created_at DESC LIMIT $11)
                        UNION ALL
                        (SELECT order_id FROM placed_order
                         WHERE agent_key_id = key.id AND updated_at BETWEEN $7 AND 'infinity' AND merchant_id = $1
                           AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                         ORDER BY updated_at DESC, order_id LIMIT $11)) AS placed,
               LATERAL (SELECT order_id, fulfillment_id, shipped_at FROM order_fulfillment
                        WHERE merchant_id = $1 AND order_id = placed.order_id
                          AND (cardinality($4::uuid[]) = 0 OR fulfillment_id = ANY($4))
                          AND ($5::timestamptz IS NULL OR shipped_at >= $5)
                          AND ($6::timestamptz IS NULL OR shipped_at <= $6)
                          AND ($7::timestamptz IS NULL OR coalesce(delivered_at, shipped_at) >= $7)
                          AND ($8::timestamptz IS NULL OR coalesce(delivered_at, shipped_at) <= $8)) AS part
           ORDER BY part.shipped_at DESC, part.fulfillment_id DESC OFFSET $9 LIMIT $10"#,
        merchant as MerchantId,
        keys as &[KeyId],
        &filter.orders as &[OrderId],
        &filter.ids as &[FulfillmentId],
        filter.created_min as Option<Timestamp>,
        filter.created_max as Option<Timestamp>,
        filter.updated_min as Option<Timestamp>,
        filter.updated_max as Option<Timestamp>,
        i64::from(filter.skip),
        i64::from(filter.limit),
        ORDERS_MAX,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.order, row.id)).collect())
}

/// Returns the returns that a filter selects, the newest first.
pub(crate) async fn returns_of_keys(
    sql: &mut PgConnection,
    merchant: MerchantId,
    keys: &[KeyId],
    filter: &PartsFilter<ReturnId>,
    statuses: &[ReturnStatus],
    outcomes: &[ReturnOutcome],
) -> sqlx::Result<Vec<(OrderId, ReturnId)>> {
    let statuses: Vec<String> = statuses.iter().map(ToString::to_string).collect();
    let outcomes: Vec<String> = outcomes.iter().map(ToString::to_string).collect();
    let rows = sqlx::query!(
        r#"SELECT part.order_id AS "order!: OrderId", part.return_id AS "id!: ReturnId"
           FROM unnest($2::uuid[]) AS key (id),
               LATERAL ((SELECT order_id FROM placed_order
                         WHERE $9::timestamptz IS NULL AND agent_key_id = key.id AND merchant_id = $1
                           AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                         ORDER BY created_at DESC LIMIT $13)
                        UNION ALL
                        (SELECT order_id FROM placed_order
                         WHERE agent_key_id = key.id AND updated_at BETWEEN $9 AND 'infinity' AND merchant_id = $1
                           AND (cardinality($3::uuid[]) = 0 OR order_id = ANY($3))
                         ORDER BY updated_at DESC, order_id LIMIT $13)) AS placed,
               LATERAL (SELECT order_id, return_id, requested_at FROM order_return
                        WHERE merchant_id = $1 AND order_id = placed.order_id
                          AND (cardinality($4::uuid[]) = 0 OR return_id = ANY($4))
                          AND (cardinality($5::text[]) = 0 OR status = ANY($5))
                          AND (cardinality($6::text[]) = 0 OR outcome = ANY($6))
                          AND ($7::timestamptz IS NULL OR requested_at >= $7)
                          AND ($8::timestamptz IS NULL OR requested_at <= $8)
                          AND ($9::timestamptz IS NULL OR updated_at >= $9)
                          AND ($10::timestamptz IS NULL OR updated_at <= $10)) AS part
           ORDER BY part.requested_at DESC, part.return_id DESC OFFSET $11 LIMIT $12"#,
        merchant as MerchantId,
        keys as &[KeyId],
        &filter.orders as &[OrderId],
        &filter.ids as &[ReturnId],
        &statuses,
        &outcomes,
        filter.created_min as Option<Timestamp>,
        filter.created_max as Option<Timestamp>,
        filter.updated_min as Option<Timestamp>,
        filter.updated_max as Option<Timestamp>,
        i64::from(filter.skip),
        i64::from(filter.limit),
        ORDERS_MAX,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.order, row.id)).collect())
}

/// Returns the orders that were placed with keys and whose ids are between a first and a last one, at most a hundred.
pub(crate) async fn orders_between(
    sql: &mut PgConnection,
    merchant: MerchantId,
    keys: &[KeyId],
    first: &[OrderId],
    last: &[OrderId],
) -> sqlx::Result<Vec<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT placed_order.order_id AS "order: OrderId"
           FROM unnest($3::uuid[], $4::uuid[]) AS wanted (first, last)
           JOIN placed_order ON merchant_id = $1 AND order_id BETWEEN wanted.first AND wanted.last
           WHERE agent_key_id = ANY($2) LIMIT 100"#,
        merchant as MerchantId,
        keys as &[KeyId],
        first as &[OrderId],
        last as &[OrderId],
    )
    .fetch_all(sql)
    .await
}
