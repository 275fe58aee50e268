//! Walks through what a query matches: sees who may be seen, counts, keeps the best.
//!
//! A walk has a budget of documents. Where a query would take more, it sees an even share of the index:
//! whole stripes of documents, the same ones for every page of a search, spread over all stores. Counts
//! are then scaled up and said to be estimates. What is named exactly is looked up before and is never
//! missed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::query::{EnableScoring, Query as IndexQuery, Scorer, Weight};
use tantivy::{DocAddress, DocId, DocSet, SegmentReader, TERMINATED};

use crate::columns::{Columns, Run};
use crate::facets::{Count, SegmentCount};
use crate::rank::{Candidate, Place, Tuning};
use crate::roster::{Hot, Roster, narrow};
use crate::view::{Frequencies, ShardView};
use crate::{Filters, Sort};

/// Documents of a stripe: enough that finding its beginning costs little beside walking it.
const STRIPE: u32 = 2048;

/// A result on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) place: Place,
    pub(crate) shard: usize,
    pub(crate) store: u32,
    pub(crate) address: (u32, DocId),
}

impl Hit {
    pub(crate) fn address(&self) -> DocAddress {
        DocAddress::new(self.address.0, self.address.1)
    }
}

/// What a walk looks for.
pub(crate) struct Walk<'search> {
    pub(crate) roster: &'search Roster,
    pub(crate) tuning: &'search Tuning,
    pub(crate) filters: &'search Filters,
    pub(crate) sort: Sort,
    /// The last group of stores that is seen.
    pub(crate) group_max: u8,
    /// Only what comes behind this place.
    pub(crate) after: Option<Place>,
    /// How many results to keep.
    pub(crate) keep: usize,
    /// How many documents to see; none: all.
    pub(crate) budget: Option<u64>,
    /// The moment, in seconds.
    pub(crate) now: i64,
    /// A document that is not wanted.
    pub(crate) without: Option<(usize, DocAddress)>,
    pub(crate) best: BinaryHeap<Reverse<Hit>>,
    pub(crate) counted: f64,
    pub(crate) is_estimate: bool,
    pub(crate) count: Option<Count>,
}

/// The part of a segment that is walked.
#[derive(Clone, Copy)]
struct Share {
    /// Of all stripes, as a fraction with 32 bits behind the point. None: all of them.
    part: Option<u64>,
}

impl Share {
    fn of(budget: Option<u64>, cost: u64) -> Self {
        let part = budget.filter(|budget| *budget < cost).map(|budget| {
            let part = u128::from(budget.max(1)) << 32;
            u64::try_from(part / u128::from(cost)).unwrap_or(u64::MAX).max(1)
        });
        Self { part }
    }

    /// Whether a stripe is walked: evenly spread, so that each part of the index has its share.
    fn has(self, stripe: u32) -> bool {
        let Some(part) = self.part else { return true };
        let upto = |stripe: u64| (stripe.wrapping_mul(part).wrapping_add(1 << 31)) >> 32;
        let stripe = u64::from(stripe);
        upto(stripe + 1) != upto(stripe)
    }

    /// Where to go on, if the document lies in a stripe that is not walked.
    fn skip(self, doc: DocId, max_doc: u32) -> Option<DocId> {
        self.part?;
        let mut stripe = doc / STRIPE;
        if self.has(stripe) {
            return None;
        }
        while !self.has(stripe) && stripe * STRIPE < max_doc {
            stripe += 1;
        }
        Some((stripe * STRIPE).min(max_doc))
    }

    /// How many documents of so many are walked.
    fn documents(self, max_doc: u32) -> u32 {
        let stripes = (0..max_doc.div_ceil(STRIPE)).filter(|stripe| self.has(*stripe));
        stripes.map(|stripe| (max_doc - stripe * STRIPE).min(STRIPE)).sum()
    }
}

