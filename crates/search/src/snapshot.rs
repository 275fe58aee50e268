//! What can be searched right now.

use std::time::{Duration, Instant};

use database::shard_of;
use primitives::MerchantId;
use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::Field;
use tantivy::{Searcher, Term};

use crate::columns::OpenIndex;

/// All shards of one generation, each at one version.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) generation: i32,
    /// By their ranges of virtual shards, which leave no gap.
    pub(crate) shards: Vec<ShardView>,
}

/// One shard at one version.
#[derive(Clone)]
pub(crate) struct ShardView {
    pub(crate) shard: i16,
    pub(crate) index: OpenIndex,
    pub(crate) version: i64,
    /// Everything that was committed before this is in it.
    pub(crate) caught_up: Instant,
    pub(crate) virtual_from: u16,
    pub(crate) virtual_to: u16,
}

impl View {
    /// How much older than the database the oldest shard is.
    pub(crate) fn age(&self) -> Duration {
        self.shards.iter().map(|shard| shard.caught_up.elapsed()).max().unwrap_or_default()
    }

    /// How many products are in it.
    pub(crate) fn documents(&self) -> u64 {
        self.shards.iter().map(|shard| shard.index.searcher.num_docs()).sum()
    }

    /// The shards in which these merchants lie; all of them, if none is named.
    pub(crate) fn of(&self, merchants: &[MerchantId]) -> Vec<&ShardView> {
        let places: Vec<u16> = merchants.iter().map(|merchant| shard_of(*merchant)).collect();
        let holds = |shard: &&ShardView| {
            let range = shard.virtual_from..=shard.virtual_to;
            places.is_empty() || places.iter().any(|place| range.contains(place))
        };
        self.shards.iter().filter(holds).collect()
    }

    /// Whether it shows the same, and is of the same age.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let essence = |view: &Self| -> Vec<_> {
            let shards = view.shards.iter();
            shards.map(|shard| (shard.shard, shard.version, shard.caught_up)).collect()
        };
        self.generation == other.generation && essence(self) == essence(other)
    }

    /// The shard that a virtual shard of merchants lies in.
    pub(crate) fn shard_of(&self, virtual_shard: u16) -> Option<&ShardView> {
        let holds =
            |shard: &&ShardView| (shard.virtual_from..=shard.virtual_to).contains(&virtual_shard);
        self.shards.iter().find(holds)
    }
}

/// The frequencies of words over several shards: a word is as rare in each as it is in all.
pub(crate) struct Frequencies<'view>(pub(crate) &'view [&'view ShardView]);

impl Frequencies<'_> {
    fn sum(&self, of_one: impl Fn(&Searcher) -> tantivy::Result<u64>) -> tantivy::Result<u64> {
        self.0.iter().map(|shard| of_one(&shard.index.searcher)).sum()
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
