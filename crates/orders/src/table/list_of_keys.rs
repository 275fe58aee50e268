//! Lists of the orders that were placed with keys: each is read in the order of an index, by key, and by store if stores are named.

use primitives::{KeyId, MerchantId, OrderId, Timestamp};
use sqlx::PgConnection;

use super::OrderPosition;
use super::list::{CHANGED_MAX, Limits};
use crate::OrdersFilter;

/// Returns the orders that were placed with keys and that a filter selects, the newest first: of these stores, or of all.
pub(crate) async fn orders_of_keys(
    sql: &mut PgConnection,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    if !filter.ids.is_empty() {
        return named_of_keys(sql, stores, keys, filter).await;
    }
    match filter.updated_min {
        Some(since) if count_changed_of_keys(sql, keys, since, filter).await? <= CHANGED_MAX => {
            changed_of_keys(sql, stores, keys, since, filter).await
        }
        _ => newest_of_keys(sql, stores, keys, filter).await,
    }
}

/// Reads the orders of keys that a filter names, by their ids.
async fn named_of_keys(
    sql: &mut PgConnection,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let limits = Limits::of(filter);
    sqlx::query_as!(
        OrderPosition,
        r#"SELECT merchant_id AS "merchant!: MerchantId", created_at AS "created_at!: Timestamp", order_id AS "id!: OrderId"
           FROM placed_order
           WHERE order_id = ANY($4) AND agent_key_id = ANY($2) AND ($1::uuid[] IS NULL OR merchant_id = ANY($1))
             AND (cardinality($3::text[]) = 0 OR status = ANY($3))
             AND created_at >= $5 AND created_at <= $6 AND (created_at, order_id) < ($7, $8)
             AND ($9::timestamptz IS NULL OR updated_at >= $9) AND ($10::timestamptz IS NULL OR updated_at <= $10)
           ORDER BY created_at DESC, order_id DESC OFFSET $11 LIMIT $12"#,
        stores as Option<&[MerchantId]>,
        keys as &[KeyId],
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

/// Counts the orders of keys that last changed between the times of a filter, up to one more than are read for a page.
async fn count_changed_of_keys(
    sql: &mut PgConnection,
    keys: &[KeyId],
    since: Timestamp,
    filter: &OrdersFilter,
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "count!"
           FROM (SELECT FROM unnest($1::uuid[]) AS key (id),
                     LATERAL (SELECT FROM placed_order
                              WHERE agent_key_id = key.id AND updated_at >= $2 AND updated_at <= $3
                              LIMIT $4) AS changed
                 LIMIT $4) AS changed"#,
        keys as &[KeyId],
        since as Timestamp,
        Limits::of(filter).updated_max as Timestamp,
        CHANGED_MAX + 1,
    )
    .fetch_one(sql)
    .await
}

/// Reads the orders of keys that changed since a time and sorts them.
async fn changed_of_keys(
    sql: &mut PgConnection,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    since: Timestamp,
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let limits = Limits::of(filter);
    sqlx::query_as!(
        OrderPosition,
        r#"SELECT changed.merchant_id AS "merchant!: MerchantId", changed.created_at AS "created_at!: Timestamp",
                  changed.order_id AS "id!: OrderId"
           FROM unnest($2::uuid[]) AS key (id),
               LATERAL (SELECT merchant_id, order_id, created_at, status FROM placed_order
                        WHERE agent_key_id = key.id AND updated_at >= $3 AND updated_at <= $4
                        OFFSET 0) AS changed
           WHERE ($1::uuid[] IS NULL OR merchant_id = ANY($1))
             AND (cardinality($5::text[]) = 0 OR status = ANY($5))
             AND created_at >= $6 AND created_at <= $7 AND (created_at, order_id) < ($8, $9)
           ORDER BY changed.created_at DESC, changed.order_id DESC OFFSET $10 LIMIT $11"#,
        stores as Option<&[MerchantId]>,
        keys as &[KeyId],
        since as Timestamp,
        limits.updated_max as Timestamp,
        &filter.status_names(),
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

/// Reads the newest orders of keys, at the stores and with the statuses that `$from` and `$where` add. Each key at each store
/// with each status is bounded by itself, so that the cost does not grow with the orders of the account. With `= ANY` no index
/// would have the order of the list, and all orders of a key would be read and sorted.
macro_rules! newest {
    ($sql:expr, $keys:expr, $filter:expr, $from:literal, $where:literal $(, $argument:expr)*) => {{
        let limits = Limits::of($filter);
        sqlx::query_as!(
            OrderPosition,
            r#"SELECT found.merchant_id AS "merchant!: MerchantId", found.created_at AS "created_at!: Timestamp",
                      found.order_id AS "id!: OrderId"
               FROM unnest($1::uuid[]) AS key (id), "#
                + $from
                + " LATERAL (
                      SELECT merchant_id, order_id, created_at FROM placed_order
                      WHERE agent_key_id = key.id "
                + $where
                + " AND created_at >= $2 AND created_at <= $3 AND (created_at, order_id) < ($4, $5)
                        AND ($6::timestamptz IS NULL OR updated_at >= $6)
                        AND ($7::timestamptz IS NULL OR updated_at <= $7)
                      ORDER BY created_at DESC, order_id DESC LIMIT $8::bigint + $9::bigint) AS found
                   ORDER BY found.created_at DESC, found.order_id DESC OFFSET $8 LIMIT $9",
            $keys as &[KeyId],
            limits.created_min as Timestamp,
            limits.created_max as Timestamp,
            limits.after.created_at as Timestamp,
            limits.after.id as OrderId,
            $filter.updated_min as Option<Timestamp>,
            $filter.updated_max as Option<Timestamp>,
            i64::from($filter.skip),
            i64::from($filter.limit),
            $($argument),*
        )
        .fetch_all($sql)
        .await
    }};
}

/// Reads the newest orders of keys: of these stores, or of all.
async fn newest_of_keys(
    sql: &mut PgConnection,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> sqlx::Result<Vec<OrderPosition>> {
    let statuses = filter.status_names();
    match (stores, statuses.is_empty()) {
        (None, true) => newest!(sql, keys, filter, "", ""),
        (None, false) => newest!(
            sql,
            keys,
            filter,
            "(SELECT DISTINCT status FROM unnest($10::text[]) AS it (status)) AS wanted,",
            "AND status = wanted.status",
            &statuses
        ),
        (Some(stores), true) => newest!(
            sql,
            keys,
            filter,
            "(SELECT DISTINCT id FROM unnest($10::uuid[]) AS it (id)) AS store,",
            "AND merchant_id = store.id",
            stores as &[MerchantId]
        ),
        (Some(stores), false) => newest!(
            sql,
            keys,
            filter,
            "(SELECT DISTINCT id FROM unnest($10::uuid[]) AS it (id)) AS store,
             (SELECT DISTINCT status FROM unnest($11::text[]) AS it (status)) AS wanted,",
            "AND merchant_id = store.id AND status = wanted.status",
            stores as &[MerchantId],
            &statuses
        ),
    }
}