impl Walk<'_> {
    /// Walks what the query matches. What is named exactly has been looked up before.
    pub(crate) fn go(
        &mut self,
        shards: &[&ShardView],
        query: &dyn IndexQuery,
        exact: &Exact,
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
        let share = Share::of(self.budget, cost);
        self.is_estimate |= share.part.is_some();
        for (number, (shard, weight)) in shards.iter().zip(&weights).enumerate() {
            for (ordinal, segment, columns) in shard.index.segments() {
                let at = At { segment, columns, place: (number, ordinal) };
                self.segment(&at, weight.as_ref(), exact.of(number, ordinal), share)?;
            }
        }
        Ok(())
    }

    fn segment(
        &mut self,
        at: &At<'_>,
        weight: &dyn Weight,
        named: &[DocId],
        share: Share,
    ) -> tantivy::Result<()> {
        let max_doc = at.segment.max_doc();
        let mut seen = Seen::open(self, at, named)?;
        if share.part.is_none() {
            weight.for_each(at.segment, &mut |doc, words| seen.see(doc, words))?;
        } else {
            let mut scorer = weight.scorer(at.segment, 1.0)?;
            walk_share(scorer.as_mut(), share, max_doc, &mut |doc, words| seen.see(doc, words));
        }
        let counted = f64::from(seen.counted);
        let walked = share.documents(max_doc);
        let scale = if walked == 0 { 0.0 } else { f64::from(max_doc) / f64::from(walked) };
        let count = seen.count.take();
        self.counted += counted * scale;
        if let (Some(total), Some(count)) = (&mut self.count, count) {
            total.add(count, scale)?;
        }
        Ok(())
    }

    /// Sees what is named exactly.
    pub(crate) fn go_exact(
        &mut self,
        shards: &[&ShardView],
        query: &dyn IndexQuery,
    ) -> tantivy::Result<Exact> {
        let mut exact = Exact(Vec::new());
        for (number, shard) in shards.iter().enumerate() {
            let weight =
                query.weight(EnableScoring::disabled_from_searcher(&shard.index.searcher))?;
            for (ordinal, segment, columns) in shard.index.segments() {
                let mut docs = Vec::new();
                let mut scorer = weight.scorer(segment, 1.0)?;
                let mut doc = scorer.doc();
                while doc != TERMINATED && docs.len() < EXACT_MAX {
                    docs.push(doc);
                    doc = scorer.advance();
                }
                if docs.is_empty() {
                    continue;
                }
                let at = At { segment, columns, place: (number, ordinal) };
                let mut seen = Seen::open(self, &at, &[])?;
                seen.exact = true;
                for doc in &docs {
                    seen.see(*doc, 1.0);
                }
                let (counted, count) = (f64::from(seen.counted), seen.count.take());
                self.counted += counted;
                if let (Some(total), Some(count)) = (&mut self.count, count) {
                    total.add(count, 1.0)?;
                }
                exact.0.push(((number, ordinal), docs));
            }
        }
        Ok(exact)
    }

    /// The results, best first.
    pub(crate) fn hits(&mut self) -> Vec<Hit> {
        let mut hits: Vec<Hit> = self.best.drain().map(|Reverse(hit)| hit).collect();
        hits.sort_unstable_by(|left, right| right.cmp(left));
        hits
    }
}

/// Documents of one segment that one exact name may lead to.
const EXACT_MAX: usize = 1000;

/// Documents that were named exactly, by shard and segment.
pub(crate) struct Exact(Vec<((usize, u32), Vec<DocId>)>);

impl Exact {
    pub(crate) const NONE: Self = Self(Vec::new());

    fn of(&self, shard: usize, segment: u32) -> &[DocId] {
        let found = self.0.iter().find(|(at, _)| *at == (shard, segment));
        found.map_or(&[], |(_, docs)| docs)
    }
}

