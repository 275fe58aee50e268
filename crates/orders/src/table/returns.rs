//! Returns.

use database::Work;
use jobs::SweepRow;
use primitives::{Id, MerchantId, OrderId, ReturnId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::details::ByOrder;
use super::list::LATEST_MICROS;
use super::parsed;
use crate::{
    DeclineReason, OrderError, OrderReturn, ReturnCursor, ReturnOutcome, ReturnStatus,
    ReturnsFilter,
};

struct Row {
    order: OrderId,
    id: ReturnId,
    status: String,
    outcome: String,
    items: Value,
    customer_note: Option<String>,
    instructions: Option<String>,
    decline_reason: Option<String>,
    carrier: Option<String>,
    tracking_number: Option<String>,
    restocking_fee_minor: Option<i64>,
    refund_minor: Option<i64>,
    requested_at: Timestamp,
    updated_at: Timestamp,
    received_at: Option<Timestamp>,
    settled_at: Option<Timestamp>,
}

impl TryFrom<Row> for (OrderId, OrderReturn) {
    type Error = OrderError;
    fn try_from(row: Row) -> Result<Self, OrderError> {
        let declined = row.decline_reason.as_deref();
        let it = OrderReturn {
            id: row.id,
            status: parsed(&row.status, ReturnStatus::parse)?,
            outcome: parsed(&row.outcome, ReturnOutcome::parse)?,
            items: serde_json::from_value(row.items).map_err(|_| OrderError::Unreadable)?,
            customer_note: row.customer_note,
            instructions: row.instructions,
            decline_reason: declined.map(|name| parsed(name, DeclineReason::parse)).transpose()?,
            carrier: row.carrier,
            tracking_number: row.tracking_number,
            restocking_fee_minor: row.restocking_fee_minor,
            refund_minor: row.refund_minor,
            requested_at: row.requested_at,
            updated_at: row.updated_at,
            received_at: row.received_at,
            settled_at: row.settled_at,
        };
        Ok((row.order, it))
    }
}

/// Selects the columns of `Row`.
macro_rules! returns {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"SELECT order_id AS "order: OrderId", return_id AS "id: ReturnId", status, outcome,
                  items, customer_note, instructions, decline_reason, carrier,
                  tracking_number, restocking_fee_minor, refund_minor, requested_at AS "requested_at: Timestamp",
                  updated_at AS "updated_at: Timestamp", received_at AS "received_at: Timestamp",
                  settled_at AS "settled_at: Timestamp"
           FROM order_return "# + $rest,
            $($argument),*
        )
    };
}

/// Returns the returns of several orders of a store.
pub(crate) async fn returns_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<ByOrder<OrderReturn>, OrderError> {
    let rows = returns!(
        "WHERE merchant_id = $1 AND order_id = ANY($2) ORDER BY requested_at, return_id",
        merchant as MerchantId,
        ids as &[OrderId],
    );
    let mut found = ByOrder::new();
    for row in rows.fetch_all(sql).await? {
        let (order, it) = row.try_into()?;
        found.entry(order).or_default().push(it);
    }
    Ok(found)
}

