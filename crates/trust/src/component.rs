//! The twelve components of a trust score (docs/contract/trust.md#components). Each has a file with its published rule and its
//! function of the evidence.

mod agent_satisfaction_rate;
mod availability_accuracy;
mod catalog_completeness;
mod catalog_freshness;
mod checkout_success_rate;
mod data_consistency;
mod dispute_rate;
mod fulfillment_rate;
mod policy_coverage;
mod price_accuracy;
mod response_latency;
mod review_sentiment;
pub(crate) mod rule;
pub(crate) mod units;

use schemars::JsonSchema;

use crate::{Evidence, Figure, Sample};
use rule::{Measure, Rule};

primitives::text_enum! {
    /// Source of a component's value.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum ComponentSource {
        /// Measured by Souk. Of purchases through Souk, the merchant states payments on its own page, amounts, the promised
        /// time of delivery, shipment, delivery and the reasons of cancellations.
        Verified,
        /// Declared by the merchant.
        Declared,
    }
}

primitives::text_enum! {
    /// A component of a trust score, in the order of publication.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Component {
        CatalogCompleteness,
        CatalogFreshness,
        PriceAccuracy,
        AvailabilityAccuracy,
        PolicyCoverage,
        CheckoutSuccessRate,
        FulfillmentRate,
        DisputeRate,
        AgentSatisfactionRate,
        ResponseLatency,
        ReviewSentiment,
        DataConsistency,
    }
}

impl Component {
    /// Returns the rule of the component.
    pub(crate) const fn rule(self) -> Rule {
        match self {
            Self::CatalogCompleteness => catalog_completeness::RULE,
            Self::CatalogFreshness => catalog_freshness::RULE,
            Self::PriceAccuracy => price_accuracy::RULE,
            Self::AvailabilityAccuracy => availability_accuracy::RULE,
            Self::PolicyCoverage => policy_coverage::RULE,
            Self::CheckoutSuccessRate => checkout_success_rate::RULE,
            Self::FulfillmentRate => fulfillment_rate::RULE,
            Self::DisputeRate => dispute_rate::RULE,
            Self::AgentSatisfactionRate => agent_satisfaction_rate::RULE,
            Self::ResponseLatency => response_latency::RULE,
            Self::ReviewSentiment => review_sentiment::RULE,
            Self::DataConsistency => data_consistency::RULE,
        }
    }

    /// Returns the figure of the component; `None` if it does not apply.
    pub(crate) fn figure(self, evidence: &Evidence) -> Option<Figure> {
        match self {
            Self::CatalogCompleteness => catalog_completeness::figure(evidence),
            Self::CatalogFreshness => Some(catalog_freshness::figure(evidence)),
            Self::PriceAccuracy => price_accuracy::figure(evidence),
            Self::AvailabilityAccuracy => availability_accuracy::figure(evidence),
            Self::PolicyCoverage => Some(policy_coverage::figure(evidence)),
            Self::CheckoutSuccessRate => checkout_success_rate::figure(evidence),
            Self::FulfillmentRate => fulfillment_rate::figure(evidence),
            Self::DisputeRate => dispute_rate::figure(evidence),
            Self::AgentSatisfactionRate => agent_satisfaction_rate::figure(evidence),
            Self::ResponseLatency => response_latency::figure(evidence),
            Self::ReviewSentiment => review_sentiment::figure(evidence),
            Self::DataConsistency => data_consistency::figure(evidence),
        }
    }

    /// Returns the data behind the component, also if it does not apply because there is too little.
    #[must_use]
    pub fn sample(self, evidence: &Evidence) -> Sample {
        match self.rule().measure {
            Measure::Units(units) => units.sample(evidence),
            _ => self.figure(evidence).map_or_else(Sample::default, |figure| figure.sample),
        }
    }

    /// Whether the component is counted in units of accounts, and has a minimum sample.
    #[must_use]
    pub fn is_counted_in_units(self) -> bool {
        matches!(self.rule().measure, Measure::Units(_))
    }