fn walk_share(
    scorer: &mut dyn Scorer,
    share: Share,
    max_doc: u32,
    see: &mut dyn FnMut(DocId, f32),
) {
    let mut doc = scorer.doc();
    while doc != TERMINATED {
        doc = match share.skip(doc, max_doc) {
            Some(next) if next >= max_doc => return,
            Some(next) => scorer.seek(next),
            None => {
                let words = scorer.score();
                see(doc, words);
                scorer.advance()
            }
        };
    }
}

/// A segment that is walked.
struct At<'walk> {
    segment: &'walk SegmentReader,
    columns: &'walk Columns,
    /// Its shard's number, and its own.
    place: (usize, u32),
}

/// What a walk sees of one segment.
struct Seen<'walk, 'search> {
    walk: &'walk mut Walk<'search>,
    at: &'walk At<'walk>,
    named: &'walk [DocId],
    exact: bool,
    /// The store whose documents are being seen, and how it ranks.
    run: Run,
    hot: Hot,
    counted: u32,
    count: Option<SegmentCount>,
    currency: Option<u64>,
    without: Option<DocId>,
    threshold: Option<Place>,
}

impl<'walk, 'search> Seen<'walk, 'search> {
    fn open(
        walk: &'walk mut Walk<'search>,
        at: &'walk At<'walk>,
        named: &'walk [DocId],
    ) -> tantivy::Result<Self> {
        let count = match &walk.count {
            Some(_) => Some(SegmentCount::open(at.segment)?),
            None => None,
        };
        let currency = walk.filters.currency;
        let currency =
            currency.map(|currency| crate::document::currency_number(currency).unwrap_or(u64::MAX));
        let without =
            walk.without.filter(|(shard, address)| (*shard, address.segment_ord) == at.place);
        let threshold = worst(&walk.best, walk.keep);
        Ok(Self {
            at,
            named,
            exact: false,
            run: Run { end: 0, store: u32::MAX },
            hot: walk.roster.hot_of(u32::MAX),
            counted: 0,
            count,
            currency,
            without: without.map(|(_, address)| address.doc_id),
            threshold,
            walk,
        })
    }

    /// Comes to the documents of another store.
    #[cold]
    fn enter(&mut self, doc: DocId) {
        let stores = &self.at.columns.stores;
        let place = stores.partition_point(|run| run.end <= doc);
        self.run = stores.get(place).copied().unwrap_or(Run { end: DocId::MAX, store: u32::MAX });
        self.hot = self.walk.roster.hot_of(self.run.store);
    }

    /// Sees a document; they come in their order.
    fn see(&mut self, doc: DocId, words: f32) {
        if self.at.segment.alive_bitset().is_some_and(|alive| alive.is_deleted(doc)) {
            return;
        }
        if doc >= self.run.end {
            self.enter(doc);
        }
        let (number, hot) = (self.run.store, self.hot);
        if hot.group > self.walk.group_max || !self.passes(doc, hot) {
            return;
        }
        if !self.named.is_empty() && self.named.binary_search(&doc).is_ok() {
            return;
        }
        self.counted += 1;
        if let Some(count) = &mut self.count {
            count.see(doc, number, hot);
        }
        if let Some(place) = self.place(doc, words, hot) {
            self.keep(place, doc, number);
        }
    }

    fn passes(&self, doc: DocId, hot: Hot) -> bool {
        let filters = self.walk.filters;
        if filters.price_micros_min.is_some() || filters.price_micros_max.is_some() {
            let price = self.at.columns.price.get_val(doc);
            let fits = filters.price_micros_min.is_none_or(|least| price >= least)
                && filters.price_micros_max.is_none_or(|most| price <= most);
            if !fits {
                return false;
            }
        }
        if filters.in_stock_only && !is_available(self.at.columns.stock.get_val(doc)) {
            return false;
        }
        if self.currency.is_some_and(|wanted| self.at.columns.currency.get_val(doc) != wanted) {
            return false;
        }
        if filters.trust_min.is_some_and(|least| hot.score < narrow(least)) {
            return false;
        }
        if self.without == Some(doc) {
            return false;
        }
        filters
            .band_min
            .is_none_or(|least| hot.group < 2 && merchants::Band::of(f64::from(hot.score)) >= least)
    }

