//! All stores at once, for those who keep them in memory.

use database::Reading;
use primitives::MerchantId;
use uuid::Uuid;

use crate::{Store, StoreError, table};

/// Stores read in one go, so that no transaction lasts long however many there are.
const PAGE: usize = 1_000;

/// All stores, whatever their state, by number. Each page is read in a transaction of its own: take
/// `jobs::present` first and follow `store.changed` from there.
pub async fn roster(reading: &Reading) -> Result<Vec<Store>, StoreError> {
    let mut stores: Vec<Store> = Vec::new();
    let limit = i64::try_from(PAGE).unwrap_or(i64::MAX);
    loop {
        let after = stores.last().map_or(0, |store| store.number);
        let mut snapshot = reading.open().await?;
        let after = i32::try_from(after).unwrap_or(i32::MAX);
        let page = table::stores_after(&mut snapshot, after, limit).await?;
        snapshot.close().await?;
        let is_last = page.len() < PAGE;
        stores.extend(page);
        if is_last {
            return Ok(stores);
        }
    }
}

/// The stores of these merchants, whatever their state, by number. Who has none is left out.
pub async fn roster_of(
    reading: &Reading,
    merchants: &[MerchantId],
) -> Result<Vec<Store>, StoreError> {
    let merchants: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
    let mut snapshot = reading.open().await?;
    let stores = table::stores_of(&mut snapshot, &merchants).await?;
    snapshot.close().await?;
    Ok(stores)
}