    /// Weight of the component in the score, 0 to 1. All weights sum to 1.
    #[must_use]
    pub fn weight(self) -> f64 {
        f64::from(self.weight_hundredths()) / 100.0
    }

    pub(crate) const fn weight_hundredths(self) -> u8 {
        self.rule().weight_hundredths
    }

    /// Source of the component's value.
    #[must_use]
    pub const fn source(self) -> ComponentSource {
        self.rule().source
    }

    /// What the component measures.
    #[must_use]
    pub const fn description(self) -> &'static str {
        self.rule().description
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::evidence::PHASE_STEPS;
    use crate::{Fact, Party};

    #[test]
    fn weights_sum_to_one_and_every_component_is_described() {
        let hundredths = |component: &Component| u32::from(component.weight_hundredths());
        assert_eq!(Component::ALL.iter().map(hundredths).sum::<u32>(), 100);
        for component in Component::ALL {
            let rule = component.rule();
            assert!(!rule.description.is_empty() && !rule.evidence.is_empty(), "{component}");
            assert!(!rule.influenced_by.is_empty(), "{component}");
        }
    }

    /// The table of the specification.
    #[test]
    fn the_published_weights_and_sources_do_not_change() {
        use ComponentSource::{Declared, Verified};
        let specified = [
            ("catalog_completeness", 0.11, Verified),
            ("catalog_freshness", 0.11, Verified),
            ("price_accuracy", 0.12, Verified),
            ("availability_accuracy", 0.08, Verified),
            ("policy_coverage", 0.08, Declared),
            ("checkout_success_rate", 0.11, Verified),
            ("fulfillment_rate", 0.08, Verified),
            ("dispute_rate", 0.07, Verified),
            ("agent_satisfaction_rate", 0.08, Verified),
            ("response_latency", 0.05, Verified),
            ("review_sentiment", 0.05, Declared),
            ("data_consistency", 0.06, Verified),
        ];
        let published = Component::ALL.iter().map(|it| (it.as_str(), it.weight(), it.source()));
        assert_eq!(published.collect::<Vec<_>>(), specified);
    }

    /// Step 6 of the proof in docs/decisions/0034-units-of-trust.md.
    #[test]
    fn the_weights_of_all_units_together_keep_the_bound_of_one_account() {
        let mut listed = Evidence::default();
        listed.state.products = 1;
        let (mut always, mut changed) = (0.0, 0.0);
        for component in Component::ALL {
            let rule = component.rule();
            let Measure::Units(units) = rule.measure else {
                // These apply to every store with listed products.
                always +=
                    if component.figure(&listed).is_some() { component.weight() } else { 0.0 };
                continue;
            };
            let slope = 1.0 / (rule.normalization.one_at - rule.normalization.zero_at);
            let brackets = if units.purchases.is_some() { 2.0 } else { 1.0 };
            changed += component.weight() * slope.abs() * brackets;
        }
        let ramp = (units::UNITS_FULL - units::UNITS_MIN) * f64::from(PHASE_STEPS);
        let bound = changed / ramp / always;
        assert_eq!([format!("{changed:.2}"), format!("{always:.2}")], ["0.94", "0.36"]);
        // The published bound is rounded up.
        assert!(0.0093 < bound && bound <= 0.0094, "{bound}");
        assert!(bound < units::ACCOUNT_CHANGE_MAX);
    }

    #[test]
    fn who_influences_the_facts_of_a_component_influences_it() {
        for component in Component::ALL {
            let rule = component.rule();
            let Measure::Units(units) = rule.measure else { continue };
            let purchases = units.purchases.map(|it| [it.paid_by, it.matured_by]);
            let purchases = purchases.into_iter().flatten();
            let facts = units.of.iter().copied().chain([units.good]).chain(purchases);
            let of_facts = facts.flat_map(|fact: Fact| fact.definition().influenced_by);
            let of_facts: BTreeSet<Party> = of_facts.copied().collect();
            let published: BTreeSet<Party> = rule.influenced_by.iter().copied().collect();
            assert_eq!(published, of_facts, "{component}");
        }
    }
}
