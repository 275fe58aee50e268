//! `fulfillment_rate`: orders delivered by the promised time.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use super::units::UnitRule;
use crate::{Evidence, Fact, Figure, Party};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 8,
    source: ComponentSource::Verified,
    description: "orders fulfilled on time over trailing 90 days",
    evidence: "orders by the promised time of delivery, at most sixty days after the purchase, without one by thirty days after it; orders of which the merchant canceled product units count as late, unless it stated no other reason than buyer_request and fraud",
    influenced_by: &[Party::Merchant, Party::Agent, Party::Buyer, Party::Operator],
    measure: Measure::Units(UNITS),
    normalization: Normalization::SHARE,
};

const UNITS: UnitRule =
    UnitRule { good: Fact::OnTime, of: &[Fact::OnTime, Fact::Late], cap: 5, purchases: None };

/// Returns the figure; `None` up to the minimum sample.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    UNITS.figure(evidence, RULE.normalization)
}
