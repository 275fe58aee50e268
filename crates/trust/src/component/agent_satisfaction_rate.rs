//! `agent_satisfaction_rate`: completed checkouts of started ones, where every agent counts the same
//! (docs/contract/trust.md#checkout-rates).

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::{PurchaseRule, UnitRule};
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 8,
    source: ComponentSource::Verified,
    description: "agent checkout conversion rate (CHECKOUT_COMPLETE / CHECKOUT_START events)",
    evidence: "the facts of checkout_success_rate; one account counts as one unit at most, however many days it bought on",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization::SHARE,
};

const UNITS: UnitRule = UnitRule {
    good: Fact::Kept,
    of: &[Fact::Started],
    cap: 1,
    purchases: Some(PurchaseRule::CHECKOUTS),
};

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
