//! What belongs to an order: shipments, refunds and the history.

use std::collections::HashMap;

use database::Work;
use primitives::{FulfillmentId, MerchantId, OrderId, RefundId, ReturnId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::parsed;
use crate::{
    Actor, ActorKind, Fulfillment, HistoryEntry, HistoryKind, LineUnits, Order, OrderDetails,
    OrderError, OrderParts, OrderStatus, Refund, RefundReason,
};

/// Returns an order with everything that belongs to it but the statements of its disputes.
pub(crate) async fn details(
    sql: &mut PgConnection,
    merchant: MerchantId,
    order: Order,
) -> Result<OrderDetails, OrderError> {
    details_of(sql, merchant, vec![order], OrderParts::All)
        .await?
        .pop()
        .ok_or(OrderError::Unreadable)
}

/// Returns orders of one store with these parts of what belongs to them, in the same order.
pub(crate) async fn details_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    orders: Vec<Order>,
    parts: OrderParts,
) -> Result<Vec<OrderDetails>, OrderError> {
    // An order of version 1 has no history, and so nothing that belongs to it.
    let changed = orders.iter().filter(|order| order.version > 1);
    let ids: Vec<OrderId> = changed.map(|order| order.id).collect();
    if ids.is_empty() {
        let nothing = |order| OrderDetails {
            order,
            fulfillments: Vec::new(),
            refunds: Vec::new(),
            returns: Vec::new(),
            disputes: Vec::new(),
            history: Vec::new(),
        };
        return Ok(orders.into_iter().map(nothing).collect());
    }
    let mut fulfillments = fulfillments(sql, merchant, &ids).await?;
    let mut refunds = refunds(sql, merchant, &ids).await?;
    let mut returns = super::returns_of(sql, merchant, &ids).await?;
    let (mut disputes, mut history) = match parts {
        OrderParts::All => {
            (super::disputes_of(sql, merchant, &ids).await?, history(sql, merchant, &ids).await?)
        }
        OrderParts::Items => (ByOrder::new(), ByOrder::new()),
    };
    let with_parts = |order: Order| OrderDetails {
        fulfillments: fulfillments.remove(&order.id).unwrap_or_default(),
        refunds: refunds.remove(&order.id).unwrap_or_default(),
        returns: returns.remove(&order.id).unwrap_or_default(),
        disputes: disputes.remove(&order.id).unwrap_or_default(),
        history: history.remove(&order.id).unwrap_or_default(),
        order,
    };
    Ok(orders.into_iter().map(with_parts).collect())
}

/// What belongs to each of several orders.
pub(super) type ByOrder<T> = HashMap<OrderId, Vec<T>>;

/// Returns the fulfillments of an order, the oldest first.
pub(crate) async fn fulfillments_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: OrderId,
) -> Result<Vec<Fulfillment>, OrderError> {
    Ok(fulfillments(sql, merchant, &[id]).await?.remove(&id).unwrap_or_default())
}

