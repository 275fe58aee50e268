//! Methodology 4.1.0, dormant behind `TRUST_SCORE_V41_ENABLED` (docs/contract/trust.md#methodology-4-1).
//!
//! Signals make dimensions, dimensions with the weights of the tier make the base score, the cap of the tier limits it, and the
//! bonus of external assurance is added. Everything is a pure function of [`Evidence`].

mod agent_signals;
mod assurance;
mod data_quality;
mod dimension;
mod document;
mod figures;
mod readiness_signals;
mod reliability_signals;
mod signal;
#[cfg(test)]
mod tests;
mod tier;
mod window;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use assurance::ExternalAssurance;
pub use data_quality::DataQuality;
pub use dimension::{Dimension, DimensionScore};
pub use document::{
    AssuranceRule, Dimensions, DormantMethodology, FigureRule, Interpolation, LevelRule, RateRule,
    SignalRule, TierRule,
};
pub use figures::{
    Certification, CheckTally, HumanOrders, RefundFigures, SetupFigures, V41Figures,
};
pub use signal::{Signal, SignalScore};
pub use tier::{EvidenceProfile, Tier, Weights};
pub use window::v41_window;

use crate::evidence::Evidence;
use window::Window;

/// Version of the methodology.
pub const V41_VERSION: &str = "4.1.0";
/// Maximum of a score.
const SCALE_MAX: f64 = 100.0;

/// A score of methodology 4.1.0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct V41Score {
    /// Tier of the store.
    pub tier: Tier,
    /// Maximum of the base score; null in `insufficient_data`.
    pub cap: Option<u8>,
    /// The figures that decide about the tier.
    pub profile: EvidenceProfile,
    /// The dimensions with their signals. All weights are 0 in `insufficient_data`.
    pub dimensions: Vec<DimensionScore>,
    /// Weighted sum of the dimensions before the cap, 0 to 100; null in `insufficient_data`.
    pub weighted_sum: Option<f64>,
    /// Base score: the weighted sum, at most the cap; null in `insufficient_data`.
    pub base: Option<f64>,
    /// The bonus, added to the base score after the cap.
    pub external_assurance: ExternalAssurance,
    /// Base score and bonus, at most 100, rounded to one decimal; null in `insufficient_data`.
    pub score: Option<f64>,
}

impl V41Score {
    /// Returns the score as a trust score, 0 to 1, with the bands of every trust score; `None` for an unscored store
    /// (docs/contract/trust.md#v41-mapping).
    #[must_use]
    pub fn trust_score(&self) -> Option<f64> {
        self.score.map(|score| score / SCALE_MAX)
    }
}

/// Computes the score of a store by methodology 4.1.0.
#[must_use]
pub fn score_v41(evidence: &Evidence) -> V41Score {
    let window = Window::of(evidence);
    let profile = window.profile();
    let signals: Vec<SignalScore> =
        Signal::ALL.iter().map(|signal| signal.score(&window)).collect();
    let is_blocked =
        signals.iter().any(|score| score.data_quality == DataQuality::SyntheticBlocked);
    if !is_blocked {
        let tier = Tier::of(&profile);
        let weights = tier.weights_at(profile.agent_orders).unwrap_or(Weights::NONE);
        let dimensions = dimension::combine(&signals, weights);
        if let Some(sum) = dimension::weighted_sum(&dimensions) {
            return scored(evidence, tier, profile, dimensions, sum);
        }
    }
    V41Score {
        tier: Tier::InsufficientData,
        cap: None,
        profile,
        dimensions: dimension::combine(&signals, Weights::NONE),
        weighted_sum: None,
        base: None,
        external_assurance: ExternalAssurance::default(),
        score: None,
    }
}

fn scored(
    evidence: &Evidence,
    tier: Tier,
    profile: EvidenceProfile,
    dimensions: Vec<DimensionScore>,
    weighted_sum: f64,
) -> V41Score {
    let cap = tier.cap();
    let base = cap.map_or(weighted_sum, |cap| weighted_sum.min(f64::from(cap)));
    let external_assurance = ExternalAssurance::of(&evidence.v41);
    let score = (base + f64::from(external_assurance.bonus)).min(SCALE_MAX);
    V41Score {
        tier,
        cap,
        profile,
        dimensions,
        weighted_sum: Some(weighted_sum),
        base: Some(base),
        external_assurance,
        score: Some((score * 10.0).round() / 10.0),
    }
}
