//! The twelve components of a trust score (docs/contract/trust.md#components).

use schemars::JsonSchema;

primitives::text_enum! {
    /// Source of a component's value.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum Evidence {
        /// Measured by Souk; the merchant cannot report it.
        Verified,
        /// Declared by the merchant.
        Declared,
    }
}

primitives::text_enum! {
    /// A component of a trust score, in the order of publication.
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

/// What the methodology publishes about a component.
struct Definition {
    /// In hundredths, so that the sum is exact.
    weight_hundredths: u8,
    evidence: Evidence,
    description: &'static str,
}

const fn verified(weight_hundredths: u8, description: &'static str) -> Definition {
    Definition { weight_hundredths, evidence: Evidence::Verified, description }
}

const fn declared(weight_hundredths: u8, description: &'static str) -> Definition {
    Definition { weight_hundredths, evidence: Evidence::Declared, description }
}

impl Component {
    const fn definition(self) -> Definition {
        match self {
            Self::CatalogCompleteness => verified(
                11,
                "ratio of products with all required fields (title, price, images, GTIN)",
            ),
            Self::CatalogFreshness => {
                verified(11, "age of last successful catalog sync, normalized 0 to 1")
            }
            Self::PriceAccuracy => {
                verified(12, "match rate between listed price and live price at checkout")
            }
            Self::AvailabilityAccuracy => {
                verified(8, "stock-status accuracy versus actual inventory")
            }
            Self::PolicyCoverage => {
                declared(8, "fraction of required policy fields filled (return, shipping, privacy)")
            }
            Self::CheckoutSuccessRate => {
                verified(11, "ratio checkout_complete / checkout_start agent events")
            }
            Self::FulfillmentRate => verified(8, "orders fulfilled on time over trailing 90 days"),
            Self::DisputeRate => verified(7, "dispute tickets / total orders (lower is better)"),
            Self::AgentSatisfactionRate => verified(
                8,
                "agent checkout conversion rate (CHECKOUT_COMPLETE / CHECKOUT_START events)",
            ),
            Self::ResponseLatency => {
                verified(5, "API p95 latency score: 1.0 below 200 ms, 0.0 above 2000 ms")
            }
            Self::ReviewSentiment => {
                declared(5, "average product rating normalized from 0-5 to 0-1")
            }
            Self::DataConsistency => verified(
                6,
                "cross-field consistency (price/currency, stock/quantity, GTIN uniqueness)",
            ),
        }
    }

    /// Weight of the component in the score, 0 to 1. All weights sum to 1.
    #[must_use]
    pub fn weight(self) -> f64 {
        f64::from(self.definition().weight_hundredths) / 100.0
    }

    /// Source of the component's value.
    #[must_use]
    pub fn evidence(self) -> Evidence {
        self.definition().evidence
    }

    /// What the component measures.
    #[must_use]
    pub fn description(self) -> &'static str {
        self.definition().description
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_every_component_is_described() {
        let hundredths =
            |component: &Component| u32::from(component.definition().weight_hundredths);
        assert_eq!(Component::ALL.iter().map(hundredths).sum::<u32>(), 100);
        for component in Component::ALL {
            assert!(!component.description().is_empty(), "{component}");
        }
    }
}
