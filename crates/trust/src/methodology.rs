//! The methodology, as it is published (spec §2.6, §2.7).

use std::collections::BTreeMap;

use merchants::{AGENT_THRESHOLD, Band, SUSPENSION_THRESHOLD};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Component, Evidence};

/// The version in force.
pub const METHODOLOGY_VERSION: &str = "2.0";

/// How scores come about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Methodology {
    /// Its version.
    pub version: &'static str,
    /// The day it was last changed.
    pub last_updated: &'static str,
    /// How often scores are computed.
    pub update_cadence: &'static str,
    /// Below it, a store is suspended from discovery.
    pub suspension_threshold: f64,
    /// Below it, agents cannot check out.
    pub agent_threshold: f64,
    /// How components make a score.
    pub formula: &'static str,
    /// The parts of a score, by name.
    pub components: BTreeMap<&'static str, ComponentRule>,
    /// The labels, and from which score they are given.
    pub thresholds: Vec<Threshold>,
    /// What keeps a score from being bent.
    pub anti_manipulation: Vec<&'static str>,
    /// How a score is disputed.
    pub dispute_process: Dispute,
    /// The methodology that may follow; not in force.
    pub v41_methodology: Dormant,
}

/// A part of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentRule {
    /// Its share of the whole.
    pub weight: f64,
    /// Where its figure comes from.
    pub source: Evidence,
    /// What it measures.
    pub description: &'static str,
}

/// A label and what it means.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Threshold {
    /// The label.
    pub label: Band,
    /// The least score it is given for.
    pub min_score: f64,
    /// What it means to agents.
    pub effect: &'static str,
}

/// How a score is disputed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Dispute {
    /// Where.
    pub endpoint: &'static str,
    /// Within how many hours it is answered.
    pub sla_hours: i64,
}

/// A methodology that is not in force.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Dormant {
    /// Its version.
    pub version: &'static str,
    /// Always `dormant`.
    pub status: &'static str,
    /// What would switch it on.
    pub flag: &'static str,
    /// The highest score.
    pub scale_max: i64,
    /// How it computes.
    pub formula: &'static str,
    /// What it looks at.
    pub dimensions: Dimensions,
}

/// What the dormant methodology looks at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dimensions {
    /// The merchant as such.
    pub merchant_reliability_base: &'static str,
    /// How well it is set up for agents.
    pub agentic_readiness: &'static str,
    /// What agents really bought.
    pub agentic_evidence: &'static str,
    /// A bonus for what others certify.
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
            (component.name(), rule)
        };
        Self {
            version: METHODOLOGY_VERSION,
            last_updated: "2026-11-15",
            update_cadence: "every_6_hours",
            suspension_threshold: SUSPENSION_THRESHOLD,
            agent_threshold: AGENT_THRESHOLD,
            formula: "weighted_sum_clamped_0_1",
            components: Component::all().map(rule).collect(),
            thresholds: thresholds(),
            anti_manipulation: vec![
                "verified components are computed from live transaction data and cannot be self-reported",
                "scores are computed server-side every 6 hours and signed with a qualified trust-service-provider timestamp",
                "score history is append-only (immutable)",
                "suspiciously rapid gains raise anomaly alerts reviewed by an administrator",
            ],
            dispute_process: Dispute { endpoint: "POST /api/v1/trust/appeal", sla_hours: 72 },
            v41_methodology: Dormant {
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

fn thresholds() -> Vec<Threshold> {
    let threshold = |label, min_score, effect| Threshold { label, min_score, effect };
    vec![
        threshold(Band::Elite, 0.95, "maximum agent trust"),
        threshold(Band::Verified, 0.85, "agents may proceed without friction"),
        threshold(
            Band::Standard,
            AGENT_THRESHOLD,
            "minimum for agent checkout; normal confirmation",
        ),
        threshold(Band::Caution, 0.5, "listed last, no agent checkout; agents should add friction"),
        threshold(
            Band::Restricted,
            0.0,
            "listed last, no agent checkout; below 0.2 suspended from agent discovery",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_begin_where_bands_do() {
        for threshold in thresholds() {
            assert_eq!(Band::of(threshold.min_score), threshold.label);
        }
    }
}
