//! Computed scores and their history.

use std::collections::BTreeMap;

use database::{Reading, Work};
use merchants::Band;
use primitives::{MerchantId, Timestamp};
use schemars::JsonSchema;

use crate::{Component, TrustError, table};

/// Rows of a history that one call reads: four a day for two and a half years.
const HISTORY_MAX: i64 = 4_000;

primitives::text_enum! {
    /// Origin of a score.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum Basis {
        /// Computed from measured and declared data.
        Computed,
        /// Invented for the demo world.
        Demo,
    }
}

/// A score computed at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Computation {
    pub computed_at: Timestamp,
    /// 0 to 1; `None` if no component applied.
    pub score: Option<f64>,
    /// Whether the store had fewer than twenty completed orders.
    pub provisional: bool,
    pub basis: Basis,
    /// Values of the components that applied, 0 to 1.
    pub components: BTreeMap<Component, f64>,
}

impl Computation {
    /// Returns the band of the score.
    #[must_use]
    pub fn band(&self) -> Option<Band> {
        self.score.map(Band::of)
    }

    /// Returns the weighted sum of the components that apply, divided by the sum of their weights; `None` if none
    /// applies.
    #[must_use]
    pub fn weighted_sum(components: &BTreeMap<Component, f64>) -> Option<f64> {
        let weights: f64 = components.keys().map(|component| component.weight()).sum();
        if weights <= 0.0 {
            return None;
        }
        let sum: f64 = components.iter().map(|(component, value)| component.weight() * value).sum();
        Some((sum / weights).clamp(0.0, 1.0))
    }
}

/// Stores a computation, unless the store already has one of the same time.
pub async fn append(
    work: &mut Work,
    merchant: MerchantId,
    computation: &Computation,
) -> Result<(), TrustError> {
    Ok(table::append(work, merchant, computation).await?)
}

/// Returns the newest computation of a store, if there is one.
pub async fn latest(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<Computation>, TrustError> {
    reading.run(async |sql| Ok(table::latest(sql, merchant).await?)).await
}

/// Returns the computations of a store between two times, newest first.
pub async fn history(
    reading: &Reading,
    merchant: MerchantId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Vec<Computation>, TrustError> {
    reading.run(async |sql| Ok(table::history(sql, merchant, from, to, HISTORY_MAX).await?)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weight_of_a_component_without_data_is_redistributed() {
        assert_eq!(Computation::weighted_sum(&BTreeMap::new()), None);
        let all: BTreeMap<_, _> =
            Component::ALL.iter().map(|component| (*component, 0.5)).collect();
        let sum = Computation::weighted_sum(&all).unwrap();
        assert!((sum - 0.5).abs() < 1e-12, "{sum}");
        let one = BTreeMap::from([(Component::ResponseLatency, 0.9)]);
        let sum = Computation::weighted_sum(&one).unwrap();
        assert!((sum - 0.9).abs() < 1e-12, "{sum}");
    }
}
