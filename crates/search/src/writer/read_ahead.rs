//! Reads the outbox ahead of what is applied, and divides the changes: those of stores with few wait in memory, those of
//! stores with many in PostgreSQL.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::ProductKey;
use jobs::Event;
use primitives::{Id, MerchantId, ProductId, Timestamp};

use super::shard_writer::{PRODUCTS, ShardWriter};
use crate::IndexError;
use crate::table::{CaughtUpTimes, WaitingChange};

/// Events that concern the index.
const TOPICS: [&str; 3] = ["product.changed", "product.retired", "store.changed"];
const STORE_CHANGED: &str = "store.changed";
/// Events per query.
const EVENTS: usize = 2_000;
/// Time for which batches are read before changes are applied.
const READ_MAX: Duration = Duration::from_millis(200);

impl ShardWriter<'_> {
    /// Reads the outbox to its end, or for a limited time. Returns whether the end was reached.
    pub(super) async fn read_ahead(&mut self, now: Option<Timestamp>) -> Result<bool, IndexError> {
        let started = Instant::now();
        loop {
            let is_end = self.read_batch(now).await?;
            if is_end || started.elapsed() >= READ_MAX {
                return Ok(is_end);
            }
        }
    }

    /// Reads a batch of the outbox. Returns whether it ends there. `now` is a time before the read.
    async fn read_batch(&mut self, now: Option<Timestamp>) -> Result<bool, IndexError> {
        let limit = i64::try_from(EVENTS).unwrap_or(i64::MAX);
        let batch = jobs::read_topics(&self.reading, &self.head, &TOPICS, limit).await?;
        let is_end = batch.events.len() < EVENTS;
        // The position of an event is assigned after its transaction began. So whatever was committed before that time
        // has a lower position, or is in an earlier window, and was read before. At the end of the outbox, everything
        // committed before the read was read.
        let newest = batch.events.iter().map(|event| event.at).max();
        let read_until = newest.max(now.filter(|_| is_end));
        self.apply_store_changes(&batch.events).await?;
        let (small, bulk, leaving) = self.divide(&batch.events);
        self.put_bulk(&bulk).await?;
        for merchant in leaving {
            self.waiting.remove_store(merchant);
        }
        let before = std::mem::replace(&mut self.head, batch.next);
        self.waiting.push(before, &small, read_until);
        self.update_position();
        Ok(is_end)
    }

    /// Divides the changed products of a batch into those that wait in memory and those that wait in PostgreSQL. Stores
    /// that now have too many changes leave memory, with those that wait already.
    fn divide(
        &self,
        events: &[Event],
    ) -> (Vec<WaitingChange>, Vec<WaitingChange>, HashSet<MerchantId>) {
        let ours = events
            .iter()
            .filter(|event| self.owns(event.merchant) && event.topic != STORE_CHANGED)
            .map(|event| WaitingChange {
                merchant: event.merchant,
                product: ProductId::from_uuid(event.subject),
                since: event.at,
                position: event.position,
            });
        let (mut bulk, small): (Vec<_>, Vec<_>) =
            ours.partition(|change| self.bulk.contains(change.merchant));
        let leaving = self.waiting.overflowing(&small);
        let (more, small): (Vec<_>, Vec<_>) =
            small.into_iter().partition(|change| leaving.contains(&change.merchant));
        bulk.extend(more);
        for merchant in &leaving {
            bulk.extend(self.waiting.of_store(*merchant));
        }
        (small, bulk, leaving)
    }

    /// Loads the stores that changed, and reindexes those whose languages changed.
    async fn apply_store_changes(&mut self, events: &[Event]) -> Result<(), IndexError> {
        let changed = events.iter().filter(|event| event.topic == STORE_CHANGED);
        let changed: HashSet<MerchantId> =
            changed.map(|event| event.merchant).filter(|merchant| self.owns(*merchant)).collect();
        self.load_stores(changed.clone()).await?;
        for merchant in changed {
            self.reindex_if_languages_changed(merchant).await?;
        }
        Ok(())
    }

    /// Reindexes the products of a store if its languages changed.
    async fn reindex_if_languages_changed(
        &mut self,
        merchant: MerchantId,
    ) -> Result<(), IndexError> {
        let Some(store) = self.stores.get(&merchant).cloned() else { return Ok(()) };
        let current = Arc::clone(&store);
        if !self
            .blocking(move |working_copy| Ok(working_copy.languages.differ_from(&current)))
            .await?
        {
            return Ok(());
        }
        self.reindex_store(merchant).await?;
        self.blocking(move |working_copy| {
            working_copy.languages.record(&store);
            Ok(())
        })
        .await
    }

    /// Applies the next changes that wait in memory.
    pub(super) async fn apply_small(&mut self) -> Result<(), IndexError> {
        let changes = self.waiting.next(PRODUCTS);
        self.load_unknown_stores(changes.iter().map(|change| change.merchant)).await?;
        let keys: Vec<ProductKey> =
            changes.iter().map(|change| (change.merchant, change.product)).collect();
        if !keys.is_empty() {
            self.index_products(&keys).await?;
        }
        self.waiting.finish(&changes);
        self.update_position();
        Ok(())
    }

    /// Everything before the position is applied, or waits in PostgreSQL.
    fn update_position(&mut self) {
        self.cursor = self.waiting.position().unwrap_or(&self.head).clone();
    }

    /// Reports the times before which every committed change is published, while all changes that are applied are.
    pub(super) fn report_caught_up(&self) {
        if self.is_changed {
            return;
        }
        let Some(small) = self.waiting.applied_until() else { return };
        let all = self.bulk.published_until().map_or(small, |bulk| bulk.min(small));
        let bulk_merchants = self.bulk.merchants();
        self.record_waiting();
        self.lease.set_caught_up(CaughtUpTimes { all, small, bulk_merchants });
    }

    fn record_waiting(&self) {
        let shard = self.lease.shard_id.shard.to_string();
        let counts = [
            ("souk_search_waiting_changes", self.waiting.len()),
            ("souk_search_bulk_stores", self.bulk.merchants().len()),
        ];
        for (name, count) in counts {
            #[expect(clippy::cast_precision_loss, reason = "a metric needs no exact value")]
            metrics::gauge!(name, "shard" => shard.clone()).set(count as f64);
        }
    }
}
