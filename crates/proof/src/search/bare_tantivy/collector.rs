//! Collects the first twenty hits by relevance and trust, and the exact total.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::ColumnValues;
use tantivy::{DocAddress, DocId, Score, SegmentOrdinal, SegmentReader};

use crate::search::synthetic_catalog::LIMIT;

/// The filters of a query.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    pub(super) max_price: Option<u64>,
    pub(super) in_stock_only: bool,
}

/// The collector.
pub(super) struct TopHits {
    pub(super) factors: Arc<[f32]>,
    pub(super) filters: Filters,
}

/// A hit.
pub(super) struct Hit {
    score: Score,
    tie: u64,
    pub(super) address: DocAddress,
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.tie.cmp(&self.tie))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Hit {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Hit {}

/// The first hits, best first, and the total.
pub(super) struct SearchResults {
    pub(super) best: Vec<Hit>,
    pub(super) total: u64,
}

/// The collector of one segment.
pub(super) struct SegmentTopHits {
    factors: Arc<[f32]>,
    filters: Filters,
    segment: SegmentOrdinal,
    store: Arc<dyn ColumnValues<u64>>,
    price: Arc<dyn ColumnValues<u64>>,
    stock: Arc<dyn ColumnValues<u64>>,
    tie: Arc<dyn ColumnValues<u64>>,
    best: BinaryHeap<Reverse<Hit>>,
    /// Minimum score to be among the first hits.
    threshold: Score,
    total: u64,
}

impl Collector for TopHits {
    type Fruit = SearchResults;
    type Child = SegmentTopHits;

    fn for_segment(
        &self,
        segment: SegmentOrdinal,
        reader: &SegmentReader,
    ) -> tantivy::Result<SegmentTopHits> {
        let column = |name: &str| reader.fast_fields().column_first_or_default(name);
        Ok(SegmentTopHits {
            factors: Arc::clone(&self.factors),
            filters: self.filters,
            segment,
            store: column("store")?,
            price: column("price")?,
            stock: column("stock")?,
            tie: column("tie")?,
            best: BinaryHeap::with_capacity(LIMIT + 1),
            threshold: Score::MIN,
            total: 0,
        })
    }

    fn requires_scoring(&self) -> bool {
        true
    }

    fn merge_fruits(&self, segments: Vec<SearchResults>) -> tantivy::Result<SearchResults> {
        let total = segments.iter().map(|results| results.total).sum();
        let mut best: Vec<Hit> = segments.into_iter().flat_map(|results| results.best).collect();
        best.sort_unstable_by(|left, right| right.cmp(left));
        best.truncate(LIMIT);
        Ok(SearchResults { best, total })
    }
}

impl SegmentCollector for SegmentTopHits {
    type Fruit = SearchResults;

    fn collect(&mut self, doc: DocId, score: Score) {
        let number = usize::try_from(self.store.get_val(doc)).unwrap_or(0);
        let factor = self.factors[number];
        let Filters { max_price, in_stock_only } = self.filters;
        if factor == 0.0
            || max_price.is_some_and(|most| self.price.get_val(doc) > most)
            || (in_stock_only && self.stock.get_val(doc) == 0)
        {
            return;
        }
        self.total += 1;
        let score = score * factor;
        if score < self.threshold {
            return;
        }
        let address = DocAddress::new(self.segment, doc);
        self.best.push(Reverse(Hit { score, tie: self.tie.get_val(doc), address }));
        if self.best.len() > LIMIT {
            self.best.pop();
            self.threshold = self.best.peek().map_or(Score::MIN, |worst| worst.0.score);
        }
    }

    fn harvest(self) -> SearchResults {
        SearchResults { best: self.best.into_iter().map(|hit| hit.0).collect(), total: self.total }
    }
}
