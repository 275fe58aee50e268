//! A verb: importing orders of the past, such as those of the demo data.

use std::collections::HashSet;

use database::Work;
use primitives::{MerchantId, OrderId};

use crate::{OrderDetails, OrderError, table};

/// Imports orders with their shipments, refunds, disputes and history, all as they are, and without an event: nobody acts on
/// what is long past. Orders that exist stay as they are. Returns are left out. Returns the number of new orders.
pub async fn import(
    work: &mut Work,
    merchant: MerchantId,
    orders: &[OrderDetails],
) -> Result<usize, OrderError> {
    let inserted = table::import_orders(work, merchant, orders).await?;
    let inserted: HashSet<OrderId> = inserted.into_iter().collect();
    let new: Vec<&OrderDetails> =
        orders.iter().filter(|it| inserted.contains(&it.order.id)).collect();
    if !new.is_empty() {
        table::import_history(work, merchant, &new).await?;
        table::import_fulfillments(work, merchant, &new).await?;
        table::import_refunds(work, merchant, &new).await?;
        table::import_disputes(work, merchant, &new).await?;
        table::import_statements(work, merchant, &new).await?;
    }
    Ok(new.len())
}
