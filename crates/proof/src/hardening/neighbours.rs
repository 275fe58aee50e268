//! Comparing latencies with and without a neighbour that uses its share and more.

use std::time::Duration;

use crate::report::{Failure, Tier, Trial, ensure};

/// Largest growth of a latency beside the neighbour.
pub(crate) const GROWTH_MAX: f64 = 1.5;
/// A larger growth is that of a neighbour without any guard.
const UNGUARDED_GROWTH: f64 = 5.0;
/// By how much a growth may exceed the largest one if the measurements without the neighbour differ by more.
const TOLERANCE: f64 = 0.1;

/// Latencies in interleaved rounds: without the neighbour, and beside it.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<(Duration, Duration)>);

impl Rounds {
    pub(crate) fn add(&mut self, without: Duration, beside: Duration) {
        self.0.push((without, beside));
    }

    /// Returns the medians without and beside the neighbour.
    pub(crate) fn medians(&self) -> (Duration, Duration) {
        let median = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or_default()
        };
        let (without, beside) = self.0.iter().copied().unzip();
        (median(without), median(beside))
    }

    /// Returns how many times longer the median is beside the neighbour.
    pub(crate) fn growth(&self) -> f64 {
        let (without, beside) = self.medians();
        beside.as_secs_f64() / without.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the difference between the shortest and the longest time without the neighbour, relative to the median.
    fn spread(&self) -> f64 {
        let times = || self.0.iter().map(|(without, _)| without.as_secs_f64());
        let (shortest, longest) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        (longest - shortest) / self.medians().0.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns whether the latency grew by no more than allowed, as far as the spread of the measurements lets one tell.
    pub(crate) fn is_met(&self) -> bool {
        let (growth, is_wide) = (self.growth(), self.spread() > TOLERANCE);
        growth <= GROWTH_MAX || (is_wide && growth <= GROWTH_MAX * (1.0 + TOLERANCE))
    }

    /// Fails if the latency grew by more than allowed. A few short rounds measure no ratio: the short form only sees whether
    /// there is a guard at all.
    pub(crate) fn judge(&self, trial: &Trial, what: &str) -> Result<(), Failure> {
        let is_met = match trial.tier {
            Tier::Full => self.is_met(),
            Tier::Fast => self.growth() <= UNGUARDED_GROWTH,
        };
        ensure(is_met, || {
            format!("{what} grew {:.1} times beside the neighbour: {:?}", self.growth(), self.0)
        })
    }
}

impl std::fmt::Display for Rounds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (without, beside) = self.medians();
        let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
        write!(formatter, "{:.1} ms, without {:.1} ms", millis(beside), millis(without))
    }
}

/// Returns the p99 of some times.
pub(crate) fn p99(mut times: Vec<Duration>) -> Result<Duration, Failure> {
    times.sort_unstable();
    Ok(times.get(times.len() * 99 / 100).copied().ok_or("nothing was measured")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(pairs: &[(u64, u64)]) -> Rounds {
        let millis = Duration::from_millis;
        Rounds(pairs.iter().map(|(without, beside)| (millis(*without), millis(*beside))).collect())
    }

    #[test]
    fn the_growth_of_the_medians_counts() {
        assert!(rounds(&[(10, 15), (10, 12), (10, 90)]).is_met());
        assert!(!rounds(&[(10, 16), (10, 12), (10, 90)]).is_met());
        // The measurements differ by more than the excess.
        assert!(rounds(&[(9, 16), (10, 12), (11, 90)]).is_met());
        assert!(!rounds(&[(9, 17), (10, 12), (11, 90)]).is_met());
    }
}
