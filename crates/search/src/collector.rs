//! Collects the results of a query: filters matching documents, counts them, and retains the best.
//!
//! A collector has a budget of documents. If a query matches more, the collector visits an even sample of the
//! index: stripes of consecutive documents, spread over all stores, the same for every page of a search. Counts are
//! then scaled up and marked as estimates. Exact matches are collected before, so a sample never misses them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::query::{EnableScoring, Query as IndexQuery, Scorer, Weight};
use tantivy::{DocAddress, DocId, DocSet, SegmentReader, TERMINATED};

use crate::columns::{Columns, Run};
use crate::diversity::Candidates;
use crate::facets::{FacetCounts, SegmentFacetCounts};
use crate::rank::{Candidate, SortKey, Tuning};
use crate::snapshot::{Frequencies, ShardSnapshot};
use crate::store_directory::{RankingInputs, StoreDirectory, to_f32};
use crate::{Filters, Sort};

/// Documents per stripe: enough that seeking to it costs little compared with visiting it.
const STRIPE: u32 = 2048;

/// A candidate for the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) sort_key: SortKey,
    /// Index of the shard among those searched.
    pub(crate) shard: usize,
    /// Number of the store.
    pub(crate) store: u32,
    /// Segment ordinal and document.
    pub(crate) address: (u32, DocId),
}

impl Hit {
    pub(crate) fn address(&self) -> DocAddress {
        DocAddress::new(self.address.0, self.address.1)
    }
}

/// Collects the results of one query over all shards.
pub(crate) struct Collector<'search> {
    pub(crate) directory: &'search StoreDirectory,
    pub(crate) tuning: &'search Tuning,
    pub(crate) filters: &'search Filters,
    pub(crate) sort: Sort,
    /// Last rank group whose stores are included.
    pub(crate) group_max: u8,
    /// Only results after this one.
    pub(crate) after: Option<SortKey>,
    /// Results to retain.
    pub(crate) limit: usize,
    /// Documents to visit; `None`: all.
    pub(crate) budget: Option<u64>,
    /// Time at which freshness is computed, in seconds since the Unix epoch.
    pub(crate) now: i64,
    /// A document to leave out, with the index of its shard.
    pub(crate) excluded: Option<(usize, DocAddress)>,
    pub(crate) best: BinaryHeap<Reverse<Hit>>,
    /// Candidates for the first results, before and after `after`; `None` unless results of a store are limited.
    pub(crate) candidates: Option<Candidates>,
    /// Number of matching documents, scaled up if a sample was visited.
    pub(crate) total: f64,
    pub(crate) is_estimate: bool,
    /// `None` unless facets are requested.
    pub(crate) facets: Option<FacetCounts>,
}

/// The stripes of a segment that are visited.
#[derive(Clone, Copy)]
struct Sample {
    /// Fraction of all stripes, as a fixed-point number with 32 fractional bits; `None`: all of them.
    fraction: Option<u64>,
}

impl Sample {
    fn of(budget: Option<u64>, cost: u64) -> Self {
        let fraction = budget.filter(|budget| *budget < cost).map(|budget| {
            let fixed_point = u128::from(budget.max(1)) << 32;
            u64::try_from(fixed_point / u128::from(cost)).unwrap_or(u64::MAX).max(1)
        });
        Self { fraction }
    }

    /// Returns whether a stripe is visited. Visited stripes are spread evenly.
    fn includes(self, stripe: u32) -> bool {
        let Some(fraction) = self.fraction else { return true };
        let upto = |stripe: u64| (stripe.wrapping_mul(fraction).wrapping_add(1 << 31)) >> 32;
        let stripe = u64::from(stripe);
        upto(stripe + 1) != upto(stripe)
    }

    /// Returns the next document to visit, if this one is in a stripe that is not visited.
    fn skip(self, doc: DocId, max_doc: u32) -> Option<DocId> {
        self.fraction?;
        let mut stripe = doc / STRIPE;
        if self.includes(stripe) {
            return None;
        }
        while !self.includes(stripe) && stripe * STRIPE < max_doc {
            stripe += 1;
        }
        Some((stripe * STRIPE).min(max_doc))
    }

