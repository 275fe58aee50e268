//! The order of results: one formula, published as it is computed.
//!
//! ```text
//! score  = words × trust × stock × freshness
//! words  = BM25 over all words of the product, and again over name and brand, which count TITLE_BOOST
//! trust  = 0.5 + 0.5 × the score the store ranks with
//! stock  = 1 + STOCK_LIFT if it can be had at once, else 1
//! fresh  = 1 + FRESH_LIFT × exp(−age / FRESH_DAYS), age since it was listed
//! order  = stores of 0.70 and above first; among them what is named exactly; then score
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::Sort;

/// What plays a part in the order. Switching one off shows what it is worth.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Tuning {
    /// How much a word in name or brand counts beside one anywhere.
    pub title_boost: f32,
    /// What stock lifts by.
    pub stock_lift: f32,
    /// What newness lifts by, at the most.
    pub fresh_lift: f32,
    /// Days in which that falls to a third.
    pub fresh_days: f32,
    /// Whether trust counts.
    pub trust: bool,
    /// Whether what is named exactly comes first.
    pub exact_first: bool,
    /// Whether inflected forms count as one word.
    pub stems: bool,
    /// Whether misspelt words are corrected.
    pub typos: bool,
    /// Whether some of the words will do where all of them find nothing.
    pub relax: bool,
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
        }
    }
}

/// How results are ordered, in words and numbers: what `GET /search/ranking` answers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Ranking {
    /// What decides, in the order in which it does.
    order: [&'static str; 3],
    /// The score by which results of one rank are ordered.
    formula: &'static str,
    /// What the names in the formula mean.
    terms: BTreeMap<&'static str, &'static str>,
    /// The numbers in it.
    constants: BTreeMap<&'static str, f64>,
    /// What never appears.
    never: [&'static str; 2],
}

impl Default for Ranking {
    fn default() -> Self {
        let tuning = Tuning::default();
        let terms = [
            (
                "words",
                "BM25 of the query's words over all words of the product, plus title_boost times BM25 over its name and brand",
            ),
            (
                "trust",
                "0.5 + 0.5 × the store's trust score; a provisional score counts as at most 0.84",
            ),
            ("stock", "1 + stock_lift if the product can be had at once, else 1"),
            ("freshness", "1 + fresh_lift × exp(−days since it was listed / fresh_days)"),
        ];
        let constants = [
            ("title_boost", tuning.title_boost),
            ("stock_lift", tuning.stock_lift),
            ("fresh_lift", tuning.fresh_lift),
            ("fresh_days", tuning.fresh_days),
            ("last_below_trust_score", 0.7),
        ];
        // To three digits: they were written with fewer.
        let exact = |number: f32| (f64::from(number) * 1000.0).round() / 1000.0;
        Self {
            order: [
                "stores with a trust score of 0.70 and above come before all others",
                "products that the query names exactly (article number, SKU, name) come before others",
                "the score",
            ],
            formula: "words × trust × stock × freshness",
            terms: terms.into(),
            constants: constants.map(|(name, number)| (name, exact(number))).into(),
            never: [
                "suspended and inactive stores",
                "stores without a score, unless the search names them",
            ],
        }
    }
}

/// A result's place in the order: the greater comes first. Equal majors are told apart by the product's
/// id, the same way in every segment and on every node, so that pages never repeat or skip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) major: u64,
    pub(crate) tie: u64,
}

/// What the order knows of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    /// How well the words fit.
    pub(crate) words: f32,
    /// 0: a store that takes agent checkout, 1: below that, 2: unscored.
    pub(crate) group: u8,
    /// The store's score.
    pub(crate) trust: f32,
    /// What trust multiplies by.
    pub(crate) factor: f32,
    /// It is named exactly.
    pub(crate) exact: bool,
}

impl Tuning {
    /// The most that stock and newness can lift by.
    pub(crate) fn lift_max(&self) -> f32 {
        (1.0 + self.stock_lift) * (1.0 + self.fresh_lift)
    }

    /// What stock and newness lift by.
    pub(crate) fn lift(&self, available: bool, age_seconds: i64) -> f32 {
        let stock = if available { 1.0 + self.stock_lift } else { 1.0 };
        #[expect(clippy::cast_precision_loss, reason = "an age in days needs no more")]
        let age_days = age_seconds.max(0) as f32 / 86_400.0;
        stock * (1.0 + self.fresh_lift * (-age_days / self.fresh_days).exp())
    }

    /// The major part of a place in the order of relevance or of trust.
    pub(crate) fn major(&self, sort: Sort, candidate: &Candidate, lift: f32) -> u64 {
        let factor = if self.trust { candidate.factor } else { 1.0 };
        let score = bits(candidate.words * factor * lift);
        if sort == Sort::Trust {
            return bits(candidate.trust) << 32 | score;
        }
        let group = if self.trust { 3 - u64::from(candidate.group.min(3)) } else { 0 };
        let exact = u64::from(candidate.exact && self.exact_first);
        group << 40 | exact << 36 | score
    }
}

/// A positive number so that greater numbers have greater bits.
fn bits(number: f32) -> u64 {
    u64::from(number.max(0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidate(words: f32, trust: f32, exact: bool) -> Candidate {
        let group = u8::from(trust < 0.7);
        Candidate { words, group, trust, factor: 0.5 + 0.5 * trust, exact }
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
                let below = tuning.major(sort, &candidate(words, less, exact), lift);
                let above = tuning.major(sort, &candidate(words, more, exact), lift);
                prop_assert!(below <= above, "{sort:?}: {less} before {more}");
            }
        }

        #[test]
        fn below_standard_is_below_everyone(
            low in 0.2_f32..0.699, high in 0.7_f32..1.0, fit in 0.0_f32..1e6, misfit in 0.0_f32..1e6,
            exact: bool,
        ) {
            let tuning = Tuning::default();
            let low = tuning.major(Sort::Relevance, &candidate(fit, low, true), tuning.lift_max());
            let high = tuning.major(Sort::Relevance, &candidate(misfit, high, exact), 1.0);
            prop_assert!(low < high);
        }

        #[test]
        fn no_lift_exceeds_the_greatest(age in any::<i64>(), available: bool) {
            let tuning = Tuning::default();
            prop_assert!(tuning.lift(available, age) <= tuning.lift_max());
            prop_assert!(tuning.lift(available, age) >= 1.0);
        }
    }

    #[test]
    fn what_is_named_exactly_comes_first_among_its_equals() {
        let tuning = Tuning::default();
        let named = tuning.major(Sort::Relevance, &candidate(0.1, 0.7, true), 1.0);
        let fitting = tuning.major(Sort::Relevance, &candidate(1e5, 1.0, false), 1.2);
        assert!(named > fitting);
    }
}
