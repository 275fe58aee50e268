//! The ranking of results: one formula, published as it is computed.
//!
//! ```text
//! score     = words × trust × stock × freshness
//! words     = BM25 over all words of the product + title_boost × BM25 over its name and brand
//! trust     = trust_factor(ranking score of the store)
//! stock     = 1 + stock_lift if the product is in stock, else 1
//! freshness = 1 + fresh_lift × exp(−age / fresh_days), with the age since the product was listed
//! order     = stores with a score of 0.70 and above first; within each group exact matches; then by score
//! diversity = across stores, of each ten of the first hundred at most three of one store while others are as good
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Sort;
use crate::diversity::AS_GOOD;

/// Parameters of the ranking. Each part can be switched off to measure its effect.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Tuning {
    /// Weight of words in name and brand, relative to words anywhere.
    pub title_boost: f32,
    /// Increase of the score of products in stock.
    pub stock_lift: f32,
    /// Maximum increase of the score of new products.
    pub fresh_lift: f32,
    /// Days after which that increase has fallen to 1/e.
    pub fresh_days: f32,
    /// Whether trust affects the order.
    pub trust: bool,
    /// Whether exact matches come first.
    pub exact_first: bool,
    /// Whether words are stemmed.
    pub stems: bool,
    /// Whether the spelling of words is corrected.
    pub typos: bool,
    /// Whether fewer words are required if no product contains all of them.
    pub relax: bool,
    /// Whether one store has at most three of each ten of the first results.
    pub diversity: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            title_boost: 2.0,
            stock_lift: 0.1,
            fresh_lift: 0.05,
            fresh_days: 30.0,
            trust: true,
            exact_first: true,
            stems: true,
            typos: true,
            relax: true,
            diversity: true,
        }
    }
}

/// How search results are ranked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Ranking {
    /// Sort criteria, the most significant first.
    order: [&'static str; 3],
    /// Formula of the score.
    formula: &'static str,
    /// Meaning of the terms in the formula.
    terms: BTreeMap<&'static str, String>,
    /// Constants in the formula.
    constants: BTreeMap<&'static str, f64>,
    /// How results of one store are limited.
    diversity: &'static str,
    /// What is never returned.
    never: [&'static str; 2],
}

impl Default for Ranking {
    fn default() -> Self {
        let tuning = Tuning::default();
        let terms = [
            (
                "words",
                String::from(
                    "BM25 of the query's words over all words of the product, plus title_boost times BM25 over its name and brand",
                ),
            ),
            ("trust", trust_factor_formula()),
            ("stock", String::from("1 + stock_lift if the product is in stock, else 1")),
            (
                "freshness",
                String::from(
                    "1 + fresh_lift × exp(−days since the product was listed / fresh_days)",
                ),
            ),
        ];
        let constants = [
            ("title_boost", tuning.title_boost),
            ("stock_lift", tuning.stock_lift),
            ("fresh_lift", tuning.fresh_lift),
            ("fresh_days", tuning.fresh_days),
            ("last_below_trust_score", 0.7),
            ("store_results_max", 3.0),
            ("diverse_results", 100.0),
            ("as_good", AS_GOOD),
        ];
        // The nearest number of three decimals is the one in the source.
        let exact = |number: f32| (f64::from(number) * 1000.0).round() / 1000.0;
        Self {
            order: [
                "stores with a trust score of 0.70 and above come before all others",
                "products whose GTIN, SKU, MPN, external id or name is the query come before others",
                "the score",
            ],
            formula: "words × trust × stock × freshness",
            terms: terms.into(),
            constants: constants.map(|(name, number)| (name, exact(number))).into(),
            diversity: "in searches across stores by relevance or trust, at most store_results_max of each ten of the \
                        first diverse_results results are from one store while other stores have results that are as \
                        good: in the same place of the order above, and with at least as_good times the score",
            never: [
                "suspended and inactive stores",
                "stores without a score, unless the query names them",
            ],
        }
    }
}

/// The factor of a store without a score or with a score of 0.
const TRUST_FACTOR_BASE: f64 = 0.5;
/// What a score of 1 adds to it.
const TRUST_FACTOR_WEIGHT: f64 = 0.5;

/// Returns the factor by which the trust in a store multiplies the score of its products, from the score the store
/// ranks with ([`merchants::Standing::ranking_score`]).
pub(crate) fn trust_factor(ranking_score: Option<f64>) -> f64 {
    TRUST_FACTOR_BASE + TRUST_FACTOR_WEIGHT * ranking_score.unwrap_or(0.0)
}

/// Returns the text of [`trust_factor`], as published.
fn trust_factor_formula() -> String {
    format!(
        "{TRUST_FACTOR_BASE} + {TRUST_FACTOR_WEIGHT} × the store's trust score; a provisional score counts as at most 0.84"
    )
}

/// The sort key of a result: greater keys come first. Ties are broken by product id, the same way in every segment
/// and on every node, so that pages never repeat or skip results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortKey {
    pub(crate) primary: u64,
    pub(crate) tie: u64,
}