    /// Returns how many of the documents up to `max_doc` are visited.
    fn documents(self, max_doc: u32) -> u32 {
        let stripes = (0..max_doc.div_ceil(STRIPE)).filter(|stripe| self.includes(*stripe));
        stripes.map(|stripe| (max_doc - stripe * STRIPE).min(STRIPE)).sum()
    }
}

impl Collector<'_> {
    /// Collects the documents that match the query, without the exact matches collected before.
    pub(crate) fn collect(
        &mut self,
        shards: &[&ShardSnapshot],
        query: &dyn IndexQuery,
        exact: &ExactMatches,
        scored: bool,
    ) -> tantivy::Result<()> {
        let frequencies = Frequencies(shards);
        let mut weights = Vec::with_capacity(shards.len());
        let mut cost = 0;
        for shard in shards {
            let searcher = &shard.index.searcher;
            let weight = query.weight(if scored {
                EnableScoring::enabled_from_statistics_provider(&frequencies, searcher)
            } else {
                EnableScoring::disabled_from_searcher(searcher)
            })?;
            if self.budget.is_some() {
                for segment in searcher.segment_readers() {
                    cost += weight.scorer(segment, 1.0)?.cost();
                }
            }
            weights.push(weight);
        }
        let sample = Sample::of(self.budget, cost);
        self.is_estimate |= sample.fraction.is_some();
        for (number, (shard, weight)) in shards.iter().zip(&weights).enumerate() {
            for (ordinal, segment, columns) in shard.index.segments() {
                let context = SegmentContext { segment, columns, location: (number, ordinal) };
                self.collect_segment(&context, weight.as_ref(), exact.of(number, ordinal), sample)?;
            }
        }
        Ok(())
    }

    fn collect_segment(
        &mut self,
        context: &SegmentContext<'_>,
        weight: &dyn Weight,
        exact: &[DocId],
        sample: Sample,
    ) -> tantivy::Result<()> {
        let max_doc = context.segment.max_doc();
        let mut segment = SegmentCollector::open(self, context, exact)?;
        if sample.fraction.is_none() {
            weight.for_each(context.segment, &mut |doc, words| segment.collect(doc, words))?;
        } else {
            let mut scorer = weight.scorer(context.segment, 1.0)?;
            collect_sample(scorer.as_mut(), sample, max_doc, &mut |doc, words| {
                segment.collect(doc, words);
            });
        }
        let (matches, facets) = (f64::from(segment.matches), segment.facets.take());
        let visited = sample.documents(max_doc);
        let scale = if visited == 0 { 0.0 } else { f64::from(max_doc) / f64::from(visited) };
        self.total += matches * scale;
        if let (Some(total), Some(facets)) = (&mut self.facets, facets) {
            total.add(facets, scale)?;
        }
        Ok(())
    }

    /// Collects the documents whose name or identifier is the query.
    pub(crate) fn collect_exact(
        &mut self,
        shards: &[&ShardSnapshot],
        query: &dyn IndexQuery,
    ) -> tantivy::Result<ExactMatches> {
        let mut exact = ExactMatches(Vec::new());
        for (number, shard) in shards.iter().enumerate() {
            let weight =
                query.weight(EnableScoring::disabled_from_searcher(&shard.index.searcher))?;
            for (ordinal, segment, columns) in shard.index.segments() {
                let docs =
                    exact_of_segment(weight.scorer(segment, 1.0)?.as_mut(), segment, columns);
                if docs.is_empty() {
                    continue;
                }
                let context = SegmentContext { segment, columns, location: (number, ordinal) };
                let mut segment_collector = SegmentCollector::open(self, &context, &[])?;
                segment_collector.is_exact = true;
                for doc in &docs {
                    segment_collector.collect(*doc, 1.0);
                }
                let matches = f64::from(segment_collector.matches);
                let facets = segment_collector.facets.take();
                self.total += matches;
                if let (Some(total), Some(facets)) = (&mut self.facets, facets) {
                    total.add(facets, 1.0)?;
                }
                exact.0.push(((number, ordinal), docs));
            }
        }
        Ok(exact)
    }

    /// Returns the results, best first, and empties the collector.
    pub(crate) fn hits(&mut self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.best.drain().map(|Reverse(hit)| hit).collect();
        hits.sort_unstable_by(|left, right| right.cmp(left));
        hits
    }
}

