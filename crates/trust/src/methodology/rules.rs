//! The parts of the published methodology that say how a score is computed. Every number comes from the computation.

use std::collections::BTreeMap;

use merchants::PROVISIONAL_RANK_MAX;
use schemars::JsonSchema;
use serde::Serialize;

use crate::component::rule::{Measure, Normalization};
use crate::component::units::{ACCOUNT_CHANGE_MAX, UNITS_FULL, UNITS_MIN, UnitRule};
use crate::evidence::{
    ACCOUNT_DELIVERED_MAX, EPOCH_SECONDS, MATURITY_DAYS, PHASE_STEPS, SETTLING_STEPS,
    STEPS_PER_DAY, WINDOW_DAYS,
};
use crate::score::{DECIMALS, PROVISIONAL_BELOW};
use crate::{Component, ComponentSource, Fact, Party};

/// A component of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentRule {
    /// Weight in the score, 0 to 1.
    pub weight: f64,
    /// Source of the value: measured by Souk, or declared by the merchant.
    pub source: ComponentSource,
    /// What the component measures.
    pub description: &'static str,
    /// The data behind it.
    pub evidence: &'static str,
    /// Whose acts can change the data.
    pub influenced_by: Vec<Party>,
    /// The number that is measured.
    pub measure: MeasureRule,
    /// How the number becomes a value.
    pub normalization: NormalizationRule,
}

impl ComponentRule {
    /// Returns what is published about a component.
    pub(super) fn of(component: Component) -> Self {
        let rule = component.rule();
        Self {
            weight: component.weight(),
            source: rule.source,
            description: rule.description,
            evidence: rule.evidence,
            influenced_by: rule.influenced_by.to_vec(),
            measure: MeasureRule::of(&rule.measure),
            normalization: NormalizationRule::of(rule.normalization),
        }
    }
}

primitives::text_enum! {
    /// How a number is measured. Fields are those of `state` in the evidence, or of `counts` for units.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum MeasureKind {
        /// `part` divided by `whole`; not applicable if `whole` is 0.
        Share,
        /// Hours from `time` to the time of the score, 0 if `time` is later; the value is 0 if `time` is null.
        AgeHours,
        /// Number of `fields` that are true, divided by the number of `fields`.
        Filled,
        /// `sum` divided by `divisor` and by `count`; not applicable if `count` is 0.
        Mean,
        /// The smallest bound of `histogram` that at least `percent` % of the calls did not exceed; not applicable below
        /// `calls_min` calls.
        Percentile,
        /// Share of good units; see `units`.
        Units,
    }
}

impl MeasureKind {
    /// Returns what the methodology publishes about how a number of this kind is measured.
    const fn rule(self) -> &'static str {
        match self {
            Self::Share => {
                "the field `part` divided by the field `whole`; the component does not apply if `whole` is 0"
            }
            Self::AgeHours => {
                "hours from the field `time` to the time of the epoch (see `epochs`), at least 0; if `time` is null, the value is 0"
            }
            Self::Filled => {
                "the number of the fields named in `fields` that are true, divided by the number of names"
            }
            Self::Mean => {
                "the field `sum` divided by the number `divisor` and by the field `count`; the component does not apply if `count` \
                 is 0"
            }
            Self::Percentile => {
                "of the buckets in the field `histogram`, in the order of `up_to_ms`: the first `up_to_ms` up to which there is a \
                 call, and at least `percent` % of all `calls`; the component does not apply if there are fewer than `calls_min` calls"
            }
            Self::Units => {
                "`share` of `units`, from the `counts` in `days` of the evidence; the component does not apply if its confidence is 0"
            }
        }
    }
}

/// The number that a component measures.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MeasureRule {
    /// How the number is measured.
    pub kind: MeasureKind,
    /// Days of evidence; omitted for the state at the time of the computation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_days: Option<i64>,
    /// Dividend of a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'static str>,
    /// Divisor of a share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<&'static str>,
    /// Beginning of an age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<&'static str>,
    /// Fields that are to be filled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<&'static str>>,
    /// Sum of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<&'static str>,
    /// Unit of the sum: how many make one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<u32>,
    /// Number of values of a mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<&'static str>,
    /// Buckets of a percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<&'static str>,
    /// The percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Least number of calls of a percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_min: Option<u32>,
    /// The good facts of a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub good: Option<Fact>,
    /// All facts of a unit: their sum is what the good ones are divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<Fact>>,
    /// Units of one account in the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_units_max: Option<u8>,
    /// A day without this fact is unpaid; see `units`. Omitted: days are not distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paid_by: Option<Fact>,
    /// A paid day with this fact matures; see `units`. Omitted together with `paid_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matured_by: Option<Fact>,
}

