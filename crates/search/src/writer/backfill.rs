//! Filling a shard from PostgreSQL: every listed product of its stores, store by store.

use database::SHARDS;
use primitives::{MerchantId, ProductId};

use super::PAUSE;
use super::local::Change;
use super::shard::{PRODUCTS, Shard};
use crate::IndexError;

/// Stores whose products are read together, so that small ones do not cost a question each.
const STORES: usize = 100;

impl Shard<'_> {
    /// Fills the empty working copy and publishes it. The place in the outbox is taken before the
    /// first product is read: what changes meanwhile is heard of afterwards.
    pub(super) async fn fill(&mut self) -> Result<(), IndexError> {
        let place = self.lease.place;
        self.cursor = jobs::present(&self.reading).await?;
        let mut stores = merchants::roster(&self.reading).await?;
        stores.retain(|store| self.owns(store.merchant));
        stores.sort_unstable_by_key(|store| store.number);
        let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
        tracing::info!(?place, stores = merchants.len(), of = SHARDS, "a shard is filled");
        self.remember(stores);
        for merchants in merchants.chunks(STORES) {
            self.put_all(merchants).await?;
        }
        // Also an empty shard is published, with its place in the outbox.
        let cursor = self.cursor.clone();
        self.blocking(move |local| local.commit(&cursor)).await?;
        self.is_changed = false;
        self.publish(true).await
    }

    /// Puts in all listed products of some stores.
    pub(super) async fn put_all(&mut self, merchants: &[MerchantId]) -> Result<(), IndexError> {
        let limit = i64::try_from(PRODUCTS).unwrap_or(i64::MAX);
        let mut after: Option<(MerchantId, ProductId)> = None;
        loop {
            let page = catalog::products_after(&self.reading, merchants, after, limit).await;
            let page = match page.map_err(IndexError::from) {
                // A fill takes long; it does not begin again because the database was away.
                Err(error) if error.is_passing() => {
                    tracing::warn!(%error, place = ?self.lease.place, "a page is tried again");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                page => page?,
            };
            if page.is_empty() {
                return Ok(());
            }
            after = page.last().map(|(merchant, product)| (*merchant, product.id));
            let change = |(merchant, product): (MerchantId, catalog::Product)| Change {
                merchant,
                id: product.id,
                product: Some(Box::new(product)),
            };
            self.apply(page.into_iter().map(change).collect()).await?;
        }
    }
}
