//! `data_consistency`: the share of listed products without contradictions.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule, count, ratio};
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 6,
    source: ComponentSource::Verified,
    description: "cross-field consistency (price/currency, stock/quantity, GTIN uniqueness)",
    evidence: "listed products; consistent are those in the currency of the store, whose stock status and quantity agree, and \
               whose GTIN no other product has",
    influenced_by: &[Party::Merchant],
    measure: Measure::Share { part: "consistent", whole: "products" },
    normalization: Normalization::SHARE,
};

/// Returns the figure; `None` without listed products.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    let state = &evidence.state;
    let measured = ratio(state.consistent, state.products)?;
    let bad = count(state.products.saturating_sub(state.consistent));
    let sample = Sample { good: count(state.consistent), bad, ..Sample::of(measured) };
    Some(Figure::certain(RULE.normalization.value(measured), sample))
}
