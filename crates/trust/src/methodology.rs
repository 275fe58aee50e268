//! The published methodology (docs/contract/trust.md#methodology-document, docs/contract/trust.md#methodology-4-1).

use std::collections::BTreeMap;

use merchants::{AGENT_THRESHOLD, Band, SUSPENSION_THRESHOLD};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Component, Evidence};

/// Version of the methodology in force.
pub const METHODOLOGY_VERSION: &str = "2.0";

/// How trust scores are computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Methodology {
    /// Version of the methodology in force.
    pub version: &'static str,
    /// Date of the last change.
    pub last_updated: &'static str,
    /// How often scores are recomputed, once they are: see `scores_computed`.
    pub update_cadence: &'static str,
    /// Whether scores are recomputed at this cadence. False: not yet; published scores are sample data.
    pub scores_computed: bool,
    /// Stores with a score below this are suspended from agent discovery.
    pub suspension_threshold: f64,
    /// Stores with a score below this do not accept agent checkout.
    pub agent_threshold: f64,
    /// How component values are combined into a score.
    pub formula: &'static str,
    /// Components of a score, by name.
    pub components: BTreeMap<&'static str, ComponentRule>,
    /// Labels with the minimum score of each.
    pub thresholds: Vec<Threshold>,
    /// Rules that prevent manipulation of scores. A rule that does not hold yet says so.
    pub anti_manipulation: Vec<&'static str>,
    /// How a merchant disputes a score.
    pub dispute_process: DisputeProcess,
    /// An alternative methodology that is not in force.
    pub v41_methodology: DormantMethodology,
}

/// A component of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentRule {
    /// Weight in the score, 0 to 1.
    pub weight: f64,
    /// Source of the value: measured by Souk, or declared by the merchant.
    pub source: Evidence,
    /// What the component measures.
    pub description: &'static str,
}

/// A label and its effect.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Threshold {
    /// The label.
    pub label: Band,
    /// Threshold of the label.
    pub min_score: f64,
    /// Meaning for agents.
    pub effect: &'static str,
}

/// How a merchant disputes a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DisputeProcess {
    /// Method and path of the appeal.
    pub endpoint: &'static str,
    /// Hours within which an appeal is answered.
    pub sla_hours: i64,
    /// Whether appeals are accepted. False: not yet.
    pub available: bool,
}

/// A methodology that is not in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DormantMethodology {
    /// Version of the methodology.
    pub version: &'static str,
    /// Always `dormant`.
    pub status: &'static str,
    /// Flag that would activate it.
    pub flag: &'static str,
    /// Maximum score.
    pub scale_max: i64,
    /// How dimensions are combined into a score.
    pub formula: &'static str,
    /// Dimensions of a score.
    pub dimensions: Dimensions,
}

/// Dimensions of the dormant methodology.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dimensions {
    /// Reliability of the merchant, apart from agents.
    pub merchant_reliability_base: &'static str,
    /// Quality of the merchant's setup for agents.
    pub agentic_readiness: &'static str,
    /// Evidence from purchases by agents.
    pub agentic_evidence: &'static str,
    /// Bonus for external certifications.
    pub external_assurance: &'static str,
}

impl Default for Methodology {
    fn default() -> Self {
        let rule = |component: Component| {
            let rule = ComponentRule {
                weight: component.weight(),
                source: component.evidence(),
                description: component.description(),
            };
            (component.as_str(), rule)
        };
        Self {
            version: METHODOLOGY_VERSION,
            last_updated: "2026-11-15",
            update_cadence: "every_6_hours",
            scores_computed: false,
            suspension_threshold: SUSPENSION_THRESHOLD,
            agent_threshold: AGENT_THRESHOLD,
            formula: "weighted_sum_clamped_0_1",
            components: Component::ALL.iter().copied().map(rule).collect(),
            thresholds: thresholds(),
            anti_manipulation: vec![
                "verified components are computed from live transaction data and cannot be self-reported",
                "scores are computed server-side every 6 hours and signed with a qualified trust-service-provider timestamp (not yet in effect)",
                "score history is append-only (immutable)",
                "suspiciously rapid gains raise anomaly alerts reviewed by an administrator (not yet in effect)",
            ],
            dispute_process: DisputeProcess {
                endpoint: "POST /api/v1/trust/appeal",
                sla_hours: 72,
                available: false,
            },
            v41_methodology: DormantMethodology {
                version: "4.1.0",
                status: "dormant",
                flag: "TRUST_SCORE_V41_ENABLED",
                scale_max: 100,
                formula: "tier_capped_weighted_dimensions_plus_external_assurance_bonus",
                dimensions: Dimensions {
                    merchant_reliability_base: "fulfillment, dispute and refund health, catalog operational quality, store age, human order volume",
                    agentic_readiness: "setup quality, protocol security with Ed25519 signing, compliance health, integration freshness",
                    agentic_evidence: "evidence from real agent transactions: checkout, fulfillment, agent dispute health, receipt integrity",
                    external_assurance: "additive bonus of at most 10 for external certifications, added after the base score",
                },
            },
        }
    }
}

/// Returns the bands as published (docs/contract/trust.md#published-thresholds). The last one is the threshold below which a
/// store is suspended; RESTRICTED is every score below CAUTION.
fn thresholds() -> Vec<Threshold> {
    let threshold = |label, min_score, effect| Threshold { label, min_score, effect };
    vec![
        threshold(Band::Elite, 0.95, "top 5% of merchants; maximum agent trust"),
        threshold(Band::Verified, 0.85, "agents may proceed without friction"),
        threshold(
            Band::Standard,
            AGENT_THRESHOLD,
            "minimum for agent checkout; normal confirmation",
        ),
        threshold(
            Band::Caution,
            0.5,
            "deprioritized in search results; agents should add friction",
        ),
        threshold(
            Band::Restricted,
            SUSPENSION_THRESHOLD,
            "automatically suspended from agent discovery",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_score_of_a_label_is_in_its_band() {
        for threshold in thresholds() {
            assert_eq!(Band::of(threshold.min_score), threshold.label);
        }
    }

    /// The table of the specification, word for word.
    #[test]
    fn the_published_thresholds_do_not_change() {
        let published: Vec<(&str, f64, &str)> =
            thresholds().iter().map(|it| (it.label.as_str(), it.min_score, it.effect)).collect();
        let specified = [
            ("ELITE", 0.95, "top 5% of merchants; maximum agent trust"),
            ("VERIFIED", 0.85, "agents may proceed without friction"),
            ("STANDARD", 0.70, "minimum for agent checkout; normal confirmation"),
            ("CAUTION", 0.50, "deprioritized in search results; agents should add friction"),
            ("RESTRICTED", 0.20, "automatically suspended from agent discovery"),
        ];
        assert_eq!(published, specified);
    }

    #[test]
    fn what_does_not_exist_yet_says_so() {
        let document = Methodology::default();
        assert!(!document.scores_computed && !document.dispute_process.available);
        for word in ["timestamp", "alerts"] {
            let rule = document.anti_manipulation.iter().find(|rule| rule.contains(word));
            assert!(rule.is_some_and(|rule| rule.ends_with("(not yet in effect)")), "{word}");
        }
    }
}
