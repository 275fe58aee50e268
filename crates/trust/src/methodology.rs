//! The published methodology (docs/contract/trust.md#methodology-document, docs/contract/trust.md#methodology-4-1).

mod rules;

use std::collections::BTreeMap;

use merchants::{AGENT_THRESHOLD, Band, SUSPENSION_THRESHOLD};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Component;
use crate::v41::DormantMethodology;
use rules::facts;

pub use rules::{
    ComponentRule, EpochRule, FactRule, MeasureKind, MeasureRule, NormalizationRule,
    ProvisionalRule, ScoringRule, UnitsRule, WindowRule,
};

/// Version of the methodology of the published document.
pub const METHODOLOGY_VERSION: &str = "2.0";

/// How trust scores are computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Methodology {
    /// Version of the methodology of this document; 4.1.0 is in force instead while `v41_methodology.status` is `active`.
    pub version: &'static str,
    /// Date of the last change.
    pub last_updated: &'static str,
    /// How often scores are recomputed.
    pub update_cadence: &'static str,
    /// Whether scores are recomputed at this cadence.
    pub scores_computed: bool,
    /// Stores with a score below this are suspended from agent discovery.
    pub suspension_threshold: f64,
    /// Stores with a score below this do not accept agent checkout.
    pub agent_threshold: f64,
    /// How component values are combined into a score.
    pub formula: &'static str,
    /// Components of a score, by name.
    pub components: BTreeMap<&'static str, ComponentRule>,
    /// How the values of the components become a score.
    pub scoring: ScoringRule,
    /// When scores are computed.
    pub epochs: EpochRule,
    /// Which days count, and how far.
    pub window: WindowRule,
    /// How facts of accounts become the share of a component of the kind `units`.
    pub units: UnitsRule,
    /// Kinds of facts, counted by account and day.
    pub facts: BTreeMap<&'static str, FactRule>,
    /// When a score is provisional, and what follows.
    pub provisional: ProvisionalRule,
    /// Labels with the minimum score of each.
    pub thresholds: Vec<Threshold>,
    /// Rules that prevent manipulation of scores. A rule that does not hold yet says so.
    pub anti_manipulation: Vec<&'static str>,
    /// How a merchant disputes a score.
    pub dispute_process: DisputeProcess,
    /// An alternative methodology: in force if its `status` is `active`.
    pub v41_methodology: DormantMethodology,
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

impl Default for Methodology {
    /// Returns the document while methodology 4.1.0 is dormant.
    fn default() -> Self {
        Self::of(false)
    }
}

impl Methodology {
    /// Returns the document.
    #[must_use]
    pub fn of(is_v41_enabled: bool) -> Self {
        let rule = |component: &Component| (component.as_str(), ComponentRule::of(*component));
        Self {
            version: METHODOLOGY_VERSION,
            last_updated: "2026-11-19",
            update_cadence: "every_6_hours",
            scores_computed: true,
            suspension_threshold: SUSPENSION_THRESHOLD,
            agent_threshold: AGENT_THRESHOLD,
            formula: "weighted_sum_clamped_0_1",
            components: Component::ALL.iter().map(rule).collect(),
            scoring: ScoringRule::default(),
            epochs: EpochRule::default(),
            window: WindowRule::default(),
            units: UnitsRule::default(),
            facts: facts(),
            provisional: ProvisionalRule::default(),
            thresholds: thresholds(),
            anti_manipulation: anti_manipulation(),
            dispute_process: DisputeProcess {
                endpoint: "POST /api/v1/trust/appeal",
                sla_hours: 72,
                available: false,
            },
            v41_methodology: DormantMethodology::v41(is_v41_enabled),
        }
    }
}

