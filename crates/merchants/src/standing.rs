//! Where a store stands: its trust score and what follows from it.

use primitives::Timestamp;

/// Below it, no agent checkout and listed last (spec §2.6 `agent_threshold`).
pub const AGENT_THRESHOLD: f64 = 0.7;
/// Below it, suspended from discovery (spec §2.6 `suspension_threshold`).
pub const SUSPENSION_THRESHOLD: f64 = 0.2;
/// A store with little history ranks as this at the most (decisions §4).
pub(crate) const PROVISIONAL_RANK_MAX: f64 = 0.84;

/// The label of a score.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
pub enum Band {
    /// Below 0.50.
    Restricted,
    /// From 0.50: listed last, friction advised.
    Caution,
    /// From 0.70: the minimum for agent checkout.
    Standard,
    /// From 0.85: agents may proceed without friction.
    Verified,
    /// From 0.95: maximum agent trust.
    Elite,
}

impl Band {
    /// The band of a score: a function of the score alone.
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
    /// The trust score in force, 0 to 1; none while no component applies.
    pub score: Option<f64>,
    /// Whether it rests on fewer than twenty completed orders.
    pub provisional: bool,
    /// When it was computed.
    pub computed_at: Timestamp,
}

impl Standing {
    /// The label.
    #[must_use]
    pub fn band(&self) -> Option<Band> {
        self.score.map(Band::of)
    }

    /// Whether the store is out of discovery altogether.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.score.is_some_and(|score| score < SUSPENSION_THRESHOLD)
    }

    /// Whether agents may check out here.
    #[must_use]
    pub fn takes_checkout(&self) -> bool {
        self.score.is_some_and(|score| score >= AGENT_THRESHOLD)
    }

    /// The score it ranks with.
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
        assert!(!standing(Some(0.699_999), false).takes_checkout());
        assert!(standing(Some(0.7), false).takes_checkout());
        assert!(!standing(None, true).takes_checkout() && !standing(None, true).is_suspended());
        assert_eq!(standing(Some(0.99), true).ranking_score(), Some(0.84));
        assert_eq!(standing(Some(0.99), false).ranking_score(), Some(0.99));
    }
}
