//! Computed scores and their history.

use std::collections::BTreeMap;

use database::{Reading, Work};
use merchants::Band;
use primitives::{MerchantId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::v41::{Dimension, Tier, V41Score};
use crate::{Component, Computed, Epoch, Figure, Sample, TrustError, table};

/// Epochs after which the newest score is no longer expected: 60 days. Older ones are found by another statement.
const RECENT_EPOCHS: i64 = 240;

primitives::text_enum! {
    /// Origin of a score.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum Basis {
        /// Computed from measured and declared data.
        Computed,
        /// Computed from the synthetic facts of the demo data.
        Demo,
    }
}

primitives::text_enum! {
    /// Why a score was computed.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum Cause {
        /// Every six hours.
        Scheduled,
        /// An operator requested it, or it is the first one of the store.
        Requested,
        /// Days that a score of the epoch had counted have changed.
        Correction,
        /// Seeded with the demo data.
        Demo,
    }
}

primitives::text_enum! {
    /// The methodology whose score is in force.
    pub enum MethodologyVersion {
        #[strum(serialize = "2.0")]
        V20,
        #[strum(serialize = "4.1.0")]
        V41,
    }
}

/// The result of methodology 4.1.0 beside a score, without its signals, which follow from the evidence. Base and dimensions
/// are kept of the newest computation of a store only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shadow {
    pub tier: Tier,
    /// 0 to 100; `None` in `insufficient_data`.
    pub score: Option<f64>,
    /// The score without the bonus of external assurance.
    pub base: Option<f64>,
    /// Values of the dimensions that apply, 0 to 100.
    pub dimensions: BTreeMap<Dimension, f64>,
}

impl Shadow {
    /// Returns what is kept of a former computation.
    pub(crate) const fn outline(tier: Tier, score: Option<f64>) -> Self {
        Self { tier, score, base: None, dimensions: BTreeMap::new() }
    }

    /// Returns the score as a trust score, 0 to 1; `None` for an unscored store.
    #[must_use]
    pub fn trust_score(&self) -> Option<f64> {
        self.score.map(|score| score / 100.0)
    }
}

impl From<&V41Score> for Shadow {
    fn from(score: &V41Score) -> Self {
        let dimensions = score.dimensions.iter();
        Self {
            tier: score.tier,
            score: score.score,
            base: score.base,
            dimensions: dimensions.filter_map(|it| Some((it.dimension, it.value?))).collect(),
        }
    }
}

/// A score computed at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Computation {
    pub epoch: Epoch,
    /// 0 is the first computation in its epoch.
    pub revision: i32,
    /// Later than the epoch if that was computed late.
    pub computed_at: Timestamp,
    /// The methodology that was in force.
    pub methodology: MethodologyVersion,
    /// By methodology 2.0, 0 to 1; `None` if the store is unscored.
    pub score: Option<f64>,
    /// Whether the store had fewer than twenty delivered orders.
    pub provisional: bool,
    pub basis: Basis,
    pub cause: Cause,
    /// Values of the components that applied, 0 to 1.
    pub components: BTreeMap<Component, f64>,
    /// The components that applied with confidence and sample. They are kept of the newest computation of a store, if that was
    /// computed from evidence; otherwise empty.
    pub figures: BTreeMap<Component, Figure>,
    /// By methodology 4.1.0; `None` if it was not computed.
    pub shadow: Option<Shadow>,
    /// SHA-256 of the evidence; `None` if the score was not computed from any.
    pub evidence_hash: Option<Vec<u8>>,
}

impl Computation {
    /// Returns the score of the methodology that was in force, 0 to 1.
    #[must_use]
    pub fn trust_score(&self) -> Option<f64> {
        match self.methodology {
            MethodologyVersion::V20 => self.score,
            MethodologyVersion::V41 => self.shadow.as_ref().and_then(Shadow::trust_score),
        }
    }

    /// Returns the band of the score that was in force.
    #[must_use]
    pub fn band(&self) -> Option<Band> {
        self.trust_score().map(Band::of)
    }

    /// Returns the score of methodology 2.0 with its figures. A component whose figure was not stored has its whole weight.
    #[must_use]
    pub fn computed(&self) -> Computed {
        let figure = |component: &Component| {
            let value = *self.components.get(component)?;
            let stored = self.figures.get(component).copied();
            Some(stored.unwrap_or(Figure::certain(value, Sample::default())))
        };
        let all = Component::ALL.iter();
        Computed {
            score: self.score,
            provisional: self.provisional,
            figures: all.map(|component| (*component, figure(component))).collect(),
        }
    }
}

/// Marks a store of the demo data, whose facts are synthetic: its scores have the basis `demo`, and methodology 4.1.0 issues
/// none.
pub async fn mark_synthetic(work: &mut Work, merchant: MerchantId) -> Result<(), TrustError> {
    Ok(table::score::mark_synthetic(work, merchant).await?)
}

/// Returns the newest computation of a store with its figures, if there is one.
pub async fn latest(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Option<Computation>, TrustError> {
    let now = Epoch::of(reading.local_now());
    reading.run(async |sql| latest_at(sql, merchant, now).await).await
}

/// Returns the newest computation like [`latest`], in an open transaction.
pub(crate) async fn latest_at(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Epoch,
) -> Result<Option<Computation>, TrustError> {
    // A hint only, which spares partitions: a clock that is wrong costs another statement. Scores of epochs that lie ahead,
    // because the clock of the database was wrong, are left out.
    let recent = (now.0 - RECENT_EPOCHS, now.0 + 1);
    let found = table::history::latest(sql, merchant, recent).await?;
    if found.is_some() {
        return Ok(found);
    }
    Ok(table::history::latest(sql, merchant, (i64::MIN, i64::MAX)).await?)
}

/// Returns at most `points` computations of a store whose epochs began between two times, newest first: the newest one of each of
/// as many equal parts of the time in which it has scores, of each epoch if there are no more. They have values of components, but
/// no figures.
pub async fn thinned_history(
    reading: &Reading,
    merchant: MerchantId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    points: u16,
) -> Result<Vec<Computation>, TrustError> {
    let period = table::history::Period { from, to };
    let points = i64::from(points.max(1));
    reading
        .run(async |sql| Ok(table::history::thinned_history(sql, merchant, period, points).await?))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_in_force_is_that_of_the_methodology_in_force() {
        let at = Timestamp::from_unix_micros(1_800_000_000_000_000);
        let mut computation = Computation {
            epoch: Epoch::of(at),
            revision: 0,
            computed_at: at,
            methodology: MethodologyVersion::V20,
            score: Some(0.9),
            provisional: false,
            basis: Basis::Computed,
            cause: Cause::Scheduled,
            components: BTreeMap::new(),
            figures: BTreeMap::new(),
            shadow: None,
            evidence_hash: None,
        };
        let dimensions = BTreeMap::new();
        let (score, base) = (Some(70.0), Some(65.0));
        computation.shadow = Some(Shadow { tier: Tier::ColdStart, score, base, dimensions });
        assert_eq!(computation.band(), Some(Band::Verified));
        computation.methodology = MethodologyVersion::V41;
        assert_eq!(computation.trust_score(), Some(0.7));
        assert_eq!(computation.band(), Some(Band::Standard));
        computation.shadow = None;
        assert_eq!(computation.band(), None);
    }
}