/// The inputs of a sort key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// BM25 score of the words.
    pub(crate) words: f32,
    /// Rank group of the store.
    pub(crate) group: u8,
    /// Trust score of the store.
    pub(crate) trust: f32,
    /// See [`trust_factor`].
    pub(crate) factor: f32,
    pub(crate) is_exact: bool,
}

impl Tuning {
    /// Returns the upper bound of [`Self::lift`].
    pub(crate) fn lift_max(&self) -> f32 {
        (1.0 + self.stock_lift) * (1.0 + self.fresh_lift)
    }

    /// Returns the factor for stock and freshness.
    pub(crate) fn lift(&self, available: bool, age_seconds: i64) -> f32 {
        let stock = if available { 1.0 + self.stock_lift } else { 1.0 };
        #[expect(clippy::cast_precision_loss, reason = "an age in days needs no more")]
        let age_days = age_seconds.max(0) as f32 / 86_400.0;
        stock * (1.0 + self.fresh_lift * (-age_days / self.fresh_days).exp())
    }

    /// Returns the primary part of a sort key, for the order by relevance or by trust.
    pub(crate) fn primary(&self, sort: Sort, candidate: &Candidate, lift: f32) -> u64 {
        let factor = if self.trust { candidate.factor } else { 1.0 };
        let score = bits(candidate.words * factor * lift);
        if sort == Sort::Trust {
            return bits(candidate.trust) << 32 | score;
        }
        let group = if self.trust { 3 - u64::from(candidate.group.min(3)) } else { 0 };
        let exact = u64::from(candidate.is_exact && self.exact_first);
        group << 40 | exact << 36 | score
    }
}

/// Returns the bits of a non-negative number, which sort like the number.
fn bits(number: f32) -> u64 {
    u64::from(number.max(0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use merchants::Standing;
    use primitives::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::diversity;
    use crate::store_directory::to_f32;

    fn candidate(words: f32, trust: f32, exact: bool) -> Candidate {
        let group = u8::from(trust < 0.7);
        let factor = to_f32(trust_factor(Some(f64::from(trust))));
        Candidate { words, group, trust, factor, is_exact: exact }
    }

    proptest! {
        #[test]
        fn more_trust_never_ranks_lower(
            words in 0.0_f32..1e6, less in 0.2_f32..1.0, more in 0.2_f32..1.0, lift in 1.0_f32..1.2,
            exact: bool,
        ) {
            let (less, more) = (less.min(more), less.max(more));
            let tuning = Tuning::default();
            for sort in [Sort::Relevance, Sort::Trust] {
                let below = tuning.primary(sort, &candidate(words, less, exact), lift);
                let above = tuning.primary(sort, &candidate(words, more, exact), lift);
                prop_assert!(below <= above, "{sort:?}: {less} before {more}");
            }
        }

        #[test]
        fn stores_below_standard_rank_below_all_others(
            low in 0.2_f32..0.699, high in 0.7_f32..1.0, good in 0.0_f32..1e6, poor in 0.0_f32..1e6,
            exact: bool,
        ) {
            let tuning = Tuning::default();
            let low = tuning.primary(Sort::Relevance, &candidate(good, low, true), tuning.lift_max());
            let high = tuning.primary(Sort::Relevance, &candidate(poor, high, exact), 1.0);
            prop_assert!(low < high);
        }

        #[test]
        fn no_lift_exceeds_the_maximum(age in any::<i64>(), available: bool) {
            let tuning = Tuning::default();
            prop_assert!(tuning.lift(available, age) <= tuning.lift_max());
            prop_assert!(tuning.lift(available, age) >= 1.0);
        }
    }

    #[test]
    fn the_published_formula_is_the_one_that_is_computed() {
        let computed_at = Timestamp::from_unix_micros(0);
        let provisional = Standing { score: Some(0.99), provisional: true, computed_at };
        assert!((trust_factor(provisional.ranking_score()) - (0.5 + 0.5 * 0.84)).abs() < 1e-12);
        assert_eq!(
            Ranking::default().terms["trust"],
            "0.5 + 0.5 × the store's trust score; a provisional score counts as at most 0.84"
        );
    }

    #[test]
    fn the_published_diversity_is_the_one_that_is_applied() {
        let constants = Ranking::default().constants;
        let whole = |name: &str| format!("{:.0}", constants[name]);
        assert_eq!(whole("store_results_max"), diversity::OF_STORE_MAX.to_string());
        assert_eq!(whole("diverse_results"), diversity::FIRST.to_string());
        assert_eq!(diversity::TEN, 10);
    }

    #[test]
    fn exact_matches_come_first_within_their_group() {
        let tuning = Tuning::default();
        let exact = tuning.primary(Sort::Relevance, &candidate(0.1, 0.7, true), 1.0);
        let similar = tuning.primary(Sort::Relevance, &candidate(1e5, 1.0, false), 1.2);
        assert!(exact > similar);
    }
}
