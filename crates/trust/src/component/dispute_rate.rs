//! `dispute_rate`: disputes that the merchant lost, over orders.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::UnitRule;
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 7,
    source: ComponentSource::Verified,
    description: "disputes that the merchant lost / total orders (lower is better)",
    evidence: "orders, and disputes resolved for the buyer or by an agreement with a refund; open and rejected disputes do not count",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization { zero_at: 0.75, one_at: 1.0 },
};

const UNITS: UnitRule = UnitRule {
    good: Fact::Orders,
    of: &[Fact::Orders, Fact::DisputesLost],
    cap: 5,
    purchases: None,
};

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