    /// Where it stands, if that may be good enough.
    fn place(&self, doc: DocId, words: f32, hot: Hot) -> Option<Place> {
        let walk = &*self.walk;
        let tie = || self.at.columns.tie.get_val(doc);
        let place = match walk.sort {
            Sort::Relevance | Sort::Trust => {
                let Hot { group, factor, score: trust } = hot;
                let candidate = Candidate { words, group, trust, factor, exact: self.exact };
                let most = walk.tuning.major(walk.sort, &candidate, walk.tuning.lift_max());
                if self.threshold.is_some_and(|worst| most < worst.major) {
                    return None;
                }
                let available = is_available(self.at.columns.stock.get_val(doc));
                let age = walk.now - self.at.columns.listed_at.get_val(doc);
                let lift = walk.tuning.lift(available, age);
                Place { major: walk.tuning.major(walk.sort, &candidate, lift), tie: tie() }
            }
            Sort::PriceAsc => {
                Place { major: u64::MAX - self.at.columns.price.get_val(doc), tie: tie() }
            }
            Sort::PriceDesc => Place { major: self.at.columns.price.get_val(doc), tie: tie() },
            Sort::Newest => {
                let listed = self.at.columns.listed_at.get_val(doc);
                // Before and after 1970 in one order.
                Place { major: listed.cast_unsigned() ^ 1 << 63, tie: tie() }
            }
        };
        let behind = walk.after.is_none_or(|after| place < after);
        let good = self.threshold.is_none_or(|worst| place > worst);
        (behind && good).then_some(place)
    }

    fn keep(&mut self, place: Place, doc: DocId, store: u32) {
        let (keep, best) = (self.walk.keep, &mut self.walk.best);
        if keep == 0 {
            return;
        }
        if best.len() >= keep {
            best.pop();
        }
        best.push(Reverse(Hit {
            place,
            shard: self.at.place.0,
            store,
            address: (self.at.place.1, doc),
        }));
        self.threshold = worst(best, keep);
    }
}

/// The place that has to be beaten.
fn worst(best: &BinaryHeap<Reverse<Hit>>, keep: usize) -> Option<Place> {
    best.peek().filter(|_| best.len() >= keep).map(|Reverse(hit)| hit.place)
}

/// Whether it can be had at once: in stock or low, the first two of all statuses.
pub(crate) fn is_available(stock: u64) -> bool {
    stock < 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_two_statuses_can_be_had() {
        for (status, name) in catalog::StockStatus::ALL {
            let available = is_available(crate::document::stock_number(status));
            assert_eq!(available, matches!(name, "in_stock" | "low_stock"), "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_share_is_as_large_as_it_should_be_and_even(
            cost in 1_u64..10_000_000, budget in 1_u64..10_000_000, stripes in 1_u32..5_000,
        ) {
            let share = Share::of(Some(budget), cost);
            let walked = (0..stripes).filter(|stripe| share.has(*stripe)).count();
            let expected = u128::from(stripes) * u128::from(budget.min(cost)) / u128::from(cost);
            let distance = u128::try_from(walked).unwrap().abs_diff(expected);
            prop_assert!(distance <= 2, "{walked} for {expected}");
        }

        #[test]
        fn skipping_never_leaves_out_a_stripe_of_the_share(
            cost in 2_u64..1_000_000, doc in 0_u32..5_000_000, max_doc in 1_u32..5_000_000,
        ) {
            prop_assume!(doc < max_doc);
            let share = Share::of(Some(cost / 2), cost);
            let next = share.skip(doc, max_doc).unwrap_or(doc);
            prop_assert!(next >= doc);
            for stripe in doc / STRIPE..next / STRIPE {
                prop_assert!(!share.has(stripe));
            }
        }
    }
}