/// Returns the returns of a store that a filter selects, without those of sandboxes, the newest first, each with its position. One
/// that cannot be read is logged and left out.
pub(crate) async fn returns_of_store(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &ReturnsFilter,
) -> Result<Vec<(ReturnCursor, Option<(OrderId, OrderReturn)>)>, OrderError> {
    let rows = match filter.statuses.as_slice() {
        [status] if filter.order.is_none() => {
            rows_with_status(sql, merchant, *status, filter).await?
        }
        _ => rows_with_statuses(sql, merchant, filter).await?,
    };
    let read = |row: Row| {
        let (id, position) = (row.id, ReturnCursor { requested_at: row.requested_at, id: row.id });
        let log = |error: &OrderError| {
            tracing::error!(%merchant, %id, %error, "a return cannot be read and is left out of the list");
        };
        (position, row.try_into().inspect_err(log).ok())
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Reads the returns of one status, by the index of statuses. A list without a position begins after the latest request.
async fn rows_with_status(
    sql: &mut PgConnection,
    merchant: MerchantId,
    status: ReturnStatus,
    filter: &ReturnsFilter,
) -> sqlx::Result<Vec<Row>> {
    let latest = Timestamp::from_unix_micros(LATEST_MICROS);
    let first = ReturnCursor { requested_at: latest, id: ReturnId::from_uuid(Uuid::nil()) };
    let after = filter.after.unwrap_or(first);
    returns!(
        "WHERE merchant_id = $1 AND status = $2
           AND requested_at <= $3 AND (requested_at < $3 OR return_id > $4)
           AND NOT EXISTS (SELECT FROM placed_order
                           WHERE placed_order.merchant_id = $1 AND placed_order.order_id = order_return.order_id
                             AND is_sandbox)
         ORDER BY requested_at DESC, return_id LIMIT $5",
        merchant as MerchantId,
        status.as_str(),
        after.requested_at as Timestamp,
        after.id as ReturnId,
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

async fn rows_with_statuses(
    sql: &mut PgConnection,
    merchant: MerchantId,
    filter: &ReturnsFilter,
) -> sqlx::Result<Vec<Row>> {
    let statuses: Vec<String> = filter.statuses.iter().map(ToString::to_string).collect();
    returns!(
        "WHERE merchant_id = $1 AND (cardinality($2::text[]) = 0 OR status = ANY($2))
           AND ($3::uuid IS NULL OR order_id = $3)
           AND ($4::timestamptz IS NULL
                OR requested_at <= $4 AND (requested_at < $4 OR return_id > $5))
           AND NOT EXISTS (SELECT FROM placed_order
                           WHERE placed_order.merchant_id = $1 AND placed_order.order_id = order_return.order_id
                             AND is_sandbox)
         ORDER BY requested_at DESC, return_id LIMIT $6",
        merchant as MerchantId,
        &statuses,
        filter.order as Option<OrderId>,
        filter.after.map(|after| after.requested_at) as Option<Timestamp>,
        filter.after.map(|after| after.id) as Option<ReturnId>,
        i64::from(filter.limit),
    )
    .fetch_all(sql)
    .await
}

/// Inserts a return, or replaces what changes about it.
pub(crate) async fn put_return(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    it: &OrderReturn,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO order_return
             (merchant_id, order_id, return_id, status, outcome, items, customer_note, instructions, decline_reason,
              carrier, tracking_number, restocking_fee_minor, refund_minor, requested_at, updated_at, received_at,
              settled_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
         ON CONFLICT (merchant_id, order_id, return_id) DO UPDATE
         SET status = $4, items = $6, instructions = $8, decline_reason = $9, carrier = $10, tracking_number = $11,
             restocking_fee_minor = $12, refund_minor = $13, updated_at = $15, received_at = $16, settled_at = $17",
        merchant as MerchantId,
        order as OrderId,
        it.id as ReturnId,
        it.status.as_str(),
        it.outcome.as_str(),
        Json(&it.items) as _,
        it.customer_note,
        it.instructions,
        it.decline_reason.map(DeclineReason::as_str),
        it.carrier,
        it.tracking_number,
        it.restocking_fee_minor,
        it.refund_minor,
        it.requested_at as Timestamp,
        it.updated_at as Timestamp,
        it.received_at as Option<Timestamp>,
        it.settled_at as Option<Timestamp>,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the order of a return of this store.
pub(crate) async fn order_of_return(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: ReturnId,
) -> sqlx::Result<Option<OrderId>> {
    sqlx::query_scalar!(
        r#"SELECT order_id AS "order: OrderId" FROM order_return WHERE merchant_id = $1 AND return_id = $2"#,
        merchant as MerchantId,
        id as ReturnId,
    )
    .fetch_optional(sql)
    .await
}

/// Returns settled returns of all stores that were settled by this time, after a row, the oldest first.
pub(crate) async fn find_settled(
    sql: &mut PgConnection,
    until: Timestamp,
    after: Option<SweepRow>,
    limit: i64,
) -> sqlx::Result<Vec<SweepRow>> {
    let rows = sqlx::query!(
        r#"SELECT merchant_id AS "merchant: MerchantId", return_id AS "id", settled_at AS "due_at!: Timestamp"
           FROM order_return
           WHERE status IN ('refunded', 'exchanged', 'rejected') AND settled_at <= $1
             AND ($2::timestamptz IS NULL OR (settled_at, return_id) > ($2, $3))
           ORDER BY settled_at, return_id LIMIT $4"#,
        until as Timestamp,
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
