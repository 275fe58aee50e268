//! Diversity of the first results of a search across stores: of each ten, at most three are from one store while other
//! stores have results that are as good.
//!
//! As good means: in the same group of trust, exact or not like it, and with at least [`AS_GOOD`] of its score. In the order
//! by trust: of a store with the same trust score. The first [`FIRST`] results are arranged this way; all others follow in
//! the order of the ranking. Both depend on the index and the query alone, so that pages never repeat or skip results.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};

use crate::collector::Hit;
use crate::rank::SortKey;

/// Results that are arranged.
pub(crate) const FIRST: usize = 100;
/// Results among which the results of a store are counted: 1 to 10, 11 to 20 and so on.
pub(crate) const TEN: usize = 10;
/// Results of one store in each ten.
pub(crate) const OF_STORE_MAX: usize = 3;
/// Part of the score of a result that another one needs to be as good.
pub(crate) const AS_GOOD: f32 = 0.8;
/// Results of one store that can be among the first without exceeding its part of any ten.
const CANDIDATES_OF_STORE: usize = FIRST / TEN * OF_STORE_MAX;

/// Candidates with a limited number of each store. More than the first results, so that the last ten of them still have a
/// choice of stores.
const SPREAD_MAX: usize = 2 * FIRST;

/// The candidates for the first results.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    /// The best of all stores.
    best: BinaryHeap<Reverse<Hit>>,
    /// The best of all stores with a limited number of each.
    spread: BTreeSet<Hit>,
    /// The same by store.
    of_store: HashMap<u32, BTreeSet<Hit>>,
}

impl Candidates {
    /// Returns the sort key that a result of a store has to exceed to become a candidate; `None`: any does.
    pub(crate) fn threshold(&self, store: u32) -> Option<SortKey> {
        let best = self.best.peek().filter(|_| self.best.len() >= FIRST)?;
        let own = self.of_store.get(&store).filter(|own| own.len() >= CANDIDATES_OF_STORE);
        let worst = match own {
            Some(own) => own.first(),
            None => self.spread.first().filter(|_| self.spread.len() >= SPREAD_MAX),
        };
        Some(worst?.sort_key.min(best.0.sort_key))
    }

    /// Adds a result if it is among the best.
    pub(crate) fn offer(&mut self, hit: Hit) {
        self.best.push(Reverse(hit));
        if self.best.len() > FIRST {
            self.best.pop();
        }
        let own = self.of_store.entry(hit.store).or_default();
        let replaced = if own.len() >= CANDIDATES_OF_STORE {
            own.first().copied()
        } else {
            self.spread.first().copied().filter(|_| self.spread.len() >= SPREAD_MAX)
        };
        if let Some(replaced) = replaced {
            if replaced > hit {
                return;
            }
            self.spread.remove(&replaced);
            if let Some(of_store) = self.of_store.get_mut(&replaced.store) {
                of_store.remove(&replaced);
            }
        }
        self.spread.insert(hit);
        self.of_store.entry(hit.store).or_default().insert(hit);
    }

    /// Returns the first results in their final order.
    pub(crate) fn arrange(self) -> Vec<Hit> {
        let mut left: Vec<Hit> = self.best.into_iter().map(|Reverse(hit)| hit).collect();
        left.extend(self.spread);
        left.sort_unstable_by(|one, other| other.cmp(one));
        left.dedup();
        let mut first: Vec<Hit> = Vec::with_capacity(FIRST.min(left.len()));
        let mut in_ten: HashMap<u32, usize> = HashMap::new();
        while first.len() < FIRST && !left.is_empty() {
            if first.len().is_multiple_of(TEN) {
                in_ten.clear();
            }
            let is_allowed =
                |hit: &Hit| in_ten.get(&hit.store).is_none_or(|count| *count < OF_STORE_MAX);
            let best = left[0];
            let mut as_good = left.iter().take_while(|hit| is_as_good(hit.sort_key, best.sort_key));
            let index = as_good.position(is_allowed).unwrap_or(0);
            let next = left.remove(index);
            *in_ten.entry(next.store).or_default() += 1;
            first.push(next);
        }
        first
    }
}

/// Returns the final order: the first results, then the others in their order.
pub(crate) fn after_first(first: Vec<Hit>, hits: Vec<Hit>) -> Vec<Hit> {
    let others = others(&first, hits);
    first.into_iter().chain(others).collect()
}

