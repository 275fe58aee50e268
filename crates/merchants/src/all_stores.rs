//! Reading all stores, for components that keep them in memory.

use database::Reading;
use primitives::MerchantId;
use uuid::Uuid;

use crate::{Store, StoreError, table};

/// Stores read per transaction, so that none lasts long however many stores there are.
const PAGE: usize = 1_000;

/// Stores as far as they can be read.
#[derive(Debug, Default)]
pub struct StoresRead {
    /// Ordered by number.
    pub stores: Vec<Store>,
    /// Merchants whose store this version cannot read, logged. A caller that keeps stores in memory tries again later.
    pub unreadable: Vec<MerchantId>,
}

/// Returns all stores in any state, ordered by number. Each page is read in its own transaction: a caller that keeps the
/// stores in memory reads its outbox position first and applies `store.changed` events from there.
pub async fn all_stores(reading: &Reading) -> Result<StoresRead, StoreError> {
    let mut read = StoresRead::default();
    let mut after = Some(0);
    while let Some(number) = after {
        let page = reading.run(async |sql| -> Result<_, StoreError> {
            Ok(table::merchants_after(sql, number, PAGE).await?)
        });
        let (merchants, next) = page.await?;
        let page = stores_of(reading, &merchants).await?;
        read.stores.extend(page.stores);
        read.unreadable.extend(page.unreadable);
        after = next;
    }
    Ok(read)
}

/// Returns the stores of these merchants in any state, ordered by number. Merchants without a store are left out.
///
/// A row that cannot be read is found by halving: it is an error of its store alone.
pub async fn stores_of(
    reading: &Reading,
    merchants: &[MerchantId],
) -> Result<StoresRead, StoreError> {
    let mut read = StoresRead::default();
    let mut parts = vec![merchants];
    while let Some(part) = parts.pop() {
        let ids: Vec<Uuid> = part.iter().map(|merchant| merchant.uuid()).collect();
        match reading.run(async |sql| table::stores_of(sql, &ids).await).await {
            Ok(stores) => read.stores.extend(stores),
            Err(error) if !error.is_unreadable() => return Err(error),
            Err(error) => {
                if let [merchant] = part {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(%merchant, %error, cause, "a store cannot be read; the others are");
                    read.unreadable.push(*merchant);
                } else {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
    }
    read.stores.sort_unstable_by_key(|store| store.number);
    Ok(read)
}