/// Exact matches collected per segment.
const EXACT_MAX: usize = 10_000;
/// Exact matches collected per store and segment, so that a store with many equal names leaves room for others.
const EXACT_OF_STORE_MAX: usize = 100;

/// Returns the exact matches of a segment, a limited number of each store.
fn exact_of_segment(
    scorer: &mut dyn Scorer,
    segment: &SegmentReader,
    columns: &Columns,
) -> Vec<DocId> {
    let mut docs = Vec::new();
    let mut doc = scorer.doc();
    let (mut end, mut of_store) = (0, 0);
    while doc != TERMINATED && docs.len() < EXACT_MAX {
        if doc >= end {
            // Documents are sorted by store.
            let run = columns.stores.partition_point(|run| run.end <= doc);
            end = columns.stores.get(run).map_or(DocId::MAX, |run| run.end);
            of_store = 0;
        }
        if segment.alive_bitset().is_none_or(|alive| alive.is_alive(doc)) {
            docs.push(doc);
            of_store += 1;
        }
        doc = if of_store < EXACT_OF_STORE_MAX {
            scorer.advance()
        } else if end >= segment.max_doc() {
            TERMINATED
        } else {
            scorer.seek(end.max(doc + 1))
        };
    }
    docs
}

/// Documents whose name or identifier is the query, by shard and segment.
pub(crate) struct ExactMatches(Vec<((usize, u32), Vec<DocId>)>);

impl ExactMatches {
    pub(crate) const NONE: Self = Self(Vec::new());

    fn of(&self, shard: usize, segment: u32) -> &[DocId] {
        let found = self.0.iter().find(|(location, _)| *location == (shard, segment));
        found.map_or(&[], |(_, docs)| docs)
    }
}

fn collect_sample(
    scorer: &mut dyn Scorer,
    sample: Sample,
    max_doc: u32,
    collect: &mut dyn FnMut(DocId, f32),
) {
    let mut doc = scorer.doc();
    while doc != TERMINATED {
        doc = match sample.skip(doc, max_doc) {
            Some(next) if next >= max_doc => return,
            Some(next) => scorer.seek(next),
            None => {
                let words = scorer.score();
                collect(doc, words);
                scorer.advance()
            }
        };
    }
}

/// A segment in collection.
struct SegmentContext<'index> {
    segment: &'index SegmentReader,
    columns: &'index Columns,
    /// Index of the shard, and ordinal of the segment.
    location: (usize, u32),
}

/// Collects the results of one segment.
struct SegmentCollector<'collector, 'search> {
    collector: &'collector mut Collector<'search>,
    context: &'collector SegmentContext<'collector>,
    /// Exact matches, which were collected before.
    exact: &'collector [DocId],
    /// Whether the documents are exact matches.
    is_exact: bool,
    /// The current store and its documents.
    run: Run,
    ranking: RankingInputs,
    matches: u32,
    facets: Option<SegmentFacetCounts>,
    currency: Option<u64>,
    excluded: Option<DocId>,
    /// Sort key of the worst result retained, once the limit is reached.
    threshold: Option<SortKey>,
    /// Sort key that a result of the current store has to exceed to be a candidate for the first.
    candidate_threshold: Option<SortKey>,
}

