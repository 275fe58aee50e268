//! `price_accuracy`: whether reported amounts equal the quote (docs/contract/trust.md#live-evidence).

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::UnitRule;
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 12,
    source: ComponentSource::Verified,
    description: "match rate between listed price and live price at checkout",
    evidence: "amounts that the merchant reports as paid, compared with those that the quote states; rejected reports count, and orders that the merchant canceled as price_error; an equal amount does not if the merchant canceled units of the order",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization::SHARE,
};

const UNITS: UnitRule = UnitRule {
    good: Fact::PriceEqual,
    of: &[Fact::PriceEqual, Fact::PriceDifferent],
    cap: 5,
    purchases: None,
};

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