impl MeasureRule {
    fn new(kind: MeasureKind) -> Self {
        Self {
            kind,
            window_days: None,
            part: None,
            whole: None,
            time: None,
            fields: None,
            sum: None,
            divisor: None,
            count: None,
            histogram: None,
            percent: None,
            calls_min: None,
            good: None,
            of: None,
            account_units_max: None,
            paid_by: None,
            matured_by: None,
        }
    }

    fn of(measure: &Measure) -> Self {
        match *measure {
            Measure::Share { part, whole } => {
                Self { part: Some(part), whole: Some(whole), ..Self::new(MeasureKind::Share) }
            }
            Measure::AgeHours { time } => {
                Self { time: Some(time), ..Self::new(MeasureKind::AgeHours) }
            }
            Measure::Filled { fields } => {
                Self { fields: Some(fields.to_vec()), ..Self::new(MeasureKind::Filled) }
            }
            Measure::Mean { sum, divisor, count } => Self {
                sum: Some(sum),
                divisor: Some(divisor),
                count: Some(count),
                ..Self::new(MeasureKind::Mean)
            },
            Measure::Percentile { histogram, percent, calls_min, window_days } => Self {
                window_days: Some(i64::from(window_days)),
                histogram: Some(histogram),
                percent: Some(percent),
                calls_min: Some(calls_min),
                ..Self::new(MeasureKind::Percentile)
            },
            Measure::Units(UnitRule { good, of, cap, purchases }) => Self {
                window_days: Some(WINDOW_DAYS),
                good: Some(good),
                of: Some(of.to_vec()),
                account_units_max: Some(cap),
                paid_by: purchases.map(|it| it.paid_by),
                matured_by: purchases.map(|it| it.matured_by),
                ..Self::new(MeasureKind::Units)
            },
        }
    }
}

/// How a measured number becomes a value: linear from 0 at `zero_at` to 1 at `one_at`, and constant beyond.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NormalizationRule {
    /// The number whose value is 0.
    pub zero_at: f64,
    /// The number whose value is 1.
    pub one_at: f64,
}

impl NormalizationRule {
    const fn of(normalization: Normalization) -> Self {
        Self { zero_at: normalization.zero_at, one_at: normalization.one_at }
    }
}

/// How values become a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScoringRule {
    /// The formula.
    pub rule: &'static str,
    /// What happens to the weight of a component without data, or with little.
    pub redistribution: &'static str,
    /// When a store has no score.
    pub unscored: &'static str,
    /// Decimals that a score is rounded to.
    pub decimals: i32,
    /// How the number of a component is measured, by the kind of its `measure`.
    pub measures: BTreeMap<&'static str, &'static str>,
    /// What the names of fields in a `measure` mean.
    pub fields: &'static str,
    /// How the number of a component becomes its value.
    pub normalization: &'static str,
}

impl Default for ScoringRule {
    fn default() -> Self {
        Self {
            rule: "score = sum(weight * confidence * value) / sum(weight * confidence) over the components that apply, clamped to \
                   0..1 and rounded to `decimals`",
            redistribution: "a component that does not apply is left out, so that the others share its weight; a component with \
                             few units counts with a part of its weight (its confidence, see `units`), and the others share the \
                             rest; the confidence of all other components is 1",
            unscored: "a store without listed products (`state.products` is 0) has no score, and no component applies to it",
            decimals: DECIMALS,
            measures: MeasureKind::ALL.iter().map(|kind| (kind.as_str(), kind.rule())).collect(),
            fields: "fields are those of `state` in the evidence; a name with a dot is a field of a field",
            normalization: "value = (number - `zero_at`) / (`one_at` - `zero_at`), clamped to 0..1; `zero_at` may be above `one_at`",
        }
    }
}

/// When scores are computed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EpochRule {
    /// Length of an epoch in seconds.
    pub seconds: i64,
    /// How epochs are numbered, and what a score of an epoch includes.
    pub rule: &'static str,
}

impl Default for EpochRule {
    fn default() -> Self {
        Self {
            seconds: EPOCH_SECONDS,
            rule: "epoch = floor(Unix time / `seconds`); its time (as_of) is epoch * `seconds`. A merchant has one score for each \
                   epoch, unless an operator closed the store, its catalog was not counted or the computation failed, the epoch was \
                   missed by more than seven days, or the store joined later; any other computation in the epoch, such as \
                   a correction, is a new revision. Days count as far as the epoch says; the state of the store is that at \
                   the time at which it was read. Within an epoch scores are computed one after another, in an order that is drawn \
                   for each epoch",
        }
    }
}

/// Which days count, and how far.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WindowRule {
    /// Length of the window.
    pub days: i64,
    /// Epochs in a day.
    pub steps_per_day: i64,
    /// Epochs in which a day enters the window, and in which it leaves it.
    pub phase_steps: u8,
    /// Epochs from the end of a day to the first epoch at which it counts.
    pub settling_steps: i64,
    /// Days by which a day matures later than it enters the window.
    pub maturity_days: i64,
    /// How the phase of a day follows, and how far it has matured.
    pub rule: &'static str,
}

