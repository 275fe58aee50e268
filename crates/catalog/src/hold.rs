//! Verbs: taking units off the shelf for somebody who is about to pay, giving them back, selling them.

use database::{Reading, Work};
use primitives::{KeyId, MerchantId, ProductId, Timestamp, VariantId};
use uuid::Uuid;

use crate::put::changed;
use crate::{CatalogError, Product, StockStatus, table};

/// So many of something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Units {
    /// Which product.
    pub product: ProductId,
    /// Which of its forms.
    pub variant: Option<VariantId>,
    /// How many.
    pub quantity: u32,
}

/// Whose shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shelf {
    /// The store's.
    Store,
    /// That of one sandbox: the store's goods, and numbers of its own.
    Sandbox(KeyId),
}

/// Products as they are, read in a work: whoever then takes units of them asks again whether there are enough.
pub async fn products_for_sale(
    work: &mut Work,
    merchant: MerchantId,
    ids: &[ProductId],
    shelf: Shelf,
) -> Result<Vec<Product>, CatalogError> {
    let uuids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let merchants = vec![merchant.uuid(); uuids.len()];
    let found = table::products_of(work.sql(), &merchants, &uuids).await?;
    let products = found.into_iter().map(|(_, product)| product).collect();
    match shelf {
        Shelf::Store => Ok(products),
        Shelf::Sandbox(key) => {
            let taken = table::sandbox_taken(work.sql(), merchant, key).await?;
            Ok(without(products, &taken))
        }
    }
}

/// Products of a store as they lie on a shelf, in the order asked for. What agents cannot see is left out.
pub async fn products_on(
    reading: &Reading,
    merchant: MerchantId,
    ids: &[ProductId],
    shelf: Shelf,
) -> Result<Vec<Product>, CatalogError> {
    let keys: Vec<_> = ids.iter().map(|id| (merchant, *id)).collect();
    let found = crate::products_of(reading, &keys).await?;
    let products = found.into_iter().map(|(_, product)| product).collect();
    let Shelf::Sandbox(key) = shelf else { return Ok(products) };
    let mut snapshot = reading.open().await?;
    let taken = table::sandbox_taken(&mut snapshot, merchant, key).await?;
    snapshot.close().await?;
    Ok(without(products, &taken))
}

/// Products without what a sandbox took.
fn without(mut products: Vec<Product>, taken: &[(Uuid, i32)]) -> Vec<Product> {
    let less = |id: Uuid, quantity: &mut Option<i32>, status: &mut StockStatus| {
        let Some((_, taken)) = taken.iter().find(|(item, _)| *item == id) else { return };
        if let Some(there) = quantity {
            *there = there.saturating_sub(*taken).max(0);
            if *there == 0 && status.is_at_hand() {
                *status = StockStatus::OutOfStock;
            }
        }
    };
    for product in &mut products {
        let facts = &mut product.facts;
        less(product.id.uuid(), &mut facts.stock_quantity, &mut facts.stock_status);
        for variant in &mut product.variants {
            let facts = &mut variant.facts;
            less(variant.id.uuid(), &mut facts.stock_quantity, &mut facts.stock_status);
        }
    }
    products
}

/// Takes units off the shelf: all of them, or the place of the first of which there are too few. Everybody who wants the
/// same article waits from here until the work ends, so it is the last thing a work does.
pub async fn hold(
    work: &mut Work,
    merchant: MerchantId,
    shelf: Shelf,
    units: &[Units],
) -> Result<Result<(), usize>, CatalogError> {
    let taken = match shelf {
        Shelf::Store => {
            lock(work, merchant, units).await?;
            table::hold_units(work, merchant, units).await?
        }
        Shelf::Sandbox(key) => table::hold_in_sandbox(work, merchant, key, units).await?,
    };
    Ok(match units.iter().position(|wanted| !taken.contains(&item_of(wanted))) {
        None => Ok(()),
        Some(place) => Err(place),
    })
}

/// Puts units back on the shelf.
pub async fn give_back(
    work: &mut Work,
    merchant: MerchantId,
    shelf: Shelf,
    units: &[Units],
) -> Result<(), CatalogError> {
    match shelf {
        Shelf::Store => {
            lock(work, merchant, units).await?;
            table::give_units_back(work, merchant, units).await?;
        }
        Shelf::Sandbox(key) => table::end_sandbox_hold(work, merchant, key, units, false).await?,
    }
    Ok(())
}

/// Sells units that were held. The store's number goes down with them, until the merchant says another one.
pub async fn sell(
    work: &mut Work,
    merchant: MerchantId,
    shelf: Shelf,
    units: &[Units],
) -> Result<(), CatalogError> {
    if let Shelf::Sandbox(key) = shelf {
        return Ok(table::end_sandbox_hold(work, merchant, key, units, true).await?);
    }
    lock(work, merchant, units).await?;
    let touched = table::sell_units(work, merchant, units).await?;
    let events: Vec<_> = touched.into_iter().map(|product| changed(merchant, product)).collect();
    jobs::publish(work, &events).await?;
    Ok(())
}

/// Holds the rows in the order of their external ids, as everywhere. A single one is held by the statement that changes it.
async fn lock(work: &mut Work, merchant: MerchantId, units: &[Units]) -> Result<(), CatalogError> {
    let ids: Vec<Uuid> = units.iter().map(|units| units.product.uuid()).collect();
    let is_single =
        units.iter().all(|one| one.product == units[0].product && one.variant.is_none());
    if is_single {
        return Ok(());
    }
    Ok(table::lock_products(work, merchant, &ids).await?)
}

/// What is counted: the variant, or the product if it has none.
pub(crate) fn item_of(units: &Units) -> Uuid {
    units.variant.map_or(units.product.uuid(), VariantId::uuid)
}

/// Forgets what sandboxes took that were not touched since a moment: they are over.
pub async fn forget_sandbox(
    work: &mut Work,
    merchant: MerchantId,
    before: Timestamp,
) -> Result<(), CatalogError> {
    Ok(table::forget_sandbox_stock(work, merchant, before).await?)
}
