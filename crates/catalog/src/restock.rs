//! Putting sold units back into stock.

use database::Work;
use primitives::MerchantId;

use crate::put::changed;
use crate::{CatalogError, StockPool, Units, hold, table};

/// Puts sold units back: the inverse of [`sell`](crate::sell()). Stock that is not counted stays as it is, and items that no
/// longer exist are left out.
///
/// The stock rows stay locked until the transaction ends, and every checkout of the same product waits for them. Hence this is
/// the last statement of a transaction.
pub async fn restock(
    work: &mut Work,
    merchant: MerchantId,
    pool: StockPool,
    units: &[Units],
) -> Result<(), CatalogError> {
    if let StockPool::Sandbox(key) = pool {
        return Ok(table::restock_in_sandbox(work, merchant, key, units).await?);
    }
    hold::lock(work, merchant, units).await?;
    let products = table::restock_units(work, merchant, units).await?;
    let events: Vec<_> = products.into_iter().map(|product| changed(merchant, product)).collect();
    jobs::publish(work, &events).await?;
    Ok(())
}
