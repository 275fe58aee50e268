//! `review_sentiment`: the mean rating of the rated products.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule, count, ratio};
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 5,
    source: ComponentSource::Declared,
    description: "average product rating normalized from 0-5 to 0-1",
    evidence: "ratings of listed products, as the merchant supplies them; each rated product counts once",
    influenced_by: &[Party::Merchant],
    measure: Measure::Mean {
        sum: "rating_sum_hundredths",
        divisor: HUNDREDTHS,
        count: "rated_products",
    },
    normalization: Normalization { zero_at: 0.0, one_at: 5.0 },
};

const HUNDREDTHS: u32 = 100;

/// Returns the figure; `None` without ratings.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    let state = &evidence.state;
    let mean = ratio(state.rating_sum_hundredths, state.rated_products)?;
    let measured = mean / f64::from(HUNDREDTHS);
    let sample = Sample { good: count(state.rated_products), ..Sample::of(measured) };
    Some(Figure::certain(RULE.normalization.value(measured), sample))
}
