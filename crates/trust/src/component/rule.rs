//! The rule of a component: what the methodology publishes, and what the computation reads.

use super::ComponentSource;
use super::units::UnitRule;
use crate::Party;

/// What the methodology publishes about a component.
pub(crate) struct Rule {
    /// In hundredths, so that the sum is exact.
    pub(crate) weight_hundredths: u8,
    pub(crate) source: ComponentSource,
    pub(crate) description: &'static str,
    /// The data behind the component.
    pub(crate) evidence: &'static str,
    pub(crate) influenced_by: &'static [Party],
    pub(crate) measure: Measure,
    pub(crate) normalization: Normalization,
}

/// The number that is normalized to the value of a component. Names are those of fields of the evidence: of `state`, and of
/// the counts of a day for units.
pub(crate) enum Measure {
    /// `part` divided by `whole`; not applicable if `whole` is 0.
    Share { part: &'static str, whole: &'static str },
    /// Hours from `time` to the time of the score, 0 if it is later. Never: the value is 0.
    AgeHours { time: &'static str },
    /// Share of `fields` that are true.
    Filled { fields: &'static [&'static str] },
    /// `sum` divided by `divisor` and by `count`; not applicable if `count` is 0.
    Mean { sum: &'static str, divisor: u32, count: &'static str },
    /// The smallest bound of `histogram` that `percent` of the calls did not exceed; not applicable below `calls_min`.
    Percentile { histogram: &'static str, percent: u32, calls_min: u32, window_days: u32 },
    /// Share of good units.
    Units(UnitRule),
}

/// Maps a measured number to a value: linear between `zero_at` and `one_at`, and constant beyond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Normalization {
    pub(crate) zero_at: f64,
    pub(crate) one_at: f64,
}

impl Normalization {
    /// A share is its own value.
    pub(crate) const SHARE: Self = Self { zero_at: 0.0, one_at: 1.0 };

    /// Returns the value of a measured number, 0 to 1.
    pub(crate) fn value(self, measured: f64) -> f64 {
        let value = (measured - self.zero_at) / (self.one_at - self.zero_at);
        // The sum turns -0 into 0.
        value.clamp(0.0, 1.0) + 0.0
    }
}

/// Returns `part / whole`, or `None` if there is nothing to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts of products are far below 2^53")]
pub(super) fn ratio(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Returns a count for display; a negative one, which does not exist, as 0.
pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_linear_between_its_ends_and_constant_beyond() {
        let falling = Normalization { zero_at: 2_000.0, one_at: 200.0 };
        let values = [100.0, 200.0, 1_100.0, 2_000.0, 9_000.0].map(|ms| falling.value(ms));
        assert_eq!(values.map(f64::to_bits), [1.0, 1.0, 0.5, 0.0, 0.0].map(f64::to_bits));
        let disputes = Normalization { zero_at: 0.75, one_at: 1.0 };
        let values = [0.5, 0.75, 0.9375, 1.0].map(|share| disputes.value(share));
        assert_eq!(values.map(f64::to_bits), [0.0, 0.0, 0.75, 1.0].map(f64::to_bits));
    }

    #[test]
    fn nothing_is_not_divided() {
        assert_eq!(ratio(0, 0), None);
        assert_eq!(ratio(3, 4), Some(0.75));
        assert_eq!(count(-1), 0);
    }
}
