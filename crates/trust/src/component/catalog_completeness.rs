//! `catalog_completeness`: the share of listed products with all required fields.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule, count, ratio};
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 11,
    source: ComponentSource::Verified,
    description: "ratio of products with all required fields (title, price, images, GTIN)",
    evidence: "listed products; complete are those with a title, a price above zero, an image and a GTIN",
    influenced_by: &[Party::Merchant],
    measure: Measure::Share { part: "complete", whole: "products" },
    normalization: Normalization::SHARE,
};

/// Returns the figure; `None` without listed products.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    let state = &evidence.state;
    let measured = ratio(state.complete, state.products)?;
    let bad = count(state.products.saturating_sub(state.complete));
    let sample = Sample { good: count(state.complete), bad, ..Sample::of(measured) };
    Some(Figure::certain(RULE.normalization.value(measured), sample))
}
