//! A verb: reading an order.

use database::Reading;
use primitives::{CheckoutId, KeyId, MerchantId, OrderId};

use crate::{Order, OrderError, table};

/// An order of this store. With an agent, only one it bought: another's does not exist to it.
pub async fn order(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    agent: Option<KeyId>,
) -> Result<Order, OrderError> {
    let mut snapshot = reading.open().await?;
    let found = table::find(&mut snapshot, merchant, Some(id), None).await?;
    snapshot.close().await?;
    let order = found.filter(|order| agent.is_none_or(|agent| agent == order.agent));
    order.ok_or(OrderError::NotFound)
}

/// The order a session became, if it did.
pub async fn order_of_checkout(
    reading: &Reading,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Order>, OrderError> {
    let mut snapshot = reading.open().await?;
    let found = table::find(&mut snapshot, merchant, None, Some(checkout)).await?;
    snapshot.close().await?;
    Ok(found)
}
