//! Holding units for a checkout, releasing them, and selling them.

use database::{Reading, Work};
use primitives::{KeyId, MerchantId, ProductId, Timestamp, VariantId};
use uuid::Uuid;

use crate::put::changed;
use crate::{CatalogError, Product, StockStatus, table};

/// A quantity of one product or variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    pub product: ProductId,
    /// `None` for a product without variants.
    pub variant: Option<VariantId>,
    pub quantity: u32,
}

/// The stock from which units are held and sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockPool {
    /// The stock of the store.
    Store,
    /// The stock of one sandbox key: a copy of the store's quantities that only this key changes.
    Sandbox(KeyId),
}

/// Returns products as a transaction sees them. They are not locked: [`hold`] checks the quantities again.
pub async fn products_for_sale(
    work: &mut Work,
    merchant: MerchantId,
    ids: &[ProductId],
    pool: StockPool,
) -> Result<Vec<Product>, CatalogError> {
    let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let merchants = vec![merchant.uuid(); uuids.len()];
    let found = table::products_of(work.sql(), &merchants, &uuids).await?;
    let products = found.into_iter().map(|(_, product)| product).collect();
    match pool {
        StockPool::Store => Ok(products),
        StockPool::Sandbox(key) => {
            let used = table::sandbox_units(work.sql(), merchant, key).await?;
            Ok(subtract_units(products, &used))
        }
    }
}

/// Returns products of a store with the quantities of a stock pool, in the order of the ids. Products that agents cannot
/// see are left out.
pub async fn products_in_pool(
    reading: &Reading,
    merchant: MerchantId,
    ids: &[ProductId],
    pool: StockPool,
) -> Result<Vec<Product>, CatalogError> {
    let keys: Vec<_> = ids.iter().map(|id| (merchant, *id)).collect();
    let found = crate::products_of(reading, &keys).await?;
    let products = found.into_iter().map(|(_, product)| product).collect();
    let StockPool::Sandbox(key) = pool else { return Ok(products) };
    reading
        .run(async |sql| {
            let used = table::sandbox_units(sql, merchant, key).await?;
            Ok(subtract_units(products, &used))
        })
        .await
}

/// Subtracts the units that a sandbox key holds or has bought.
fn subtract_units(mut products: Vec<Product>, used: &[(Uuid, i32)]) -> Vec<Product> {
    let subtract = |id: Uuid, quantity: &mut Option<i32>, status: &mut StockStatus| {
        let Some((_, used)) = used.iter().find(|(item, _)| *item == id) else { return };
        if let Some(available) = quantity {
            *available = available.saturating_sub(*used).max(0);
            if *available == 0 && status.is_available() {
                *status = StockStatus::OutOfStock;
            }
        }
    };
    for product in &mut products {
        let facts = &mut product.facts;
        subtract(product.id.uuid(), &mut facts.stock_quantity, &mut facts.stock_status);
        for variant in &mut product.variants {
            let facts = &mut variant.facts;
            subtract(variant.id.uuid(), &mut facts.stock_quantity, &mut facts.stock_status);
        }
    }
    products
}

/// Holds units. If there are too few of any of them, returns the index of the first such entry.
///
/// The stock rows stay locked until the transaction ends, and every other checkout of the same article waits for them.
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
async fn lock(work: &mut Work, merchant: MerchantId, units: &[Units]) -> Result<(), CatalogError> {
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
