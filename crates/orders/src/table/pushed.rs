//! Pushed orders.

use std::collections::{HashMap, HashSet};

use database::Work;
use primitives::{MerchantId, OrderId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;

use super::parsed;
use crate::{OrderCursor, OrderError, OrderStatus, PushedOrder, StoredPush};

/// Waits until no other push of this store is in progress.
pub(crate) async fn lock_pushes(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "SELECT pg_advisory_xact_lock(hashtextextended('pushed_orders/' || $1::text, 0))",
        merchant.uuid().to_string(),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the ids of the pushed orders with these external ids.
pub(crate) async fn pushed_ids(
    sql: &mut PgConnection,
    merchant: MerchantId,
    external_ids: &[String],
) -> sqlx::Result<HashMap<String, OrderId>> {
    let rows = sqlx::query!(
        r#"SELECT external_id, order_id AS "id: OrderId" FROM pushed_order
           WHERE merchant_id = $1 AND external_id = ANY($2)"#,
        merchant as MerchantId,
        external_ids,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.external_id, row.id)).collect())
}

/// Returns how many more pushed orders a store may have. The count ends at the maximum.
pub(crate) async fn room_for_pushes(
    work: &mut Work,
    merchant: MerchantId,
    maximum: i64,
) -> sqlx::Result<i64> {
    let stored = sqlx::query_scalar!(
        r#"SELECT count(*) AS "stored!" FROM (SELECT FROM pushed_order WHERE merchant_id = $1 LIMIT $2) AS counted"#,
        merchant as MerchantId,
        maximum,
    )
    .fetch_one(work.sql())
    .await?;
    Ok(maximum - stored)
}

/// Inserts pushed orders with different external ids, or replaces those that differ from what is stored. Returns the ids of
/// those that were written.
pub(crate) async fn put_pushed(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[(OrderId, &PushedOrder)],
) -> Result<HashSet<OrderId>, OrderError> {
    let now = work.now();
    let ids: Vec<OrderId> = orders.iter().map(|(id, _)| *id).collect();
    let external_ids: Vec<String> = orders.iter().map(|(_, it)| it.external_id.clone()).collect();
    let statuses: Vec<String> = orders.iter().map(|(_, it)| it.status.to_string()).collect();
    let currencies: Vec<String> = orders.iter().map(|(_, it)| it.currency.to_string()).collect();
    let totals: Vec<i64> = orders.iter().map(|(_, it)| it.total_minor).collect();
    let lines = orders.iter().map(|(_, it)| serde_json::to_value(&it.lines));
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().map_err(|_| OrderError::Unreadable)?;
    let placed: Vec<Timestamp> = orders.iter().map(|(_, it)| it.placed_at).collect();
    let rows = sqlx::query_scalar!(
        r#"INSERT INTO pushed_order AS stored
               (merchant_id, order_id, external_id, status, currency, total_minor, lines, placed_at, pushed_at)
           SELECT $1, it.*, $2
           FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::jsonb[], $9::timestamptz[]) AS it
           ON CONFLICT (merchant_id, external_id) DO UPDATE
           SET status = excluded.status, currency = excluded.currency, total_minor = excluded.total_minor,
               lines = excluded.lines, placed_at = excluded.placed_at, pushed_at = excluded.pushed_at
           WHERE (stored.status, stored.currency, stored.total_minor, stored.lines, stored.placed_at)
               <> (excluded.status, excluded.currency, excluded.total_minor, excluded.lines, excluded.placed_at)
           RETURNING order_id AS "id: OrderId""#,
        merchant as MerchantId,
        now as Timestamp,
        &ids as &[OrderId],
        &external_ids,
        &statuses,
        &currencies,
        &totals,
        &lines,
        &placed as &[Timestamp],
    )
    .fetch_all(work.sql())
    .await?;
    Ok(rows.into_iter().collect())
}

struct Row {
    id: OrderId,
    external_id: String,
    status: String,
    currency: String,
    total_minor: i64,
    lines: Value,
    placed_at: Timestamp,
    pushed_at: Timestamp,
}

impl TryFrom<Row> for StoredPush {
    type Error = OrderError;
    fn try_from(row: Row) -> Result<Self, OrderError> {
        let order = PushedOrder {
            external_id: row.external_id,
            status: parsed(&row.status, OrderStatus::parse)?,
            currency: row.currency.parse().map_err(|_| OrderError::Unreadable)?,
            total_minor: row.total_minor,
            lines: serde_json::from_value(row.lines).map_err(|_| OrderError::Unreadable)?,
            placed_at: row.placed_at,
        };
        Ok(Self { id: row.id, order, pushed_at: row.pushed_at })
    }
}

/// Selects the columns of `Row`.
macro_rules! pushed {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"SELECT order_id AS "id: OrderId", external_id, status, currency, total_minor,
                  lines, placed_at AS "placed_at: Timestamp",
                  pushed_at AS "pushed_at: Timestamp"
           FROM pushed_order "# + $rest,
            $($argument),*
        )
    };
}

/// Returns the pushed orders of a store after a position, the newest first, each with its position. One that cannot be read is
/// logged and left out.
pub(crate) async fn pushed_orders(
    sql: &mut PgConnection,
    merchant: MerchantId,
    after: Option<OrderCursor>,
    limit: i64,
) -> sqlx::Result<Vec<(OrderCursor, Option<StoredPush>)>> {
    let rows = pushed!(
        "WHERE merchant_id = $1
           AND ($2::timestamptz IS NULL OR (placed_at <= $2 AND (placed_at < $2 OR order_id > $3)))
         ORDER BY placed_at DESC, order_id LIMIT $4",
        merchant as MerchantId,
        after.map(|after| after.created_at) as Option<Timestamp>,
        after.map(|after| after.id) as Option<OrderId>,
        limit,
    );
    let read = |row: Row| {
        let (id, position) = (row.id, OrderCursor { created_at: row.placed_at, id: row.id });
        let log = |error: &OrderError| {
            tracing::error!(%merchant, %id, %error, "a pushed order cannot be read and is left out of the list");
        };
        (position, StoredPush::try_from(row).inspect_err(log).ok())
    };
    Ok(rows.fetch_all(sql).await?.into_iter().map(read).collect())
}

/// Returns the pushed order with this id.
pub(crate) async fn pushed_order(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: OrderId,
) -> Result<Option<StoredPush>, OrderError> {
    let row =
        pushed!("WHERE merchant_id = $1 AND order_id = $2", merchant as MerchantId, id as OrderId,);
    row.fetch_optional(sql).await?.map(StoredPush::try_from).transpose()
}
