//! Scores as they were computed.

use std::collections::BTreeMap;

use database::{Reading, Work};
use merchants::Band;
use primitives::{MerchantId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Component, TrustError, table};

/// Lines of a history that are read at once: two and a half years of four a day.
const HISTORY_MAX: i64 = 4_000;

/// What a score rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Computed from what was measured and declared.
    Computed,
    /// Made up for the demo world.
    Demo,
}

impl Basis {
    pub(crate) const ALL: [(Self, &'static str); 2] =
        [(Self::Computed, "computed"), (Self::Demo, "demo")];
}

/// A score as it was computed at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Computation {
    /// When.
    pub computed_at: Timestamp,
    /// The score; none if no component applied.
    pub score: Option<f64>,
    /// Whether it rests on fewer than twenty completed orders.
    pub provisional: bool,
    /// What it rests on.
    pub basis: Basis,
    /// The figures of the components that applied, 0 to 1.
    pub components: BTreeMap<Component, f64>,
}

impl Computation {
    /// The label of the score.
    #[must_use]
    pub fn band(&self) -> Option<Band> {
        self.score.map(Band::of)
    }

    /// The weighted sum of what applies, its weights spread over the whole; none if nothing does.
    #[must_use]
    pub fn weighted_sum(components: &BTreeMap<Component, f64>) -> Option<f64> {
        let weights: f64 = components.keys().map(|component| component.weight()).sum();
        if weights <= 0.0 {
            return None;
        }
        let sum: f64 =
            components.iter().map(|(component, figure)| component.weight() * figure).sum();
        Some((sum / weights).clamp(0.0, 1.0))
    }
}

/// Keeps a computation, unless the moment has one already.
pub async fn append(
    work: &mut Work,
    merchant: MerchantId,
    computation: &Computation,
) -> Result<(), TrustError> {
    Ok(table::append(work, merchant, computation).await?)
}

/// The newest computation of a store, if there ever was one.
pub async fn latest(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<Computation>, TrustError> {
    let mut snapshot = reading.open().await?;
    let found = table::latest(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(found)
}

/// The computations of a store between two moments, newest first.
pub async fn history(
    reading: &Reading,
    merchant: MerchantId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Result<Vec<Computation>, TrustError> {
    let mut snapshot = reading.open().await?;
    let found = table::history(&mut snapshot, merchant, from, to, HISTORY_MAX).await?;
    snapshot.close().await?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_apply_leaves_its_weight_to_the_others() {
        assert_eq!(Computation::weighted_sum(&BTreeMap::new()), None);
        let all: BTreeMap<_, _> = Component::all().map(|component| (component, 0.5)).collect();
        let sum = Computation::weighted_sum(&all).unwrap();
        assert!((sum - 0.5).abs() < 1e-12, "{sum}");
        let one = BTreeMap::from([(Component::ResponseLatency, 0.9)]);
        let sum = Computation::weighted_sum(&one).unwrap();
        assert!((sum - 0.9).abs() < 1e-12, "{sum}");
    }
}
