//! `checkout_success_rate`: completed checkouts of started ones (docs/contract/trust.md#checkout-rates).

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::{PurchaseRule, UnitRule};
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 11,
    source: ComponentSource::Verified,
    description: "ratio checkout_complete / checkout_start agent events",
    evidence: "checkouts that agents started; good are those that were paid in time and became an order of which the merchant canceled nothing; those that were not completed count as far as days with a purchase of the account have matured",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization::SHARE,
};

const UNITS: UnitRule = UnitRule {
    good: Fact::Kept,
    of: &[Fact::Started],
    cap: 5,
    purchases: Some(PurchaseRule::CHECKOUTS),
};

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
