//! The standing of a store: its trust score and what follows from it.

use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Least trust score for agent checkout; stores below are listed last (docs/contract/trust.md#agent-threshold).
pub const AGENT_THRESHOLD: f64 = 0.7;
/// Stores with a lower trust score are suspended (docs/contract/trust.md#suspension-threshold).
pub const SUSPENSION_THRESHOLD: f64 = 0.2;
/// Highest score with which a provisional store is ranked (docs/contract/trust.md#provisional).
pub const PROVISIONAL_RANK_MAX: f64 = 0.84;
/// When a suspension by the trust score ends.
const SUSPENSION_ENDS: &str = "The suspension ends with the first score of at least 0.20. Scores are computed every six hours. \
                               A store without listed products has no score, and stays suspended.";

primitives::text_enum! {
    /// Trust band of a score.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "UPPERCASE")]
    #[strum(serialize_all = "UPPERCASE")]
    pub enum Band {
        /// Below 0.50.
        Restricted,
        /// From 0.50: listed last; extra confirmation is advised.
        Caution,
        /// From 0.70: the minimum for agent checkout.
        Standard,
        /// From 0.85: agents may proceed without extra confirmation.
        Verified,
        /// From 0.95: the highest band.
        Elite,
    }
}

impl Band {
    /// Returns the band of a score.
    #[must_use]
    pub fn of(score: f64) -> Self {
        let mut bands = Self::ALL.iter().copied().rev();
        bands.find(|band| score >= band.min_score()).unwrap_or(Self::Restricted)
    }

    /// Returns the lowest score of the band.
    #[must_use]
    pub const fn min_score(self) -> f64 {
        match self {
            Self::Restricted => 0.0,
            Self::Caution => 0.5,
            Self::Standard => AGENT_THRESHOLD,
            Self::Verified => 0.85,
            Self::Elite => 0.95,
        }
    }
}

/// A store's standing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Current trust score, 0 to 1; `None` while no component applies.
    pub score: Option<f64>,
    /// Whether the score is based on fewer than twenty delivered orders.
    pub provisional: bool,
    pub computed_at: Timestamp,
}

/// What would end a suspension by the trust score, as the merchant API, notices and events state it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct SuspensionEnd {
    /// The rule.
    pub when: &'static str,
    /// What the score lacks of the threshold.
    pub points_missing: f64,
    /// By when the next score is computed.
    pub next_computation_at: Timestamp,
}

impl Standing {
    /// Returns the trust band; `None` without a score.
    #[must_use]
    pub fn band(&self) -> Option<Band> {
        self.score.map(Band::of)
    }

    /// Whether the store is suspended: excluded from discovery and from every call.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.score.is_some_and(|score| score < SUSPENSION_THRESHOLD)
    }

    /// Returns what would end the suspension; `None` unless the store is suspended.
    #[must_use]
    pub fn suspension_end(&self, next_computation_at: Timestamp) -> Option<SuspensionEnd> {
        let score = self.score.filter(|_| self.is_suspended())?;
        // Four decimals are shown.
        let points_missing = ((SUSPENSION_THRESHOLD - score) * 10_000.0).round() / 10_000.0;
        Some(SuspensionEnd { when: SUSPENSION_ENDS, points_missing, next_computation_at })
    }

    /// Returns the standing that follows from a new one. A suspended store that has no score any more, because it has no
    /// listed products, keeps the score that suspends it: withdrawing products ends no suspension.
    #[must_use]
    pub fn replaced_by(self, new: Self) -> Self {
        let keeps_score = self.is_suspended() && new.score.is_none();
        if keeps_score { Self { computed_at: new.computed_at, ..self } } else { new }
    }

    /// Whether agents may check out here.
    #[must_use]
    pub fn allows_agent_checkout(&self) -> bool {
        self.score.is_some_and(|score| score >= AGENT_THRESHOLD)
    }

    /// Returns the score by which the store is ranked.
    #[must_use]
    pub fn ranking_score(&self) -> Option<f64> {
        let max = if self.provisional { PROVISIONAL_RANK_MAX } else { 1.0 };
        self.score.map(|score| score.min(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(score: Option<f64>, provisional: bool) -> Standing {
        Standing { score, provisional, computed_at: Timestamp::from_unix_micros(0) }
    }

    #[test]
    fn bands_begin_at_their_threshold() {
        let expected = [
            (1.0, Band::Elite),
            (0.95, Band::Elite),
            (0.949_999, Band::Verified),
            (0.85, Band::Verified),
            (0.849_999, Band::Standard),
            (0.7, Band::Standard),
            (0.699_999, Band::Caution),
            (0.5, Band::Caution),
            (0.499_999, Band::Restricted),
            (0.0, Band::Restricted),
        ];
        for (score, band) in expected {
            assert_eq!(Band::of(score), band, "{score}");
        }
    }

    #[test]
    fn effects_follow_from_the_score() {
        assert!(standing(Some(0.199_999), false).is_suspended());
        assert!(!standing(Some(0.2), false).is_suspended());
        assert!(!standing(Some(0.699_999), false).allows_agent_checkout());
        assert!(standing(Some(0.7), false).allows_agent_checkout());
        assert!(
            !standing(None, true).allows_agent_checkout() && !standing(None, true).is_suspended()
        );
        assert_eq!(standing(Some(0.99), true).ranking_score(), Some(0.84));
        assert_eq!(standing(Some(0.99), false).ranking_score(), Some(0.99));
    }

    #[test]
    fn a_suspension_lasts_until_a_score_ends_it() {
        let (low, none) = (standing(Some(0.15), false), standing(None, true));
        let later = Timestamp::from_unix_micros(7);
        let kept = low.replaced_by(Standing { computed_at: later, ..none });
        assert_eq!(kept, Standing { computed_at: later, ..low });
        assert_eq!(kept.replaced_by(standing(Some(0.2), true)), standing(Some(0.2), true));
        assert_eq!(standing(Some(0.2), false).replaced_by(none), none, "it was not suspended");
        let end = low.suspension_end(later).unwrap();
        assert!((end.points_missing - 0.05).abs() < 1e-9 && end.when.contains("0.20"), "{end:?}");
        assert_eq!((end.next_computation_at, none.suspension_end(later)), (later, None));
    }
}
