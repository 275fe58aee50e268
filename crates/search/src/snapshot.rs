//! A searchable state of the index.

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::shard_of;
use primitives::MerchantId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::columns::OpenIndex;

/// All shards of one generation, each at one version.
#[derive(Clone)]
pub(crate) struct IndexSnapshot {
    pub(crate) generation: i32,
    /// In the order of their ranges of virtual shards, which have no gaps.
    pub(crate) shards: Vec<ShardSnapshot>,
}

/// One shard at one version.
#[derive(Clone)]
pub(crate) struct ShardSnapshot {
    pub(crate) shard: i16,
    pub(crate) index: OpenIndex,
    pub(crate) version: i64,
    /// Every change committed before this time is included.
    pub(crate) caught_up: Instant,
    /// The same for the changes of all stores but the `bulk_merchants`.
    pub(crate) small_caught_up: Instant,
    /// Stores that change many products at once: some of their changes are not included yet.
    pub(crate) bulk_merchants: Arc<[MerchantId]>,
    pub(crate) virtual_from: u16,
    pub(crate) virtual_to: u16,
}

impl IndexSnapshot {
    /// Returns how far a search of these merchants is behind the database. For an empty list, of all merchants but those
    /// that change many products at once: their changes delay no others.
    pub(crate) fn age_of(&self, merchants: &[MerchantId]) -> Duration {
        let of_shard = |shard: &ShardSnapshot| shard.small_caught_up.elapsed();
        let of_merchant = |merchant: &MerchantId| {
            let shard = self.shard_of(shard_of(*merchant))?;
            let is_bulk = shard.bulk_merchants.contains(merchant);
            Some(if is_bulk { shard.caught_up.elapsed() } else { of_shard(shard) })
        };
        let age = if merchants.is_empty() {
            self.shards.iter().map(of_shard).max()
        } else {
            merchants.iter().filter_map(of_merchant).max()
        };
        age.unwrap_or_default()
    }

    /// Returns the number of products.
    pub(crate) fn documents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.index.searcher.num_docs()).sum()
    }

    /// Returns the shards of these merchants; all shards for an empty list.
    pub(crate) fn shards_of(&self, merchants: &[MerchantId]) -> Vec<&ShardSnapshot> {
        let virtual_shards: Vec<u16> =
            merchants.iter().map(|merchant| shard_of(*merchant)).collect();
        let holds = |shard: &&ShardSnapshot| {
            let range = shard.virtual_from..=shard.virtual_to;
            virtual_shards.is_empty() || virtual_shards.iter().any(|shard| range.contains(shard))
        };
        self.shards.iter().filter(holds).collect()
    }

    /// Returns whether both have the same shards, versions and age.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let versions = |snapshot: &Self| -> Vec<_> {
            let shards = snapshot.shards.iter();
            let times = |shard: &ShardSnapshot| (shard.caught_up, shard.small_caught_up);
            shards.map(|shard| (shard.shard, shard.version, times(shard))).collect()
        };
        self.generation == other.generation && versions(self) == versions(other)
    }

    /// Returns the shard that contains a virtual shard of merchants.
    pub(crate) fn shard_of(&self, virtual_shard: u16) -> Option<&ShardSnapshot> {
        let holds = |shard: &&ShardSnapshot| {
            (shard.virtual_from..=shard.virtual_to).contains(&virtual_shard)
        };
        self.shards.iter().find(holds)
    }
}

/// BM25 statistics over several shards, so that scores of different shards are comparable.
pub(crate) struct Frequencies<'snapshot>(pub(crate) &'snapshot [&'snapshot ShardSnapshot]);

impl Frequencies<'_> {
    fn sum(&self, of_shard: impl Fn(&Searcher) -> tantivy::Result<u64>) -> tantivy::Result<u64> {
        self.0.iter().map(|shard| of_shard(&shard.index.searcher)).sum()
    }
}

impl Bm25StatisticsProvider for Frequencies<'_> {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        self.sum(|searcher| searcher.total_num_tokens(field))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        self.sum(Bm25StatisticsProvider::total_num_docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        self.sum(|searcher| Bm25StatisticsProvider::doc_freq(searcher, term))
    }
}