impl<'collector, 'search> SegmentCollector<'collector, 'search> {
    fn open(
        collector: &'collector mut Collector<'search>,
        context: &'collector SegmentContext<'collector>,
        exact: &'collector [DocId],
    ) -> tantivy::Result<Self> {
        let facets = match &collector.facets {
            Some(_) => Some(SegmentFacetCounts::open(context.segment)?),
            None => None,
        };
        let currency = collector.filters.currency;
        let currency =
            currency.map(|currency| crate::document::currency_number(currency).unwrap_or(u64::MAX));
        let excluded = collector
            .excluded
            .filter(|(shard, address)| (*shard, address.segment_ord) == context.location);
        let threshold = threshold(&collector.best, collector.limit);
        Ok(Self {
            context,
            exact,
            is_exact: false,
            run: Run { end: 0, store: u32::MAX },
            ranking: collector.directory.ranking_inputs(u32::MAX),
            matches: 0,
            facets,
            currency,
            excluded: excluded.map(|(_, address)| address.doc_id),
            threshold,
            candidate_threshold: None,
            collector,
        })
    }

    /// Moves to the store of this document.
    #[cold]
    fn enter_store(&mut self, doc: DocId) {
        let stores = &self.context.columns.stores;
        let index = stores.partition_point(|run| run.end <= doc);
        self.run = stores.get(index).copied().unwrap_or(Run { end: DocId::MAX, store: u32::MAX });
        self.ranking = self.collector.directory.ranking_inputs(self.run.store);
        let candidates = self.collector.candidates.as_ref();
        self.candidate_threshold =
            candidates.and_then(|candidates| candidates.threshold(self.run.store));
    }

    /// Collects a matching document. Documents arrive in ascending order.
    fn collect(&mut self, doc: DocId, words: f32) {
        if self.context.segment.alive_bitset().is_some_and(|alive| alive.is_deleted(doc)) {
            return;
        }
        if doc >= self.run.end {
            self.enter_store(doc);
        }
        let (number, ranking) = (self.run.store, self.ranking);
        if ranking.group > self.collector.group_max || !self.passes_filters(doc, ranking) {
            return;
        }
        if !self.exact.is_empty() && self.exact.binary_search(&doc).is_ok() {
            return;
        }
        self.matches += 1;
        if let Some(facets) = &mut self.facets {
            facets.count(doc, number, ranking);
        }
        if let Some(sort_key) = self.sort_key(doc, words, ranking) {
            self.retain(sort_key, doc, number);
        }
    }

    fn passes_filters(&self, doc: DocId, ranking: RankingInputs) -> bool {
        let filters = self.collector.filters;
        if filters.price_micros_min.is_some() || filters.price_micros_max.is_some() {
            let price = self.context.columns.price.get_val(doc);
            let fits = filters.price_micros_min.is_none_or(|least| price >= least)
                && filters.price_micros_max.is_none_or(|most| price <= most);
            if !fits {
                return false;
            }
        }
        if filters.in_stock_only && !is_available(self.context.columns.stock.get_val(doc)) {
            return false;
        }
        if self
            .currency
            .is_some_and(|currency| self.context.columns.currency.get_val(doc) != currency)
        {
            return false;
        }
        if filters.trust_min.is_some_and(|least| ranking.score < to_f32(least)) {
            return false;
        }
        if self.excluded == Some(doc) {
            return false;
        }
        filters.band_min.is_none_or(|least| {
            ranking.is_scored() && merchants::Band::of(f64::from(ranking.score)) >= least
        })
    }