/// Returns the rules of the specification, then ours.
fn anti_manipulation() -> Vec<&'static str> {
    vec![
        "verified components are measured by Souk: those of the catalog from products and synchronizations, all others from live \
         transaction data of purchases through Souk. Of these the merchant states payments on its own page, of which nothing good \
         counts after the checkout has ended, their amounts, the promised time of delivery, shipment, delivery and the reasons of \
         cancellations. Orders that it pushes are in no component",
        "scores are computed server-side every 6 hours",
        "scores are signed with a qualified trust-service-provider timestamp (not yet in effect)",
        "score history is append-only (immutable)",
        "suspiciously rapid gains, and falls, raise anomaly alerts reviewed by an administrator",
        "an account changes a score by at most units.account_change_max from one epoch to the next by its own facts, its \
         cancellations included; what the merchant cancels or reports, and a payment that an administrator declares failed, can \
         change facts of earlier days at once",
        "the facts of an account that never paid at a store change nothing there, unless the merchant reported a price other \
         than the quoted one to it; checkouts that an account did not complete count \
         on at most as many days as it has with a purchase there that it did not cancel as a whole within window.maturity_days",
        "a day of facts enters the score over four epochs, and leaves it over four",
        "an order of which the merchant canceled product units counts against it, unless it stated no other reason than \
         buyer_request and fraud: then the order counts in none of the good facts except delivered",
        "at most provisional.delivered_orders_of_account_max delivered orders of an account count, so that no account ends the \
         provisional time of a store alone",
        "a merchant can export the evidence of its newest score, from which this document lets anybody compute the score again",
    ]
}

/// Returns the bands as published (docs/contract/trust.md#published-thresholds). The last one is the threshold below which a
/// store is suspended; RESTRICTED is every score below CAUTION.
#[must_use]
pub fn thresholds() -> Vec<Threshold> {
    let threshold = |label, min_score, effect| Threshold { label, min_score, effect };
    let of_band = |band: Band, effect| threshold(band, band.min_score(), effect);
    vec![
        of_band(Band::Elite, "top 5% of merchants; maximum agent trust"),
        of_band(Band::Verified, "agents may proceed without friction"),
        of_band(Band::Standard, "minimum for agent checkout; normal confirmation"),
        of_band(Band::Caution, "deprioritized in search results; agents should add friction"),
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
        assert!(document.scores_computed && !document.dispute_process.available);
        let open = |word: &str| {
            let rule = document.anti_manipulation.iter().find(|rule| rule.contains(word));
            rule.map(|rule| rule.ends_with("(not yet in effect)"))
        };
        assert_eq!((open("timestamp"), open("alerts")), (Some(true), Some(false)));
    }

    #[test]
    fn everything_needed_to_compute_a_score_is_published() {
        let document = serde_json::to_value(Methodology::default()).unwrap();
        let price = &document["components"]["price_accuracy"];
        assert_eq!(
            price["measure"],
            serde_json::json!({
                "kind": "units", "window_days": 90, "good": "price_equal",
                "of": ["price_equal", "price_different"], "account_units_max": 5,
            })
        );
        assert_eq!(price["normalization"], serde_json::json!({ "zero_at": 0.0, "one_at": 1.0 }));
        let success = &document["components"]["checkout_success_rate"]["measure"];
        assert_eq!(success["paid_by"], "completed");
        assert_eq!(success["matured_by"], "lasting");
        let freshness = &document["components"]["catalog_freshness"]["normalization"];
        assert_eq!(*freshness, serde_json::json!({ "zero_at": 168.0, "one_at": 24.0 }));
        assert_eq!(document["window"]["days"], 90);
        assert_eq!(document["window"]["phase_steps"], 4);
        assert_eq!(document["window"]["maturity_days"], 10);
        assert_eq!(document["units"]["units_min"], 5.0);
        assert_eq!(document["units"]["units_full"], 75.0);
        assert_eq!(document["provisional"]["delivered_orders_below"], 20);
        assert_eq!(document["provisional"]["delivered_orders_of_account_max"], 5);
        assert_eq!(document["provisional"]["ranked_at_most"], 0.84);
        assert_eq!(document["epochs"]["seconds"], 21_600);
        let measures = document["scoring"]["measures"].as_object().unwrap();
        for component in document["components"].as_object().unwrap().values() {
            assert!(measures.contains_key(component["measure"]["kind"].as_str().unwrap()));
        }
    }
}
