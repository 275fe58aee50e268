//! Dimensions: signals combined, and the weighted sum of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signal::SignalScore;
use super::tier::Weights;

primitives::text_enum! {
    /// A weighted dimension, in the order of publication. `externalAssurance` has no weight.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "camelCase")]
    #[strum(serialize_all = "camelCase")]
    pub enum Dimension {
        MerchantReliabilityBase,
        AgenticReadiness,
        AgenticEvidence,
    }
}

/// A dimension of a store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionScore {
    /// Name of the dimension.
    pub dimension: Dimension,
    /// 0 to 100; null if none of its signals applies.
    pub value: Option<f64>,
    /// Weight in the base score, 0 to 1, after interpolation and redistribution.
    pub weight: f64,
    /// Its signals, in the order of publication.
    pub signals: Vec<SignalScore>,
}

/// Combines signals into dimensions. The weight of a signal without value is shared by the other signals of its dimension, the
/// weight of a dimension without value by the other dimensions that have a weight.
pub(super) fn combine(signals: &[SignalScore], weights: Weights) -> Vec<DimensionScore> {
    let dimension = |dimension: Dimension| {
        let signals = signals.iter().filter(|score| score.signal.dimension() == dimension);
        let signals: Vec<SignalScore> = signals.copied().collect();
        // Hundredths are exact, so that a mean of equal values is that value.
        let weight = |score: &SignalScore| f64::from(score.signal.definition().weight_hundredths);
        let value = weighted_mean(signals.iter().map(|score| (weight(score), score.value)));
        let weight = if value.is_some() { weights.of(dimension) } else { 0.0 };
        DimensionScore { dimension, value, weight, signals }
    };
    let mut dimensions: Vec<DimensionScore> =
        Dimension::ALL.iter().copied().map(dimension).collect();
    let sum: f64 = dimensions.iter().map(|score| score.weight).sum();
    if sum > 0.0 {
        for score in &mut dimensions {
            score.weight /= sum;
        }
    }
    dimensions
}

/// Returns the weighted sum of the dimensions, 0 to 100; `None` if none with a weight applies.
pub(super) fn weighted_sum(dimensions: &[DimensionScore]) -> Option<f64> {
    weighted_mean(dimensions.iter().map(|score| (score.weight, score.value)))
}

/// Returns the mean of the values that exist; `None` if none of them has a weight.
fn weighted_mean(values: impl Iterator<Item = (f64, Option<f64>)>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (weight, value) in values {
        if let Some(value) = value {
            sum += weight * value;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| (sum / weights).clamp(0.0, 100.0))
}
