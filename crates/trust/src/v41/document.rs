//! The published description of methodology 4.1.0, `v41_methodology` of the methodology document.

use schemars::JsonSchema;
use serde::Serialize;

use super::V41_VERSION;
use super::assurance::{BONUS_MAX, CERTIFICATION_POINTS, GATES};
use super::data_quality::DataQuality;
use super::dimension::Dimension;
use super::signal::Signal;
use super::tier::{THIN_ORDERS_MAX, THIN_ORDERS_MIN, Tier, Weights};
use super::window::{ACCOUNT_OUTCOMES_MAX, ACCOUNTS_MIN, OUTCOMES_MIN, WINDOW_DAYS};

/// A methodology that is in force only while its flag is set.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DormantMethodology {
    /// Version of the methodology.
    pub version: &'static str,
    /// `dormant`, or `active` while the flag is set.
    pub status: &'static str,
    /// Flag that activates it.
    pub flag: &'static str,
    /// Maximum score.
    pub scale_max: i64,
    /// How dimensions are combined into a score.
    pub formula: &'static str,
    /// Dimensions of a score.
    pub dimensions: Dimensions,
    /// How the base score, the cap and the bonus make the score.
    pub combination: &'static str,
    /// What a store needs for each tier, and what the tier gives.
    pub tiers: Vec<TierRule>,
    /// Meaning of the figures in the criteria of the tiers.
    pub figures: Vec<FigureRule>,
    /// Levels of data quality, best first.
    pub data_quality_levels: Vec<LevelRule>,
    /// Signals of the dimensions, with their weights.
    pub signals: Vec<SignalRule>,
    /// How a rate in the rule of a signal is computed.
    pub rates: RateRule,
    /// How the bonus is computed.
    pub external_assurance: AssuranceRule,
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

/// A tier.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TierRule {
    /// Name of the tier.
    pub tier: Tier,
    /// Maximum of the base score; null if no score is issued.
    pub cap: Option<u8>,
    /// What a store needs for the tier.
    pub criteria: &'static str,
    /// Weights of the dimensions; null if no score is issued.
    pub weights: Option<Weights>,
    /// How the weights change within the tier; null if they do not.
    pub interpolation: Option<Interpolation>,
}

/// A linear change of weights within a tier.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Interpolation {
    /// agentOrders at which the change begins.
    pub from_agent_orders: i64,
    /// agentOrders from which the published weights hold.
    pub to_agent_orders: i64,
    /// Weights at the beginning.
    pub weights_from: Weights,
    /// How the weights are computed in between.
    pub rule: &'static str,
}

/// A figure that decides about the tier.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FigureRule {
    /// Name in the criteria.
    pub figure: &'static str,
    /// Quality of the data behind it.
    pub data_quality: DataQuality,
    /// How it is counted.
    pub rule: &'static str,
}

/// A level of data quality.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LevelRule {
    /// Name of the level.
    pub level: DataQuality,
    /// Meaning of the level.
    pub meaning: &'static str,
}

/// A signal.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SignalRule {
    /// Name of the signal.
    pub signal: Signal,
    /// The dimension that it belongs to.
    pub dimension: Dimension,
    /// Weight within the dimension, 0 to 1.
    pub weight: f64,
    /// Level of the signal when it has a value.
    pub data_quality: DataQuality,
    /// Whether data for it exists. False: not yet, the signal is `not_applicable` for every store.
    pub available: bool,
    /// How the value is computed, 0 to 1; a signal has 100 times this.
    pub rule: &'static str,
}

/// How rates are computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RateRule {
    /// Days of the window, up to the last day that counts at the epoch.
    pub window_days: i32,
    /// Outcomes of one account that count.
    pub account_outcomes_max: u32,
    /// Least number of outcomes, after the limit of each account.
    pub outcomes_min: u32,
    /// Least number of accounts with an outcome.
    pub accounts_min: u32,
    /// How they are applied.
    pub rule: &'static str,
}

/// How the bonus of external assurance is computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AssuranceRule {
    /// Largest bonus.
    pub bonus_max: u8,
    /// Points of each certification that passes all gates.
    pub points_per_certification: u8,
    /// What a certification needs in order to count.
    pub gates: Vec<&'static str>,
    /// Whether certifications are recorded. False: not yet, the bonus of every store is 0.
    pub available: bool,
}

