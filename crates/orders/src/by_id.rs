//! Verbs: reading several orders by their ids. An order that cannot be read is logged and left out, so that the others are
//! listed: all are read at once, and one after the other only if that fails.

use std::collections::HashMap;

use database::Reading;
use primitives::{MerchantId, OrderId};
use sqlx::PgConnection;

use crate::{Order, OrderDetails, OrderError, OrderParts, table};

/// Returns orders of a store by their ids, without what belongs to them: for lists of returns and disputes. An id without an
/// order is left out. The caller has read the ids where it may.
pub async fn orders_by_id(
    reading: &Reading,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<HashMap<OrderId, Order>, OrderError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = reading.run(async |sql| readable(sql, merchant, ids).await).await?;
    Ok(found.into_iter().map(|order| (order.id, order)).collect())
}

/// Returns orders of a store by their ids, with these parts of what belongs to them.
pub(crate) async fn details_by_id(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
    parts: OrderParts,
) -> Result<HashMap<OrderId, OrderDetails>, OrderError> {
    let orders = readable(sql, merchant, ids).await?;
    let ids: Vec<OrderId> = orders.iter().map(|order| order.id).collect();
    match table::details_of(sql, merchant, orders, parts).await {
        Err(error) if error.is_unreadable() => {}
        details => return Ok(details?.into_iter().map(|it| (it.order.id, it)).collect()),
    }
    let mut found = HashMap::new();
    for id in ids {
        let order = table::find_many(sql, merchant, &[id]).await?;
        match table::details_of(sql, merchant, order, parts).await {
            Err(error) if error.is_unreadable() => log(merchant, id, &error),
            details => found.extend(details?.into_iter().map(|it| (id, it))),
        }
    }
    Ok(found)
}

async fn readable(
    sql: &mut PgConnection,
    merchant: MerchantId,
    ids: &[OrderId],
) -> Result<Vec<Order>, OrderError> {
    match table::find_many(sql, merchant, ids).await {
        Err(error) if error.is_unreadable() => {}
        orders => return orders,
    }
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        match table::find_many(sql, merchant, &[*id]).await {
            Err(error) if error.is_unreadable() => log(merchant, *id, &error),
            order => found.extend(order?),
        }
    }
    Ok(found)
}

fn log(merchant: MerchantId, order: OrderId, error: &OrderError) {
    tracing::error!(%merchant, %order, %error, "an order cannot be read and is left out of the list");
}
