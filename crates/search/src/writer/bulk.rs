//! Changes of stores that change many products at once. They wait in `platform.search_bulk` while the cursor passes their
//! events, and are applied store by store, for a limited time between two publications. A publication deletes the rows that
//! it contains, in its own transaction, so that a crash loses none.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use catalog::ProductKey;
use database::Work;
use primitives::{MerchantId, ProductId, Timestamp};

use super::shard_writer::{PRODUCTS, ShardWriter};
use super::waiting::SMALL_MAX;
use crate::IndexError;
use crate::table::{self, WaitingChange};

/// Changes read per turn of a store.
const CHANGES: i64 = 2_000;
/// Changes applied at once.
const CHUNK: usize = 200;
/// After a failure: by how much more is tried with each turn that succeeds.
const CHUNK_GROWTH: usize = 5;
/// How long a store whose changes could not be applied waits for its next turn.
const PAUSE: Duration = Duration::from_secs(5);
/// Time for which changes are applied between two publications: small changes wait no longer than this.
const TURN_MAX: Duration = Duration::from_millis(250);

/// The stores whose changes wait in PostgreSQL.
#[derive(Debug, Default)]
pub(super) struct Bulk {
    /// In the order of their turns.
    stores: VecDeque<BulkStore>,
    /// Changes of the first store that are applied and not published.
    pub(super) applied: Vec<WaitingChange>,
}

#[derive(Debug)]
struct BulkStore {
    merchant: MerchantId,
    /// Every change of the store committed before this time is published.
    since: Timestamp,
    /// Changes applied at once: fewer after a failure.
    chunk: usize,
    /// After a failure: the store has no turn before.
    paused_until: Option<Instant>,
}

impl BulkStore {
    const fn new(merchant: MerchantId, since: Timestamp) -> Self {
        Self { merchant, since, chunk: CHUNK, paused_until: None }
    }

    fn is_ready(&self, now: Instant) -> bool {
        self.paused_until.is_none_or(|until| until <= now)
    }
}

impl Bulk {
    pub(super) fn new(stores: Vec<(MerchantId, Timestamp)>) -> Self {
        let store = |(merchant, since)| BulkStore::new(merchant, since);
        Self { stores: stores.into_iter().map(store).collect(), applied: Vec::new() }
    }

    pub(super) fn contains(&self, merchant: MerchantId) -> bool {
        self.stores.iter().any(|store| store.merchant == merchant)
    }

    /// Returns whether a store can have its turn now.
    pub(super) fn is_ready(&self) -> bool {
        let now = Instant::now();
        self.stores.iter().any(|store| store.is_ready(now))
    }

    /// Moves the next store that can have its turn to the front, and returns it with the number of changes to apply at
    /// once.
    fn next_turn(&mut self, now: Instant) -> Option<(MerchantId, usize)> {
        let next = self.stores.iter().position(|store| store.is_ready(now))?;
        self.stores.rotate_left(next);
        self.stores.front().map(|store| (store.merchant, store.chunk))
    }

    /// The changes of the first store could not be applied: the others have their turns, and fewer are tried next time.
    /// Changes that were applied before remain in front until they are published.
    fn fail_turn(&mut self, now: Instant) {
        if let Some(store) = self.stores.front_mut() {
            store.chunk = (store.chunk / 2).max(1);
            store.paused_until = Some(now + PAUSE);
        }
        if self.applied.is_empty() && !self.stores.is_empty() {
            self.stores.rotate_left(1);
        }
    }

    /// A chunk of the first store was applied.
    fn extend_applied(&mut self, changes: &[WaitingChange]) {
        self.applied.extend_from_slice(changes);
        if let Some(store) = self.stores.front_mut() {
            store.paused_until = None;
        }
    }

    pub(super) fn merchants(&self) -> Vec<MerchantId> {
        self.stores.iter().map(|store| store.merchant).collect()
    }

    /// Returns the time before which every committed change of these stores is published; `None` without stores.
    pub(super) fn published_until(&self) -> Option<Timestamp> {
        self.stores.iter().map(|store| store.since).min()
    }

    /// Adds the stores of these changes that have none yet.
    fn insert(&mut self, changes: &[WaitingChange]) {
        let mut since: BTreeMap<MerchantId, Timestamp> = BTreeMap::new();
        for change in changes.iter().filter(|change| !self.contains(change.merchant)) {
            let oldest = since.entry(change.merchant).or_insert(change.since);
            *oldest = change.since.min(*oldest);
        }
        let store = |(merchant, since)| BulkStore::new(merchant, since);
        self.stores.extend(since.into_iter().map(store));
    }

    /// The applied changes are published and deleted: the next store has its turn.
    pub(super) fn finish_turn(&mut self) {
        let Some(newest) = self.applied.iter().map(|change| change.since).max() else { return };
        self.applied.clear();
        if let Some(mut store) = self.stores.pop_front() {
            // Changes are applied in this order, so all others are newer.
            store.since = newest.max(store.since);
            if store.paused_until.is_none() {
                store.chunk = (store.chunk + CHUNK_GROWTH).min(CHUNK);
            }
            self.stores.push_back(store);
        }
    }
}

