//! Verbs: reading orders.

use std::collections::HashMap;

use database::{Database, Reading};
use primitives::{KeyId, MerchantId, OrderId};
use sqlx::PgConnection;

use crate::by_id::details_by_id;
use crate::table::OrderPosition;
use crate::{
    Order, OrderCursor, OrderDetails, OrderError, OrderPage, OrderParts, OrdersFilter, Viewer,
    table,
};

/// Returns an order of this store without what belongs to it, or `NotFound` if the caller does not see it.
pub async fn order(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    viewer: &Viewer,
) -> Result<Order, OrderError> {
    let found = reading.run(async |sql| table::find(sql, merchant, Some(id), None).await).await?;
    found.filter(|order| viewer.sees(order)).ok_or(OrderError::NotFound)
}

/// Returns an order of this store with everything that belongs to it but the statements of its disputes, or `NotFound` if the
/// caller does not see it.
pub async fn details(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    viewer: &Viewer,
) -> Result<OrderDetails, OrderError> {
    reading.run(async |sql| visible_details(sql, merchant, id, viewer).await).await
}

/// Returns an order that the caller sees, as [`details`] does.
pub(crate) async fn visible_details(
    sql: &mut PgConnection,
    merchant: MerchantId,
    id: OrderId,
    viewer: &Viewer,
) -> Result<OrderDetails, OrderError> {
    let found = table::find(sql, merchant, Some(id), None).await?;
    let order = found.filter(|order| viewer.sees(order)).ok_or(OrderError::NotFound)?;
    table::details(sql, merchant, order).await
}

/// Returns a page of the orders of a store that a filter selects and the caller sees, the newest first, with these parts.
pub async fn orders(
    reading: &Reading,
    merchant: MerchantId,
    viewer: &Viewer,
    filter: &OrdersFilter,
    parts: OrderParts,
) -> Result<OrderPage, OrderError> {
    filter.check()?;
    reading
        .run(async |sql| -> Result<_, OrderError> {
            let placed = match viewer {
                Viewer::Agent(keys) => {
                    table::orders_of_keys(sql, Some(&[merchant]), keys, filter).await?
                }
                // Orders of sandboxes are listed for their agent only.
                Viewer::Sandbox => Vec::new(),
                Viewer::Merchant | Viewer::All => {
                    table::orders_of_store(sql, merchant, filter).await?
                }
            };
            page(sql, placed, filter, parts).await
        })
        .await
}

/// Returns a page of the orders that were placed with keys at these stores, or at all of them, the newest first.
pub async fn orders_of_keys_at(
    database: &Database,
    stores: Option<&[MerchantId]>,
    keys: &[KeyId],
    filter: &OrdersFilter,
) -> Result<OrderPage, OrderError> {
    filter.check()?;
    let platform = Reading::for_platform(database);
    platform
        .run(async |sql| -> Result<_, OrderError> {
            let placed = table::orders_of_keys(sql, stores, keys, filter).await?;
            page(sql, placed, filter, OrderParts::All).await
        })
        .await
}

/// Returns the merchant of an order, for requests that name an order without its store.
pub async fn merchant_of(database: &Database, id: OrderId) -> Result<MerchantId, OrderError> {
    let platform = Reading::for_platform(database);
    let found: Option<MerchantId> =
        platform.run(async |sql| Ok::<_, OrderError>(table::merchant_of(sql, id).await?)).await?;
    found.ok_or(OrderError::NotFound)
}

/// Reads the orders of a page. The next page begins after the last one, also if that cannot be read.
async fn page(
    sql: &mut PgConnection,
    placed: Vec<OrderPosition>,
    filter: &OrdersFilter,
    parts: OrderParts,
) -> Result<OrderPage, OrderError> {
    let is_full = u32::try_from(placed.len()).is_ok_and(|count| count >= filter.limit);
    let last = placed.last().filter(|_| is_full);
    let next = last.map(|it| OrderCursor { created_at: it.created_at, id: it.id });
    let mut by_store: HashMap<MerchantId, Vec<OrderId>> = HashMap::new();
    for it in &placed {
        by_store.entry(it.merchant).or_default().push(it.id);
    }
    let mut found: HashMap<(MerchantId, OrderId), OrderDetails> = HashMap::new();
    for (merchant, ids) in by_store {
        let details = details_by_id(sql, merchant, &ids, parts).await?;
        found.extend(details.into_iter().map(|(id, it)| ((merchant, id), it)));
    }
    let listed = placed.into_iter();
    let orders =
        listed.filter_map(|it| Some((it.merchant, found.remove(&(it.merchant, it.id))?))).collect();
    Ok(OrderPage { orders, next })
}
