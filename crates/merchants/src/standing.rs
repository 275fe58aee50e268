//! The standing of a store: its trust score and what follows from it.

use primitives::Timestamp;

/// Least trust score for agent checkout; stores below are listed last (docs/contract/trust.md#agent-threshold).
pub const AGENT_THRESHOLD: f64 = 0.7;
/// Stores with a lower trust score are suspended (docs/contract/trust.md#suspension-threshold).
pub const SUSPENSION_THRESHOLD: f64 = 0.2;
/// Highest score with which a provisional store is ranked (docs/contract/trust.md#provisional).
pub(crate) const PROVISIONAL_RANK_MAX: f64 = 0.84;

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
        match score {
            score if score >= 0.95 => Self::Elite,
            score if score >= 0.85 => Self::Verified,
            score if score >= AGENT_THRESHOLD => Self::Standard,
            score if score >= 0.5 => Self::Caution,
            _ => Self::Restricted,
        }
    }
}

/// A store's standing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// Current trust score, 0 to 1; `None` while no component applies.
    pub score: Option<f64>,
    /// Whether the score is based on fewer than twenty completed orders.
    pub provisional: bool,
    pub computed_at: Timestamp,
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
}
