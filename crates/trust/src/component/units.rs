//! Units: how facts of accounts become a share (docs/contract/trust.md#units).
//!
//! An account has at most one unit a day. The weight of a unit follows from the phase of its day, from the account's unpaid
//! days, and from the limit of the account. All sums of weights are multiples of a quarter, and exact.

use super::rule::{Normalization, count, ratio};
use crate::evidence::{AgentDay, DayCounts, Epoch, Evidence, PHASE_STEPS, quarters};
use crate::{Fact, Figure, Sample};

/// Units up to which a component does not apply.
pub(crate) const UNITS_MIN: f64 = 5.0;
/// Units from which a component has its whole weight.
pub(crate) const UNITS_FULL: f64 = 75.0;
/// Upper bound of what one account changes a score by from one epoch to the next (docs/decisions/0034-units-of-trust.md).
pub(crate) const ACCOUNT_CHANGE_MAX: f64 = 0.01;

/// Which facts make units, and how far one account counts.
pub(crate) struct UnitRule {
    pub(crate) good: Fact,
    /// The facts of which `good` are the good ones: their sum is what `good` is divided by.
    pub(crate) of: &'static [Fact],
    /// Units of one account in the window.
    pub(crate) cap: u8,
    /// A day without this fact is unpaid: it counts as far as the account has paid days.
    pub(crate) paid_by: Option<Fact>,
}

impl UnitRule {
    /// Returns the number of good facts and of all on this day.
    fn count(&self, counts: &DayCounts) -> (i64, i64) {
        let number = |fact: Fact| i64::from(counts.of(fact));
        let all: i64 = self.of.iter().map(|fact| number(*fact)).sum();
        (number(self.good).min(all), all)
    }

    fn is_unpaid(&self, counts: &DayCounts) -> bool {
        self.paid_by.is_some_and(|fact| counts.of(fact) == 0)
    }

    /// Returns the sample that this rule takes from the evidence.
    pub(crate) fn sample(&self, evidence: &Evidence) -> Sample {
        self.sum(evidence).sample()
    }

    /// Returns the figure; `None` up to the minimum sample.
    pub(super) fn figure(
        &self,
        evidence: &Evidence,
        normalization: Normalization,
    ) -> Option<Figure> {
        let sum = self.sum(evidence);
        let confidence = confidence(sum.weights.units());
        let share = sum.weights.share().filter(|_| confidence > 0.0)?;
        let sample = sum.sample();
        Some(Figure { value: normalization.value(share), confidence, sample })
    }

    fn sum(&self, evidence: &Evidence) -> Sum {
        let rows = evidence.sorted_days();
        let mut sum = Sum::default();
        for days in rows.chunk_by(|one, next| one.account == next.account) {
            let account = self.account(days, evidence.epoch);
            sum.good += account.good;
            sum.bad += account.bad;
            sum.accounts += u64::from(account.weights.quarters > 0.0);
            sum.weights.add(account.weights);
        }
        sum
    }

    /// Returns what the days of one account contribute.
    fn account(&self, days: &[AgentDay], epoch: Epoch) -> Sum {
        let (mut paid, mut unpaid) = (Weights::default(), Weights::default());
        let mut sum = Sum::default();
        for day in days {
            let phase = f64::from(quarters(day.day, epoch));
            let (good, all) = self.count(&day.counts);
            let Some(value) = ratio(good, all).filter(|_| phase > 0.0) else { continue };
            let side = if self.is_unpaid(&day.counts) { &mut unpaid } else { &mut paid };
            side.add(Weights { quarters: phase, good: phase * value });
            sum.good += count(good);
            sum.bad += count(all - good);
        }
        let counted_unpaid = unpaid.limited(paid.quarters);
        paid.add(counted_unpaid);
        sum.weights = paid.limited(f64::from(self.cap) * f64::from(PHASE_STEPS));
        sum
    }
}

/// Returns how much of its published weight a component with this many units has, 0 to 1.
fn confidence(units: f64) -> f64 {
    ((units - UNITS_MIN) / (UNITS_FULL - UNITS_MIN)).clamp(0.0, 1.0)
}

/// Weights of units, in quarters.
#[derive(Debug, Clone, Copy, Default)]
struct Weights {
    /// A whole number.
    quarters: f64,
    /// Sum of weight times value.
    good: f64,
}

impl Weights {
    fn add(&mut self, other: Self) {
        self.quarters += other.quarters;
        self.good += other.good;
    }

    /// Scales all weights by the same factor so that their sum is at most `quarters_max`.
    fn limited(self, quarters_max: f64) -> Self {
        if self.quarters <= quarters_max {
            return self;
        }
        Self { quarters: quarters_max, good: self.good * (quarters_max / self.quarters) }
    }

    fn units(self) -> f64 {
        self.quarters / f64::from(PHASE_STEPS)
    }

    /// Returns the weighted mean of the values; `None` without units.
    fn share(self) -> Option<f64> {
        (self.quarters > 0.0).then(|| self.good / self.quarters)
    }
}

/// Weights with what is shown beside them.
#[derive(Debug, Default)]
struct Sum {
    weights: Weights,
    good: u64,
    bad: u64,
    accounts: u64,
}

impl Sum {
    fn sample(&self) -> Sample {
        Sample {
            measured: self.weights.share(),
            units: self.weights.units(),
            accounts: self.accounts,
            good: self.good,
            bad: self.bad,
        }
    }
}
