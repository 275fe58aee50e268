//! `policy_coverage`: the share of required policies that are set.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use crate::evidence::PolicyFigures;
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 8,
    source: ComponentSource::Declared,
    description: "fraction of required policy fields filled (return, shipping, privacy)",
    evidence: "policies of the store: number of days for returns, days of shipping, address of the privacy policy",
    influenced_by: &[Party::Merchant],
    measure: Measure::Filled { fields: &FIELDS },
    normalization: Normalization::SHARE,
};

const FIELDS: [&str; 3] = ["policies.returns", "policies.shipping", "policies.privacy"];

/// Returns the figure. It always applies.
pub(super) fn figure(evidence: &Evidence) -> Figure {
    let PolicyFigures { returns, shipping, privacy } = evidence.state.policies;
    let is_set: [bool; FIELDS.len()] = [returns, shipping, privacy];
    let good: u32 = is_set.map(u32::from).iter().sum();
    let bad: u32 = is_set.map(|is_set| u32::from(!is_set)).iter().sum();
    let measured = f64::from(good) / f64::from(good + bad);
    let sample = Sample { good: u64::from(good), bad: u64::from(bad), ..Sample::of(measured) };
    Figure::certain(RULE.normalization.value(measured), sample)
}
