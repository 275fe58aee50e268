//! A verb: reading several orders by their ids.

use std::collections::HashMap;

use database::Reading;
use primitives::{MerchantId, OrderId};

use crate::{Order, OrderError, table};

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
    let found = reading.run(async |sql| table::find_many(sql, merchant, ids).await).await?;
    Ok(found.into_iter().map(|order| (order.id, order)).collect())
}
