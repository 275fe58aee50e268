//! Verbs: fulfillments, returns and numbers of orders that were placed with keys at one store.

use std::collections::HashMap;

use database::Reading;
use primitives::{FulfillmentId, Id, KeyId, MerchantId, OrderId, ReturnId, Timestamp};
use uuid::Uuid;

use crate::by_id::details_by_id;
use crate::{
    Fulfillment, OrderDetails, OrderError, OrderParts, OrderReturn, ReturnOutcome, ReturnStatus,
    table,
};

/// Selects what belongs to orders. An empty list selects all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartsFilter<I> {
    pub ids: Vec<I>,
    pub orders: Vec<OrderId>,
    pub created_min: Option<Timestamp>,
    pub created_max: Option<Timestamp>,
    pub updated_min: Option<Timestamp>,
    pub updated_max: Option<Timestamp>,
    /// Entries to leave out before the first one.
    pub skip: u32,
    /// Entries of one page.
    pub limit: u32,
}

/// Orders of each key whose parts are listed, the newest. A filter that names orders reaches further.
pub(crate) const ORDERS_MAX: i64 = 1_000;

/// Returns a page of the fulfillments that a filter selects, each with its order, the newest first. A fulfillment is created
/// when it is shipped, and updated when it is delivered.
pub async fn fulfillments_of_keys(
    reading: &Reading,
    merchant: MerchantId,
    keys: &[KeyId],
    filter: &PartsFilter<FulfillmentId>,
) -> Result<Vec<(OrderDetails, Fulfillment)>, OrderError> {
    reading
        .run(async |sql| {
            let found = table::fulfillments_of_keys(sql, merchant, keys, filter).await?;
            let orders = details_of(sql, merchant, found.iter().map(|(order, _)| *order)).await?;
            let part = |(order, id): (OrderId, FulfillmentId)| {
                let details = orders.get(&order)?;
                let it = details.fulfillments.iter().find(|it| it.id == id)?;
                Some((details.clone(), it.clone()))
            };
            Ok(found.into_iter().filter_map(part).collect())
        })
        .await
}

/// Returns a page of the returns that a filter selects, each with its order, the newest first.
pub async fn returns_of_keys(
    reading: &Reading,
    merchant: MerchantId,
    keys: &[KeyId],
    filter: &PartsFilter<ReturnId>,
    statuses: &[ReturnStatus],
    outcomes: &[ReturnOutcome],
) -> Result<Vec<(OrderDetails, OrderReturn)>, OrderError> {
    reading
        .run(async |sql| {
            let found =
                table::returns_of_keys(sql, merchant, keys, filter, statuses, outcomes).await?;
            let orders = details_of(sql, merchant, found.iter().map(|(order, _)| *order)).await?;
            let part = |(order, id): (OrderId, ReturnId)| {
                let details = orders.get(&order)?;
                let it = details.returns.iter().find(|it| it.id == id)?;
                Some((details.clone(), it.clone()))
            };
            Ok(found.into_iter().filter_map(part).collect())
        })
        .await
}

/// Returns the ids of the orders with these numbers ([`Order::number`](crate::Order::number)). A text that is no number has no
/// order.
pub async fn orders_of_numbers(
    reading: &Reading,
    merchant: MerchantId,
    keys: &[KeyId],
    numbers: &[String],
) -> Result<Vec<OrderId>, OrderError> {
    let (first, last): (Vec<OrderId>, Vec<OrderId>) =
        numbers.iter().filter_map(|number| ids_of_number(number)).unzip();
    let found = reading.run(async |sql| -> Result<_, OrderError> {
        Ok(table::orders_between(sql, merchant, keys, &first, &last).await?)
    });
    found.await
}

/// Returns the first and the last id that have a number: it is the beginning of the id.
fn ids_of_number(number: &str) -> Option<(OrderId, OrderId)> {
    const DIGITS: usize = 10;
    if number.len() != DIGITS || !number.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let id = |rest: &str| {
        let id = Uuid::try_parse(&format!("{number}{}", rest.repeat(32 - DIGITS))).ok()?;
        Some(OrderId::from_uuid(id))
    };
    Some((id("0")?, id("f")?))
}

async fn details_of(
    sql: &mut sqlx::PgConnection,
    merchant: MerchantId,
    orders: impl Iterator<Item = OrderId>,
) -> Result<HashMap<OrderId, OrderDetails>, OrderError> {
    let mut ids: Vec<OrderId> = orders.collect();
    ids.sort_unstable();
    ids.dedup();
    details_by_id(sql, merchant, &ids, OrderParts::Items).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_beginning_of_ids() {
        let (first, last) = ids_of_number("0123456789").unwrap();
        assert_eq!(first.to_string(), "ord_01234567890000000000000000000000");
        assert_eq!(last.to_string(), "ord_0123456789ffffffffffffffffffffff");
        assert_eq!(ids_of_number("abcdefABCD"), ids_of_number("ABCDEFABCD"));
        for wrong in ["", "012345678", "01234567890", "012345678x", "0123-56789", "01234567é"] {
            assert_eq!(ids_of_number(wrong), None, "{wrong}");
        }
    }
}
