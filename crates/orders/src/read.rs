//! A verb: reading an order.

use database::Reading;
use primitives::{KeyId, MerchantId, OrderId};

use crate::{Order, OrderError, table};

/// Returns an order of this store. With an agent, `NotFound` if another agent owns it.
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
