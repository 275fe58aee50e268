//! `availability_accuracy`: whether ordered units were in stock (docs/contract/trust.md#live-evidence).

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::UnitRule;
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 8,
    source: ComponentSource::Verified,
    description: "stock-status accuracy versus actual inventory",
    evidence: "orders that were shipped and of which the merchant canceled nothing, compared with those of which it canceled product units as out of stock",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization::SHARE,
};

const UNITS: UnitRule = UnitRule {
    good: Fact::InStock,
    of: &[Fact::InStock, Fact::OutOfStock],
    cap: 5,
    purchases: None,
};

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
