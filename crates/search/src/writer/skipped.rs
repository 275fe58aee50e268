//! Rows that cannot be read. The writer skips each by itself and keeps what the index has of it; it goes on with all other
//! rows, and tries the skipped ones again at an interval, also after a restart.

use std::collections::{HashMap, HashSet};

use catalog::ProductKey;
use database::Work;
use primitives::{Id, MerchantId, ProductId};
use uuid::Uuid;

use super::shard_writer::{PRODUCTS, ShardWriter};
use super::working_copy::Change;
use crate::{IndexError, table};

/// The key of a store among products.
fn store_key(merchant: MerchantId) -> ProductKey {
    (merchant, ProductId::from_uuid(Uuid::nil()))
}

impl ShardWriter<'_> {
    /// Reads the rows that an earlier holder of the lease skipped.
    pub(super) async fn load_skipped(&mut self) -> Result<(), IndexError> {
        let shard_id = self.lease.shard_id;
        let skipped: Result<_, IndexError> =
            self.reading.run(async |sql| Ok(table::skipped(sql, shard_id).await?)).await;
        self.skipped = skipped?.into_iter().collect();
        self.record_skipped();
        Ok(())
    }

    /// Returns whether the store of a merchant could not be read, so that its products cannot be indexed.
    pub(super) fn is_store_skipped(&self, merchant: MerchantId) -> bool {
        self.skipped.contains(&store_key(merchant))
    }

    /// Records stores that could not be read.
    pub(super) async fn skip_stores(&mut self, merchants: &[MerchantId]) -> Result<(), IndexError> {
        let keys: Vec<ProductKey> = merchants.iter().map(|merchant| store_key(*merchant)).collect();
        self.skip(&keys).await
    }

    /// Records rows that could not be read. They are stored before the cursor passes the events that named them.
    pub(super) async fn skip(&mut self, keys: &[ProductKey]) -> Result<(), IndexError> {
        let new: Vec<ProductKey> =
            keys.iter().filter(|key| !self.skipped.contains(*key)).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let shard_id = self.lease.shard_id;
        tracing::error!(
            ?shard_id,
            rows = new.len(),
            "rows cannot be read; they are skipped and tried again later"
        );
        let mut work = Work::for_platform(&self.database).await?;
        table::put_skipped(&mut work, shard_id, &new).await?;
        work.commit().await?;
        self.skipped.extend(new);
        self.record_skipped();
        Ok(())
    }

    /// Tries the skipped rows again, publishes those that can be read now, and then forgets them.
    pub(super) async fn retry_skipped(&mut self) -> Result<(), IndexError> {
        if self.skipped.is_empty() {
            return Ok(());
        }
        let (stores, products): (Vec<ProductKey>, Vec<ProductKey>) =
            self.skipped.iter().partition(|(_, product)| product.uuid().is_nil());
        let mut read = self.retry_stores(&stores).await?;
        read.extend(self.retry_products(&products).await?);
        if read.is_empty() {
            return Ok(());
        }
        self.publish(false).await?;
        let mut work = Work::for_platform(&self.database).await?;
        table::delete_skipped(&mut work, self.lease.shard_id, &read).await?;
        work.commit().await?;
        for key in &read {
            self.skipped.remove(key);
        }
        self.record_skipped();
        Ok(())
    }

    /// Indexes all products of the stores that can be read now, and returns those stores.
    async fn retry_stores(&mut self, keys: &[ProductKey]) -> Result<Vec<ProductKey>, IndexError> {
        let merchants: Vec<MerchantId> = keys.iter().map(|(merchant, _)| *merchant).collect();
        let read = merchants::stores_of(&self.reading, &merchants).await?;
        let unreadable: HashSet<MerchantId> = read.unreadable.into_iter().collect();
        self.cache_stores(read.stores);
        let mut readable = Vec::new();
        for merchant in merchants.into_iter().filter(|merchant| !unreadable.contains(merchant)) {
            self.skipped.remove(&store_key(merchant));
            self.reindex_store(merchant).await?;
            readable.push(store_key(merchant));
        }
        Ok(readable)
    }

    /// Indexes the products that can be read now, and returns them. The products of a store that cannot be read wait for it.
    async fn retry_products(&mut self, keys: &[ProductKey]) -> Result<Vec<ProductKey>, IndexError> {
        let mut readable = Vec::new();
        let keys: Vec<ProductKey> = keys
            .iter()
            .filter(|(merchant, _)| !self.is_store_skipped(*merchant))
            .copied()
            .collect();
        self.load_unknown_stores(keys.iter().map(|(merchant, _)| *merchant)).await?;
        for keys in keys.chunks(PRODUCTS) {
            readable.extend(self.index_products(keys).await?);
        }
        Ok(readable)
    }

    /// Updates products to their current state, and returns those that could be read.
    pub(super) async fn index_products(
        &mut self,
        keys: &[ProductKey],
    ) -> Result<Vec<ProductKey>, IndexError> {
        let read = catalog::read_products(&self.reading, keys).await?;
        self.skip(&read.unreadable).await?;
        let unreadable: HashSet<ProductKey> = read.unreadable.into_iter().collect();
        let mut listed: HashMap<ProductId, _> =
            read.products.into_iter().map(|(_, product)| (product.id, product)).collect();
        let readable: Vec<ProductKey> =
            keys.iter().filter(|key| !unreadable.contains(*key)).copied().collect();
        let changes = readable.iter().map(|(merchant, id)| Change {
            merchant: *merchant,
            id: *id,
            product: listed.remove(id).map(Box::new),
        });
        // A product that is listed stays as it is in the index while its store cannot be read.
        let changes: Vec<Change> = changes
            .filter(|change| change.product.is_none() || !self.is_store_skipped(change.merchant))
            .collect();
        self.apply(changes).await?;
        Ok(readable)
    }

    fn record_skipped(&self) {
        let shard = self.lease.shard_id.shard.to_string();
        #[expect(clippy::cast_precision_loss, reason = "a metric needs no exact value")]
        metrics::gauge!("souk_search_skipped_rows", "shard" => shard)
            .set(self.skipped.len() as f64);
    }
}