impl Default for WindowRule {
    fn default() -> Self {
        Self {
            days: WINDOW_DAYS,
            steps_per_day: STEPS_PER_DAY,
            phase_steps: PHASE_STEPS,
            settling_steps: SETTLING_STEPS,
            maturity_days: MATURITY_DAYS,
            rule: "day = days since 1970-01-01 in UTC; step = epoch - (day + 1) * `steps_per_day` + 1 - `settling_steps`; \
                   phase = min(step, `days` * `steps_per_day` + `phase_steps` - step, `phase_steps`) / `phase_steps`, at least 0; \
                   matured phase = min(step - `maturity_days` * `steps_per_day`, `days` * `steps_per_day` + `phase_steps` - step, \
                   `phase_steps`) / `phase_steps`, at least 0",
        }
    }
}

/// How facts of accounts become the share of a component of the kind `units`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UnitsRule {
    /// Who an agent is.
    pub agent: &'static str,
    /// What never counts.
    pub excluded: &'static str,
    /// What a unit is, and its value.
    pub unit: &'static str,
    /// Weight of a unit.
    pub weight: &'static str,
    /// Value of a unit that has not matured.
    pub paid_days: &'static str,
    /// How far unpaid days count.
    pub unpaid_days: &'static str,
    /// How far one account counts.
    pub account_limit: &'static str,
    /// The measured number.
    pub share: &'static str,
    /// How much of its weight a component has.
    pub confidence: &'static str,
    /// Units up to which a component does not apply.
    pub units_min: f64,
    /// Units from which a component has its whole weight.
    pub units_full: f64,
    /// Upper bound of what one account changes a score by from one epoch to the next, by its own facts.
    pub account_change_max: f64,
}

impl Default for UnitsRule {
    fn default() -> Self {
        Self {
            agent: "an agent is the account that owns the key; all keys of an account are one agent",
            excluded: "sandboxes, keys without an account, and orders that the merchant pushed never count; an order whose payment \
                       failed counts as if there were none, except that a report of another price counts",
            unit: "an account with facts of `of` on a day has one unit; its value is `good` / sum(`of`), at most 1",
            weight: "the phase of its day; see `window`",
            paid_days: "with `paid_by`, a day with that fact is paid. Let m be the matured phase of the day if it has the fact \
                        `matured_by`, otherwise 0: of the weight of the unit, m has the value above, and phase - m has the value \
                        `good` / `paid_by`, at most 1",
            unpaid_days: "with `paid_by`, a day without that fact is unpaid, and its value is 0. Let M be the sum of m over those \
                          paid days of the account on which sum(`of`) is at most `paid_by`, and B the sum of the weights of its \
                          unpaid days: the weight of each unpaid day is multiplied by min(1, M / B)",
            account_limit: "then let T be the sum of the weights of the account: each is multiplied by min(1, `account_units_max` / T)",
            share: "units = sum of all weights; share = sum(weight * value) / units",
            confidence: "(units - `units_min`) / (`units_full` - `units_min`), clamped to 0..1; at 0 the component does not apply",
            units_min: UNITS_MIN,
            units_full: UNITS_FULL,
            account_change_max: ACCOUNT_CHANGE_MAX,
        }
    }
}

/// A kind of fact, counted by account and day.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct FactRule {
    /// What is counted.
    pub description: &'static str,
    /// The time whose day counts.
    pub time: &'static str,
    /// Whose acts can change the number.
    pub influenced_by: Vec<Party>,
}

/// Returns what is published about all kinds of facts.
pub(super) fn facts() -> BTreeMap<&'static str, FactRule> {
    let rule = |fact: &Fact| {
        let definition = fact.definition();
        let rule = FactRule {
            description: definition.description,
            time: definition.time,
            influenced_by: definition.influenced_by.to_vec(),
        };
        (fact.as_str(), rule)
    };
    Fact::ALL.iter().map(rule).collect()
}

/// When a score is provisional.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProvisionalRule {
    /// A score is provisional below this number of orders that were delivered until the end of the last day that counts.
    pub delivered_orders_below: i64,
    /// Of one account, so many delivered orders count.
    pub delivered_orders_of_account_max: i64,
    /// Highest score with which a provisional store is ranked.
    pub ranked_at_most: f64,
}

impl Default for ProvisionalRule {
    fn default() -> Self {
        Self {
            delivered_orders_below: PROVISIONAL_BELOW,
            delivered_orders_of_account_max: ACCOUNT_DELIVERED_MAX,
            ranked_at_most: PROVISIONAL_RANK_MAX,
        }
    }
}
