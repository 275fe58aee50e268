//! Verbs: reading orders.

use std::collections::HashMap;

use database::{Database, Reading};
use primitives::{KeyId, MerchantId, OrderId};

use crate::{Order, OrderCursor, OrderDetails, OrderError, OrderPage, OrdersFilter, Viewer, table};

/// Returns an order of this store without what belongs to it. With an agent, `NotFound` if another agent owns it.
pub async fn order(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    agent: Option<KeyId>,
) -> Result<Order, OrderError> {
    let found = reading.run(async |sql| table::find(sql, merchant, Some(id), None).await).await?;
    let order = found.filter(|order| agent.is_none_or(|agent| agent == order.agent));
    order.ok_or(OrderError::NotFound)
}

/// Returns an order of this store with everything that belongs to it, or `NotFound` if the caller does not see it.
pub async fn details(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    viewer: &Viewer,
) -> Result<OrderDetails, OrderError> {
    reading
        .run(async |sql| {
            let found = table::find(sql, merchant, Some(id), None).await?;
            let order = found.filter(|order| viewer.sees(order)).ok_or(OrderError::NotFound)?;
            table::details(sql, merchant, order).await
        })
        .await
}

/// Returns a page of the orders of a store that a filter selects and the caller sees, the newest first.
pub async fn orders(
    reading: &Reading,
    merchant: MerchantId,
    viewer: &Viewer,
    filter: &OrdersFilter,
) -> Result<OrderPage, OrderError> {
    let details = reading
        .run(async |sql| -> Result<_, OrderError> {
            let found = match viewer {
                Viewer::Agent(keys) => {
                    let ids = table::orders_of_keys(sql, Some(&[merchant]), keys, filter).await?;
                    let ids: Vec<OrderId> = ids.into_iter().map(|(_, id)| id).collect();
                    let found = table::find_many(sql, merchant, &ids).await?;
                    in_order(found, &ids)
                }
                Viewer::Merchant | Viewer::All => {
                    table::orders_of_store(sql, merchant, filter).await?
                }
            };
            table::details_of(sql, merchant, found).await
        })
        .await?;
    Ok(page(details.into_iter().map(|it| (merchant, it)).collect(), filter))
}

/// Returns a page of the orders that were placed with keys at all stores, the newest first.
pub async fn orders_of_keys(
    database: &Database,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> Result<OrderPage, OrderError> {
    orders_of_keys_at(database, None, keys, filter).await
}

/// Returns a page of the orders that were placed with keys at these stores, or at all of them, the newest first.
pub async fn orders_of_keys_at(
    database: &Database,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> Result<OrderPage, OrderError> {
    let platform = Reading::for_platform(database);
    let details = platform
        .run(async |sql| -> Result<_, OrderError> {
            let ids = table::orders_of_keys(sql, stores, keys, filter).await?;
            let mut by_store: HashMap<MerchantId, Vec<OrderId>> = HashMap::new();
            for (merchant, id) in &ids {
                by_store.entry(*merchant).or_default().push(*id);
            }
            let mut found: HashMap<OrderId, OrderDetails> = HashMap::new();
            for (merchant, orders) in by_store {
                let orders = table::find_many(sql, merchant, &orders).await?;
                let details = table::details_of(sql, merchant, orders).await?;
                found.extend(details.into_iter().map(|it| (it.order.id, it)));
            }
            let listed = ids.into_iter();
            Ok(listed.filter_map(|(merchant, id)| Some((merchant, found.remove(&id)?))).collect())
        })
        .await?;
    Ok(page(details, filter))
}

/// Returns the merchant of an order, for requests that name an order without its store.
pub async fn merchant_of(database: &Database, id: OrderId) -> Result<MerchantId, OrderError> {
    let platform = Reading::for_platform(database);
    let found: Option<MerchantId> =
        platform.run(async |sql| Ok::<_, OrderError>(table::merchant_of(sql, id).await?)).await?;
    found.ok_or(OrderError::NotFound)
}

fn in_order(found: Vec<Order>, ids: &[OrderId]) -> Vec<Order> {
    let mut found: HashMap<OrderId, Order> = found.into_iter().map(|it| (it.id, it)).collect();
    ids.iter().filter_map(|id| found.remove(id)).collect()
}

fn page(orders: Vec<(MerchantId, OrderDetails)>, filter: &OrdersFilter) -> OrderPage {
    let is_full = u32::try_from(orders.len()).is_ok_and(|count| count >= filter.limit);
    let last = orders.last().filter(|_| is_full).map(|(_, it)| &it.order);
    let next = last.map(|order| OrderCursor { created_at: order.created_at, id: order.id });
    OrderPage { orders, next }
}