impl DormantMethodology {
    /// Returns the description of methodology 4.1.0.
    #[must_use]
    pub fn v41(is_enabled: bool) -> Self {
        Self {
            version: V41_VERSION,
            status: if is_enabled { "active" } else { "dormant" },
            flag: "TRUST_SCORE_V41_ENABLED",
            scale_max: 100,
            formula: "tier_capped_weighted_dimensions_plus_external_assurance_bonus",
            dimensions: Dimensions {
                merchant_reliability_base: "fulfillment, dispute and refund health, catalog operational quality, store age, human order volume",
                agentic_readiness: "setup quality, protocol security with Ed25519 signing, compliance health, integration freshness",
                agentic_evidence: "evidence from real agent transactions: checkout, fulfillment, agent dispute health, receipt integrity",
                external_assurance: "additive bonus of at most 10 for external certifications, added after the base score",
            },
            combination: "the value of a dimension is the weighted mean of its signals that apply; a dimension of which none applies has no value, and its weight is divided among those that have one, in proportion to their weights in the tier; without listed products no signal applies, and of a store whose facts are synthetic all are blocked; base = min(cap, sum of weight * value of the dimensions); score = min(100, base + bonus), rounded to one decimal, half up; trust_score = score / 100",
            tiers: Tier::ALL.iter().map(|tier| TierRule::of(*tier)).collect(),
            figures: figures(),
            data_quality_levels: DataQuality::ALL
                .iter()
                .map(|level| LevelRule { level: *level, meaning: level.meaning() })
                .collect(),
            signals: Signal::ALL.iter().map(|signal| SignalRule::of(*signal)).collect(),
            rates: RateRule {
                window_days: WINDOW_DAYS,
                account_outcomes_max: ACCOUNT_OUTCOMES_MAX,
                outcomes_min: OUTCOMES_MIN,
                accounts_min: ACCOUNTS_MIN,
                rule: "the rate of good against bad: for each account, good and bad are summed over the window and multiplied by min(1, account_outcomes_max / (good + bad)); the rate is the sum of good divided by the sum of good and bad; not applicable below outcomes_min or accounts_min",
            },
            external_assurance: AssuranceRule {
                bonus_max: BONUS_MAX,
                points_per_certification: CERTIFICATION_POINTS,
                gates: GATES.to_vec(),
                available: false,
            },
        }
    }
}

impl TierRule {
    fn of(tier: Tier) -> Self {
        let interpolation = (tier == Tier::AgentVerifiedThin).then_some(Interpolation {
            from_agent_orders: THIN_ORDERS_MIN,
            to_agent_orders: THIN_ORDERS_MAX,
            weights_from: Weights::THIN_FROM,
            rule: "the weight of agenticEvidence is its published weight * (agentOrders - 4) / 15, with agentOrders of at most 19; the other two dimensions share the rest in proportion to their published weights",
        });
        Self {
            tier,
            cap: tier.cap(),
            criteria: tier.criteria(),
            weights: tier.weights(),
            interpolation,
        }
    }
}

impl SignalRule {
    fn of(signal: Signal) -> Self {
        let definition = signal.definition();
        Self {
            signal,
            dimension: definition.dimension,
            weight: signal.weight(),
            data_quality: definition.data_quality,
            available: definition.has_source,
            rule: definition.rule,
        }
    }
}

fn figures() -> Vec<FigureRule> {
    let figure = |figure, data_quality, rule| FigureRule { figure, data_quality, rule };
    vec![
        figure(
            "humanOrders",
            DataQuality::SelfDeclared,
            "human.fulfilled: orders of other channels that the merchant pushed as delivered or completed, among the newest 100 that have ended",
        ),
        figure(
            "agentOrders",
            DataQuality::Measured,
            "delivered_total: orders of agents that were delivered until the end of the last day that counts, at most 5 of each account, without sandboxes",
        ),
        figure(
            "GMV",
            DataQuality::Measured,
            "sum of amount_minor over the window less refunds.amount_minor, at least 0, in cents; for stores in USD, EUR and USDC, otherwise not reached",
        ),
        figure(
            "unique buyers",
            DataQuality::Measured,
            "accounts with at least one of the fact orders in the window",
        ),
    ]
}
