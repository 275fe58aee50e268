//! Stock pools, and products with the quantities of a pool.

use database::{Reading, Work};
use primitives::{KeyId, MerchantId, ProductId};
use uuid::Uuid;

use crate::{CatalogError, Product, StockStatus, table};

/// The stock from which units are held and sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockPool {
    /// The stock of the store.
    Store,
    /// The stock of one sandbox key: a copy of the store's quantities that only this key changes.
    Sandbox(KeyId),
}

/// Returns products as a transaction sees them. They are not locked: [`hold`](crate::hold()) checks the quantities again.
pub async fn products_for_sale(
    work: &mut Work,
    merchant: MerchantId,
    ids: &[ProductId],
    pool: StockPool,
) -> Result<Vec<Product>, CatalogError> {
    let keys: Vec<_> = ids.iter().map(|id| (merchant, *id)).collect();
    let found = table::products_of(work.sql(), &keys).await?;
    let mut products: Vec<Product> = found.into_iter().map(|(_, product)| product).collect();
    for product in &mut products {
        product.set_prices(work.now());
    }
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