/// Returns the results that are not among the first.
pub(crate) fn others(first: &[Hit], mut hits: Vec<Hit>) -> Vec<Hit> {
    let first: HashSet<(usize, (u32, u32))> =
        first.iter().map(|hit| (hit.shard, hit.address)).collect();
    hits.retain(|hit| !first.contains(&(hit.shard, hit.address)));
    hits
}

/// Returns whether a result is as good as a better one.
fn is_as_good(result: SortKey, better: SortKey) -> bool {
    // The upper half of the sort key is the group of trust and whether it is an exact match, or the trust score; the
    // lower half is the score.
    let class = |key: SortKey| key.primary >> 32;
    let score =
        |key: SortKey| f32::from_bits(u32::try_from(key.primary & 0xffff_ffff).unwrap_or(0));
    class(result) == class(better) && score(result) >= AS_GOOD * score(better)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hit(number: u32, store: u32, class: u64, relevance: f32) -> Hit {
        let primary = class << 32 | u64::from(relevance.to_bits());
        Hit {
            sort_key: SortKey { primary, tie: u64::from(number) },
            shard: 0,
            store,
            address: (0, number),
        }
    }

    fn arrange(hits: &[Hit]) -> Vec<Hit> {
        let mut candidates = Candidates::default();
        for hit in hits {
            let is_below = candidates.threshold(hit.store).is_some_and(|key| hit.sort_key < key);
            if !is_below {
                candidates.offer(*hit);
            }
        }
        candidates.arrange()
    }

    fn stores(hits: &[Hit]) -> Vec<u32> {
        hits.iter().map(|hit| hit.store).collect()
    }

    #[test]
    fn a_store_with_many_equal_results_has_three_of_ten() {
        let mut hits: Vec<Hit> = (0..5_000).map(|number| hit(number, 1, 3, 10.0)).collect();
        hits.extend((0..70).map(|number| hit(10_000 + number, 2 + number % 9, 3, 8.5)));
        let first = arrange(&hits);
        assert_eq!(first.len(), FIRST);
        for ten in first.chunks(TEN) {
            assert_eq!(ten.iter().filter(|hit| hit.store == 1).count(), OF_STORE_MAX);
        }
    }

    #[test]
    fn worse_results_replace_none() {
        let mut hits: Vec<Hit> = (0..20).map(|number| hit(number, 1, 3, 10.0)).collect();
        hits.push(hit(100, 2, 3, 7.9));
        hits.push(hit(101, 3, 2, 10.0));
        let first = arrange(&hits);
        assert_eq!(stores(&first[..20]), [1; 20]);
        assert_eq!(stores(&first[20..]), [2, 3]);
    }

    proptest! {
        /// Against all candidates at once: nothing is lost or repeated, each result is the best that is allowed.
        #[test]
        fn each_result_is_the_best_that_is_allowed(
            all in prop::collection::vec((0_u32..6, 0_u64..3, 1_u8..20), 0..300),
        ) {
            let hits: Vec<Hit> = (0..).zip(&all)
                .map(|(number, (store, class, score))| hit(number, *store, *class, f32::from(*score)))
                .collect();
            let first = arrange(&hits);
            prop_assert_eq!(first.len(), hits.len().min(FIRST));
            let mut sorted = hits.clone();
            sorted.sort_unstable_by(|one, other| other.cmp(one));
            let distinct: BTreeSet<Hit> = first.iter().copied().collect();
            prop_assert_eq!(distinct.len(), first.len());
            let all_ordered = after_first(first.clone(), sorted.clone());
            let distinct: BTreeSet<Hit> = all_ordered.iter().copied().collect();
            prop_assert_eq!(distinct.len(), hits.len());
            prop_assert_eq!(all_ordered.len(), hits.len());
            let mut left = sorted;
            for (place, result) in first.iter().enumerate() {
                let ten = &first[place / TEN * TEN..place];
                let count = |store: u32| ten.iter().filter(|hit| hit.store == store).count();
                let best = left[0];
                if result != &best {
                    prop_assert!(count(best.store) >= OF_STORE_MAX, "moved up without a reason");
                    prop_assert!(is_as_good(result.sort_key, best.sort_key));
                    prop_assert!(count(result.store) < OF_STORE_MAX);
                } else if count(best.store) >= OF_STORE_MAX && hits.len() <= FIRST {
                    let is_other = |hit: &&Hit| {
                        count(hit.store) < OF_STORE_MAX && is_as_good(hit.sort_key, best.sort_key)
                    };
                    prop_assert!(!left.iter().any(|hit| is_other(&hit)), "others are as good");
                }
                left.retain(|hit| hit != result);
            }
        }
    }
}