async fn fulfillments(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<ByOrder<Fulfillment>, OrderError> {
    let rows = sqlx::query!(
        r#"SELECT order_id AS "order: OrderId", fulfillment_id AS "id: FulfillmentId", carrier, tracking_number,
                  tracking_url, items AS "items: Json<Vec<LineUnits>>", expected_by AS "expected_by: Timestamp",
                  shipped_at AS "shipped_at: Timestamp", delivered_at AS "delivered_at: Timestamp"
           FROM order_fulfillment WHERE merchant_id = $1 AND order_id = ANY($2)
           ORDER BY shipped_at, fulfillment_id"#,
        merchant as MerchantId,
        ids as &[OrderId],
    )
    .fetch_all(sql)
    .await?;
    let mut found = ByOrder::new();
    for row in rows {
        found.entry(row.order).or_default().push(Fulfillment {
            id: row.id,
            carrier: row.carrier,
            tracking_number: row.tracking_number,
            tracking_url: row.tracking_url,
            items: row.items.0,
            expected_by: row.expected_by,
            shipped_at: row.shipped_at,
            delivered_at: row.delivered_at,
        });
    }
    Ok(found)
}

pub(crate) async fn insert_fulfillment(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    fulfillment: &Fulfillment,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO order_fulfillment
             (merchant_id, order_id, fulfillment_id, carrier, tracking_number, tracking_url, items, expected_by,
              shipped_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        merchant as MerchantId,
        order as OrderId,
        fulfillment.id as FulfillmentId,
        fulfillment.carrier,
        fulfillment.tracking_number,
        fulfillment.tracking_url,
        Json(&fulfillment.items) as _,
        fulfillment.expected_by as Option<Timestamp>,
        fulfillment.shipped_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn mark_delivered(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    fulfillments: &[FulfillmentId],
    at: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "UPDATE order_fulfillment SET delivered_at = $4
         WHERE merchant_id = $1 AND order_id = $2 AND fulfillment_id = ANY($3) AND delivered_at IS NULL",
        merchant as MerchantId,
        order as OrderId,
        fulfillments as &[FulfillmentId],
        at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

async fn refunds(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<ByOrder<Refund>, OrderError> {
    let rows = sqlx::query!(
        r#"SELECT order_id AS "order: OrderId", refund_id AS "id: RefundId", return_id AS "return_id: ReturnId",
                  amount_minor, reason, note, reference, created_at AS "created_at: Timestamp"
           FROM order_refund WHERE merchant_id = $1 AND order_id = ANY($2)
           ORDER BY created_at, refund_id"#,
        merchant as MerchantId,
        ids as &[OrderId],
    )
    .fetch_all(sql)
    .await?;
    let mut found = ByOrder::new();
    for row in rows {
        found.entry(row.order).or_default().push(Refund {
            id: row.id,
            return_id: row.return_id,
            amount_minor: row.amount_minor,
            reason: parsed(&row.reason, RefundReason::parse)?,
            note: row.note,
            reference: row.reference,
            created_at: row.created_at,
        });
    }
    Ok(found)
}

pub(crate) async fn insert_refund(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    refund: &Refund,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO order_refund
             (merchant_id, order_id, refund_id, return_id, amount_minor, reason, note, reference, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        merchant as MerchantId,
        order as OrderId,
        refund.id as RefundId,
        refund.return_id as Option<ReturnId>,
        refund.amount_minor,
        refund.reason.as_str(),
        refund.note,
        refund.reference,
        refund.created_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

async fn history(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<ByOrder<HistoryEntry>, OrderError> {
    let rows = sqlx::query!(
        r#"SELECT order_id AS "order: OrderId", sequence, kind, previous_status, status, actor, actor_id, reason,
                  details, occurred_at AS "occurred_at: Timestamp"
           FROM order_history WHERE merchant_id = $1 AND order_id = ANY($2) ORDER BY order_id, sequence"#,
        merchant as MerchantId,
        ids as &[OrderId],
    )
    .fetch_all(sql)
    .await?;
    let mut found = ByOrder::new();
    for row in rows {
        found.entry(row.order).or_default().push(HistoryEntry {
            sequence: row.sequence,
            kind: parsed(&row.kind, HistoryKind::parse)?,
            previous_status: parsed(&row.previous_status, OrderStatus::parse)?,
            status: parsed(&row.status, OrderStatus::parse)?,
            actor: Actor { kind: parsed(&row.actor, ActorKind::parse)?, id: row.actor_id },
            reason: row.reason,
            details: row.details,
            occurred_at: row.occurred_at,
        });
    }
    Ok(found)
}

/// Returns how many entries of this actor and kind the history of an order has, with this status if it is given.
pub(crate) async fn count_history(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    (actor, kind, status): (ActorKind, HistoryKind, Option<OrderStatus>),
) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"SELECT count(*) AS "entries!" FROM order_history
           WHERE merchant_id = $1 AND order_id = $2 AND actor = $3 AND kind = $4
             AND ($5::text IS NULL OR status = $5)"#,
        merchant as MerchantId,
        order as OrderId,
        actor.as_str(),
        kind.as_str(),
        status.map(OrderStatus::as_str),
    )
    .fetch_one(work.sql())
    .await
}

pub(crate) async fn insert_history(
    work: &mut Work,
    merchant: MerchantId,
    order: OrderId,
    entry: &HistoryEntry,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO order_history
             (merchant_id, order_id, sequence, kind, previous_status, status, actor, actor_id, reason, details,
              occurred_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        merchant as MerchantId,
        order as OrderId,
        entry.sequence,
        entry.kind.as_str(),
        entry.previous_status.as_str(),
        entry.status.as_str(),
        entry.actor.kind.as_str(),
        entry.actor.id,
        entry.reason,
        entry.details,
        entry.occurred_at as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