    /// Returns the sort key of a document, or `None` if it cannot be among the results.
    fn sort_key(&self, doc: DocId, words: f32, ranking: RankingInputs) -> Option<SortKey> {
        let collector = &*self.collector;
        let tie = || self.context.columns.tie.get_val(doc);
        let sort_key = match collector.sort {
            Sort::Relevance | Sort::Trust => {
                let RankingInputs { group, factor, score: trust } = ranking;
                let candidate = Candidate { words, group, trust, factor, is_exact: self.is_exact };
                let upper_bound = collector.tuning.primary(
                    collector.sort,
                    &candidate,
                    collector.tuning.lift_max(),
                );
                let is_below = |threshold: Option<SortKey>| {
                    threshold.is_some_and(|it| upper_bound < it.primary)
                };
                let is_candidate =
                    collector.candidates.is_some() && !is_below(self.candidate_threshold);
                if is_below(self.threshold) && !is_candidate {
                    return None;
                }
                let available = is_available(self.context.columns.stock.get_val(doc));
                let age = collector.now - self.context.columns.listed_at.get_val(doc);
                let lift = collector.tuning.lift(available, age);
                SortKey {
                    primary: collector.tuning.primary(collector.sort, &candidate, lift),
                    tie: tie(),
                }
            }
            Sort::PriceAsc => {
                SortKey { primary: u64::MAX - self.context.columns.price.get_val(doc), tie: tie() }
            }
            Sort::PriceDesc => {
                SortKey { primary: self.context.columns.price.get_val(doc), tie: tie() }
            }
            Sort::Newest => {
                let listed = self.context.columns.listed_at.get_val(doc);
                // Flips the sign bit, so that times before 1970 sort before later ones.
                SortKey { primary: listed.cast_unsigned() ^ 1 << 63, tie: tie() }
            }
        };
        Some(sort_key)
    }

    /// Retains a result if it is among the best, or a candidate for the first.
    fn retain(&mut self, sort_key: SortKey, doc: DocId, store: u32) {
        let (shard, segment) = self.context.location;
        let hit = Hit { sort_key, shard, store, address: (segment, doc) };
        let is_above = |threshold: Option<SortKey>| threshold.is_none_or(|it| sort_key > it);
        if let Some(candidates) = &mut self.collector.candidates
            && is_above(self.candidate_threshold)
        {
            candidates.offer(hit);
            self.candidate_threshold = candidates.threshold(store);
        }
        let is_after = self.collector.after.is_none_or(|after| sort_key < after);
        let (limit, best) = (self.collector.limit, &mut self.collector.best);
        if limit == 0 || !is_after || !is_above(self.threshold) {
            return;
        }
        if best.len() >= limit {
            best.pop();
        }
        best.push(Reverse(hit));
        self.threshold = threshold(best, limit);
    }
}

/// Returns the sort key that a result has to exceed once the limit is reached.
fn threshold(best: &BinaryHeap<Reverse<Hit>>, limit: usize) -> Option<SortKey> {
    best.peek().filter(|_| best.len() >= limit).map(|Reverse(hit)| hit.sort_key)
}

/// Returns whether a stock status means in stock: in stock or low stock, the first two statuses.
pub(crate) fn is_available(stock: u64) -> bool {
    stock < 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_two_statuses_are_in_stock() {
        for &status in catalog::StockStatus::ALL {
            let available = is_available(crate::document::stock_number(status));
            assert_eq!(available, status.is_in_stock(), "{status}");
        }
    }

    proptest! {
        #[test]
        fn a_sample_has_the_expected_size(
            cost in 1_u64..10_000_000, budget in 1_u64..10_000_000, stripes in 1_u32..5_000,
        ) {
            let sample = Sample::of(Some(budget), cost);
            let visited = (0..stripes).filter(|stripe| sample.includes(*stripe)).count();
            let expected = u128::from(stripes) * u128::from(budget.min(cost)) / u128::from(cost);
            let distance = u128::try_from(visited).unwrap().abs_diff(expected);
            prop_assert!(distance <= 2, "{visited} instead of {expected}");
        }

        #[test]
        fn skipping_never_omits_a_stripe_of_the_sample(
            cost in 2_u64..1_000_000, doc in 0_u32..5_000_000, max_doc in 1_u32..5_000_000,
        ) {
            prop_assume!(doc < max_doc);
            let sample = Sample::of(Some(cost / 2), cost);
            let next = sample.skip(doc, max_doc).unwrap_or(doc);
            prop_assert!(next >= doc);
            for stripe in doc / STRIPE..next / STRIPE {
                prop_assert!(!sample.includes(stripe));
            }
        }
    }
}
