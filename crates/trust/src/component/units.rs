//! Units: how facts of accounts become a share (docs/contract/trust.md#units).
//!
//! An account has at most one unit a day. The weight of a unit follows from the phase of its day, from the account's unpaid
//! days, and from the limit of the account. All sums of weights are multiples of a quarter, and exact. Checkouts that were not
//! completed count once a purchase of the account has matured: otherwise purchases that are canceled would give weight to them.

use super::rule::{Normalization, count, ratio};
use crate::evidence::{
    AgentDay, DayCounts, Epoch, Evidence, PHASE_STEPS, matured_quarters, quarters,
};
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
    /// Which facts are purchases, if what was not bought counts only as far as something was.
    pub(crate) purchases: Option<PurchaseRule>,
}

/// Which facts are purchases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PurchaseRule {
    /// A day with this fact is paid, one without it unpaid.
    pub(crate) paid_by: Fact,
    /// A paid day with this fact matures.
    pub(crate) matured_by: Fact,
}

impl PurchaseRule {
    /// The purchases behind the two checkout rates.
    pub(super) const CHECKOUTS: Self = Self { paid_by: Fact::Completed, matured_by: Fact::Lasting };

    /// Returns how far a paid day has matured, in quarters.
    fn matured(self, day: &AgentDay, epoch: Epoch) -> f64 {
        let is_maturing = day.counts.of(self.matured_by) > 0;
        if is_maturing { f64::from(matured_quarters(day.day, epoch)) } else { 0.0 }
    }
}

impl UnitRule {
    /// Returns the number of good facts and of all on this day.
    fn count(&self, counts: &DayCounts) -> (i64, i64) {
        let number = |fact: Fact| i64::from(counts.of(fact));
        let all: i64 = self.of.iter().map(|fact| number(*fact)).sum();
        (self.good_of(counts, all), all)
    }

    /// Returns the number of good facts, at most `all`.
    fn good_of(&self, counts: &DayCounts, all: i64) -> i64 {
        i64::from(counts.of(self.good)).min(all)
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
        let mut sum = Sum::default();
        let (mut unpaid, mut supporting) = (0.0_f64, 0.0_f64);
        for day in days {
            let phase = f64::from(quarters(day.day, epoch));
            let (good, all) = self.count(&day.counts);
            let Some(value) = ratio(good, all).filter(|_| phase > 0.0) else { continue };
            sum.good += count(good);
            sum.bad += count(all - good);
            let Some(purchases) = self.purchases else {
                sum.weights.add(Weights { quarters: phase, good: phase * value });
                continue;
            };
            let paid = i64::from(day.counts.of(purchases.paid_by));
            let Some(value_of_paid) = ratio(self.good_of(&day.counts, paid), paid) else {
                unpaid += phase;
                continue;
            };
            let matured = purchases.matured(day, epoch);
            let good = matured * value + (phase - matured) * value_of_paid;
            sum.weights.add(Weights { quarters: phase, good });
            // A purchase supports what was not completed on its own day, or else an unpaid day.
            supporting += if all <= paid { matured } else { 0.0 };
        }
        // Nothing of an unpaid day is good.
        sum.weights.add(Weights { quarters: unpaid.min(supporting), good: 0.0 });
        sum.weights = sum.weights.limited(f64::from(self.cap) * f64::from(PHASE_STEPS));
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
