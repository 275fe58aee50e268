//! Reading all stores, for components that keep them in memory.

use database::Reading;
use primitives::MerchantId;
use uuid::Uuid;

use crate::{Store, StoreError, table};

/// Stores read per transaction, so that none lasts long however many stores there are.
const PAGE: usize = 1_000;

/// Returns all stores in any state, ordered by number. Each page is read in its own transaction: a caller that keeps the
/// stores in memory reads its outbox position first and applies `store.changed` events from there.
pub async fn all_stores(reading: &Reading) -> Result<Vec<Store>, StoreError> {
    let mut stores: Vec<Store> = Vec::new();
    let mut after = Some(0);
    while let Some(number) = after {
        let page = reading.run(async |sql| -> Result<_, StoreError> {
            table::stores_after(sql, number, PAGE).await
        });
        let (page, next) = page.await?;
        stores.extend(page);
        after = next;
    }
    Ok(stores)
}

/// Returns the stores of these merchants in any state, ordered by number. Merchants without a store are left out.
pub async fn stores_of(
    reading: &Reading,
    merchants: &[MerchantId],
) -> Result<Vec<Store>, StoreError> {
    let merchants: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
    reading.run(async |sql| table::stores_of(sql, &merchants).await).await
}
