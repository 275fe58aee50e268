//! The twelve parts of a score (spec §2.6).

use schemars::JsonSchema;
use serde::Serialize;

/// Where a figure comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Measured by us, out of the merchant's reach.
    Verified,
    /// Said by the merchant.
    Declared,
}

/// One part of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Products with all required fields.
    CatalogCompleteness,
    /// How long ago the catalog was brought in.
    CatalogFreshness,
    /// Listed prices that held at checkout.
    PriceAccuracy,
    /// Stock that was as listed.
    AvailabilityAccuracy,
    /// Promises that are made at all.
    PolicyCoverage,
    /// Checkouts that were finished.
    CheckoutSuccessRate,
    /// Orders that came in time.
    FulfillmentRate,
    /// Orders nobody disputed.
    DisputeRate,
    /// Agents whose checkouts were finished.
    AgentSatisfactionRate,
    /// How quickly the merchant's API answers.
    ResponseLatency,
    /// How products are rated.
    ReviewSentiment,
    /// Fields that agree with each other.
    DataConsistency,
}

/// What is published about a component.
struct About {
    component: Component,
    name: &'static str,
    /// In hundredths, so that the sum is exact.
    weight_hundredths: u8,
    evidence: Evidence,
    description: &'static str,
}

const fn about(
    component: Component,
    name: &'static str,
    weight_hundredths: u8,
    evidence: Evidence,
    description: &'static str,
) -> About {
    About { component, name, weight_hundredths, evidence, description }
}

const ALL: [About; 12] = {
    use Component as C;
    use Evidence::{Declared, Verified};
    [
        about(
            C::CatalogCompleteness,
            "catalog_completeness",
            11,
            Verified,
            "ratio of products with all required fields (title, price, images, GTIN)",
        ),
        about(
            C::CatalogFreshness,
            "catalog_freshness",
            11,
            Verified,
            "age of last successful catalog sync, normalized 0 to 1",
        ),
        about(
            C::PriceAccuracy,
            "price_accuracy",
            12,
            Verified,
            "match rate between listed price and live price at checkout",
        ),
        about(
            C::AvailabilityAccuracy,
            "availability_accuracy",
            8,
            Verified,
            "stock-status accuracy versus actual inventory",
        ),
        about(
            C::PolicyCoverage,
            "policy_coverage",
            8,
            Declared,
            "fraction of required policy fields filled (return, shipping, privacy)",
        ),
        about(
            C::CheckoutSuccessRate,
            "checkout_success_rate",
            11,
            Verified,
            "ratio checkout_complete / checkout_start agent events",
        ),
        about(
            C::FulfillmentRate,
            "fulfillment_rate",
            8,
            Verified,
            "orders fulfilled on time over trailing 90 days",
        ),
        about(
            C::DisputeRate,
            "dispute_rate",
            7,
            Verified,
            "dispute tickets / total orders (lower is better)",
        ),
        about(
            C::AgentSatisfactionRate,
            "agent_satisfaction_rate",
            8,
            Verified,
            "agent checkout conversion rate (CHECKOUT_COMPLETE / CHECKOUT_START events)",
        ),
        about(
            C::ResponseLatency,
            "response_latency",
            5,
            Verified,
            "API p95 latency score: 1.0 below 200 ms, 0.0 above 2000 ms",
        ),
        about(
            C::ReviewSentiment,
            "review_sentiment",
            5,
            Declared,
            "average product rating normalized from 0-5 to 0-1",
        ),
        about(
            C::DataConsistency,
            "data_consistency",
            6,
            Verified,
            "cross-field consistency (price/currency, stock/quantity, GTIN uniqueness)",
        ),
    ]
};

impl Component {
    /// All of them, in the order they are published.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|about| about.component)
    }

    fn about(self) -> Option<&'static About> {
        ALL.iter().find(|about| about.component == self)
    }

    /// The name, as published and as kept.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().map_or("", |about| about.name)
    }

    /// The component of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        ALL.iter().find(|about| about.name == name).map(|about| about.component)
    }

    /// Its share of the whole.
    #[must_use]
    pub fn weight(self) -> f64 {
        self.about().map_or(0.0, |about| f64::from(about.weight_hundredths) / 100.0)
    }

    /// Where its figure comes from.
    #[must_use]
    pub fn evidence(self) -> Evidence {
        self.about().map_or(Evidence::Declared, |about| about.evidence)
    }

    /// What it measures.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.about().map_or("", |about| about.description)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_make_a_whole_and_names_lead_back() {
        assert_eq!(ALL.iter().map(|about| u32::from(about.weight_hundredths)).sum::<u32>(), 100);
        for component in Component::all() {
            assert_eq!(Component::from_name(component.name()), Some(component));
            assert!(!component.description().is_empty());
        }
    }
}
