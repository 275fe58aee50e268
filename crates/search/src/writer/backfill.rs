//! Fills a shard from PostgreSQL with every listed product of its stores.

use database::SHARDS;
use primitives::{MerchantId, ProductId};

use super::RETRY_DELAY;
use super::shard_writer::{PRODUCTS, ShardWriter};
use super::working_copy::Change;
use crate::IndexError;

/// Stores whose products are read together, so that small stores do not need a query each.
const STORES: usize = 100;

impl ShardWriter<'_> {
    /// Fills the empty working copy and publishes it. The cursor is read before the first product, so that changes
    /// during the backfill are applied afterwards.
    pub(super) async fn backfill(&mut self) -> Result<(), IndexError> {
        let shard_id = self.lease.shard_id;
        self.cursor = jobs::latest_cursor(&self.reading).await?;
        self.head = self.cursor.clone();
        let read = merchants::all_stores(&self.reading).await?;
        let unreadable: Vec<MerchantId> =
            read.unreadable.into_iter().filter(|merchant| self.owns(*merchant)).collect();
        self.skip_stores(&unreadable).await?;
        let mut stores = read.stores;
        stores.retain(|store| self.owns(store.merchant));
        stores.sort_unstable_by_key(|store| store.number);
        let merchants: Vec<MerchantId> = stores.iter().map(|store| store.merchant).collect();
        tracing::info!(
            ?shard_id,
            stores = merchants.len(),
            of = SHARDS,
            "filling a shard from PostgreSQL"
        );
        self.cache_stores(stores);
        for merchants in merchants.chunks(STORES) {
            self.backfill_stores(merchants).await?;
        }
        // An empty shard is published too, with its cursor.
        let cursor = self.cursor.clone();
        self.blocking(move |working_copy| working_copy.commit(&cursor)).await?;
        self.is_changed = false;
        self.publish(true).await
    }

    /// Indexes all listed products of some stores.
    async fn backfill_stores(&mut self, merchants: &[MerchantId]) -> Result<(), IndexError> {
        let limit = i64::try_from(PRODUCTS).unwrap_or(i64::MAX);
        let mut after: Option<(MerchantId, ProductId)> = None;
        loop {
            let page = catalog::products_after(&self.reading, merchants, after, limit).await;
            let page = match page.map_err(IndexError::from) {
                // A backfill takes long, so that a failed query is retried instead of starting over.
                Err(error) if error.is_retryable() => {
                    tracing::warn!(%error, shard_id = ?self.lease.shard_id, "reading a page of products failed; it is retried");
                    tokio::time::sleep(RETRY_DELAY).await;
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last else { return Ok(()) };
            after = Some(last);
            self.skip(&page.unreadable).await?;
            let change = |(merchant, product): (MerchantId, catalog::Product)| Change {
                merchant,
                id: product.id,
                product: Some(Box::new(product)),
            };
            self.apply(page.products.into_iter().map(change).collect()).await?;
        }
    }
}
