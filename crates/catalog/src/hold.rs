//! Holding units for a checkout, releasing them, and selling them.

use database::Work;
use primitives::{MerchantId, ProductId, Timestamp, VariantId};
use uuid::Uuid;

use crate::put::changed;
use crate::{CatalogError, StockPool, table};

/// A quantity of one product or variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    pub product: ProductId,
    /// `None` for a product without variants.
    pub variant: Option<VariantId>,
    pub quantity: u32,
}

/// Holds units. If there are too few of any of them, returns the index of the first such entry.
///
/// The stock rows stay locked until the transaction ends, and every other checkout of the same product waits for them.
/// Hence this is the last statement of a transaction. A caller that receives an index must roll back.
pub async fn hold(
    work: &mut Work,
    merchant: MerchantId,
    pool: StockPool,
    units: &[Units],
) -> Result<Result<(), usize>, CatalogError> {
    let held = match pool {
        StockPool::Store => {
            lock(work, merchant, units).await?;
            table::hold_units(work, merchant, units).await?
        }
        StockPool::Sandbox(key) => table::hold_in_sandbox(work, merchant, key, units).await?,
    };
    Ok(match units.iter().position(|wanted| !held.contains(&item_of(wanted))) {
        None => Ok(()),
        Some(index) => Err(index),
    })
}

/// Returns the stock of each entry in the store's own pool, and how many units of it are held; `None` if its stock is not
/// counted or it no longer exists.
pub async fn stock_and_held(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> Result<Vec<Option<(i64, i64)>>, CatalogError> {
    let counted = table::stock_and_held(work, merchant, units).await?;
    let of = |one: &Units| counted.iter().find(|(item, ..)| *item == item_of(one));
    Ok(units.iter().map(|one| of(one).map(|(_, stock, held)| (*stock, *held))).collect())
}

/// Releases held units.
pub async fn release(
    work: &mut Work,
    merchant: MerchantId,
    pool: StockPool,
    units: &[Units],
) -> Result<(), CatalogError> {
    match pool {
        StockPool::Store => {
            lock(work, merchant, units).await?;
            table::release_units(work, merchant, units).await?;
        }
        StockPool::Sandbox(key) => {
            table::end_sandbox_hold(work, merchant, key, units, false).await?;
        }
    }
    Ok(())
}

/// Sells held units. The store's quantity decreases until the merchant sends another one.
pub async fn sell(
    work: &mut Work,
    merchant: MerchantId,
    pool: StockPool,
    units: &[Units],
) -> Result<(), CatalogError> {
    if let StockPool::Sandbox(key) = pool {
        return Ok(table::end_sandbox_hold(work, merchant, key, units, true).await?);
    }
    lock(work, merchant, units).await?;
    let products = table::sell_units(work, merchant, units).await?;
    let events: Vec<_> = products.into_iter().map(|product| changed(merchant, product)).collect();
    jobs::publish(work, &events).await?;
    Ok(())
}

/// Locks the product rows in the order of their external ids, as every writer does, so that transactions cannot deadlock.
/// The row of a single product without variants is locked by the statement that changes it.
pub(crate) async fn lock(
    work: &mut Work,
    merchant: MerchantId,
    units: &[Units],
) -> Result<(), CatalogError> {
    let ids: Vec<Uuid> = units.iter().map(|units| units.product.uuid()).collect();
    let is_single =
        units.iter().all(|one| one.product == units[0].product && one.variant.is_none());
    if is_single {
        return Ok(());
    }
    Ok(table::lock_products(work, merchant, &ids).await?)
}

/// Returns the id of the row that carries the quantity: the variant, or the product without variants.
pub(crate) fn item_of(units: &Units) -> Uuid {
    units.variant.map_or(units.product.uuid(), VariantId::uuid)
}

/// Deletes the stock of sandbox keys that has not changed since a time.
pub async fn purge_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    before: Timestamp,
) -> Result<(), CatalogError> {
    Ok(table::purge_sandbox_stock(work, merchant, before).await?)
}