impl ShardWriter<'_> {
    /// Loads the stores whose changes wait since an earlier holder of the lease.
    pub(super) async fn load_bulk(&mut self) -> Result<(), IndexError> {
        let shard_id = self.lease.shard_id;
        let stores: Result<_, IndexError> =
            self.reading.run(async |sql| Ok(table::bulk_stores(sql, shard_id).await?)).await;
        self.bulk = Bulk::new(stores?);
        Ok(())
    }

    /// Stores changes in PostgreSQL, where they wait.
    pub(super) async fn put_bulk(&mut self, changes: &[WaitingChange]) -> Result<(), IndexError> {
        let mut distinct: HashMap<ProductKey, WaitingChange> = HashMap::new();
        for change in changes {
            let known = distinct.entry((change.merchant, change.product)).or_insert(*change);
            known.since = known.since.min(change.since);
            known.position = known.position.max(change.position);
        }
        let distinct: Vec<WaitingChange> = distinct.into_values().collect();
        if distinct.is_empty() {
            return Ok(());
        }
        let shard_id = self.lease.shard_id;
        let mut work = Work::for_platform(&self.database).await?;
        // The next holder of the lease reads the rows when it starts, and must not miss some.
        if !table::lock_lease(&mut work, shard_id, self.lease.token).await? {
            return Err(IndexError::LeaseLost);
        }
        table::put_bulk(&mut work, shard_id, &distinct).await?;
        work.commit().await?;
        self.bulk.insert(&distinct);
        Ok(())
    }

    /// Applies changes of the store whose turn it is, for a limited time. They are deleted with the next publication;
    /// until then no other store has its turn. A failure that can be retried ends the turn only.
    pub(super) async fn apply_bulk(&mut self) -> Result<(), IndexError> {
        if !self.bulk.applied.is_empty() {
            return Ok(());
        }
        let Some((merchant, chunk)) = self.bulk.next_turn(Instant::now()) else {
            return Ok(());
        };
        match self.apply_turn(merchant, chunk).await {
            Err(error) if error.is_retryable() => {
                tracing::warn!(%error, %merchant, chunk, "indexing many products of a store failed; it is retried");
                self.bulk.fail_turn(Instant::now());
                Ok(())
            }
            applied => applied,
        }
    }

    async fn apply_turn(&mut self, merchant: MerchantId, chunk: usize) -> Result<(), IndexError> {
        let (started, shard_id) = (Instant::now(), self.lease.shard_id);
        let changes: Result<Vec<WaitingChange>, IndexError> = self
            .reading
            .run(async |sql| Ok(table::next_bulk(sql, shard_id, merchant, CHANGES).await?))
            .await;
        let changes = changes?;
        if changes.is_empty() {
            self.bulk.stores.pop_front();
            return Ok(());
        }
        self.load_unknown_stores([merchant]).await?;
        for changes in changes.chunks(chunk) {
            let keys: Vec<ProductKey> =
                changes.iter().map(|change| (change.merchant, change.product)).collect();
            self.index_products(&keys).await?;
            self.bulk.extend_applied(changes);
            // Also if no document changed: a publication deletes the rows.
            self.is_changed = true;
            if started.elapsed() >= TURN_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Indexes all listed products of a store: at once if they are few, otherwise in bulk.
    pub(super) async fn reindex_store(&mut self, merchant: MerchantId) -> Result<(), IndexError> {
        if !self.bulk.applied.is_empty() {
            // Otherwise the next publication would delete rows that this adds again.
            self.publish(false).await?;
        }
        let limit = i64::try_from(SMALL_MAX).unwrap_or(i64::MAX);
        let mut after: Option<ProductId> = None;
        loop {
            let keys = catalog::product_keys_after(&self.reading, merchant, after, limit).await?;
            let is_end = keys.len() < SMALL_MAX;
            if is_end && after.is_none() {
                for keys in keys.chunks(PRODUCTS) {
                    self.index_products(keys).await?;
                }
                return Ok(());
            }
            let since = self.reading.run(async |sql| sql.now().await).await?;
            let change = |(merchant, product): &ProductKey| {
                // Less than the position of any event.
                WaitingChange { merchant: *merchant, product: *product, since, position: 0 }
            };
            let changes: Vec<WaitingChange> = keys.iter().map(change).collect();
            self.put_bulk(&changes).await?;
            after = keys.last().map(|(_, product)| *product).or(after);
            if is_end {
                return Ok(());
            }
        }
    }

    /// Loads the stores of these merchants that are not loaded yet.
    pub(super) async fn load_unknown_stores(
        &mut self,
        merchants: impl IntoIterator<Item = MerchantId>,
    ) -> Result<(), IndexError> {
        let unknown: HashSet<MerchantId> =
            merchants.into_iter().filter(|merchant| !self.knows_store(*merchant)).collect();
        self.load_stores(unknown).await
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    fn merchant(number: u128) -> MerchantId {
        MerchantId::from_uuid(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn a_failing_store_does_not_keep_the_others_from_their_turns() {
        let since: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut bulk = Bulk::new(vec![(merchant(1), since), (merchant(2), since)]);
        let now = Instant::now();
        assert_eq!(bulk.next_turn(now), Some((merchant(1), CHUNK)));
        bulk.fail_turn(now);
        assert_eq!(bulk.next_turn(now), Some((merchant(2), CHUNK)));
        let product = ProductId::from_uuid(uuid::Uuid::from_u128(9));
        bulk.extend_applied(&[WaitingChange {
            merchant: merchant(2),
            product,
            since,
            position: 1,
        }]);
        bulk.finish_turn();
        assert_eq!(bulk.next_turn(now), Some((merchant(2), CHUNK)), "the other one waits");
        bulk.fail_turn(now);
        assert_eq!(bulk.next_turn(now), None);
        assert!(!bulk.is_ready());
        let later = now + PAUSE;
        assert_eq!(bulk.next_turn(later), Some((merchant(1), CHUNK / 2)));
        for _ in 0..20 {
            bulk.fail_turn(later);
        }
        assert!(bulk.stores.iter().all(|store| store.chunk >= 1));
    }
}
