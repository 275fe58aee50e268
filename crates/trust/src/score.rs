//! The score of methodology 2.0: a pure function of the evidence (docs/contract/trust.md#computation).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Component, Evidence};

#[cfg(test)]
mod tests;

/// Delivered orders below which a score is provisional.
pub(crate) const PROVISIONAL_BELOW: i64 = 20;
/// Decimals of a score. Rounding makes a score that is on a threshold exactly that number, whatever the order of the sum.
pub(crate) const DECIMALS: i32 = 12;

/// A score with the figures it is computed from.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// 0 to 1; `None` if the store has no listed products.
    pub score: Option<f64>,
    /// Whether fewer than twenty orders were delivered, of which five of an account count.
    pub provisional: bool,
    /// All components; `None` for one that does not apply.
    pub figures: BTreeMap<Component, Option<Figure>>,
}

/// A component that applies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// 0 to 1.
    pub value: f64,
    /// Factor of the published weight: above 0, at most 1.
    pub confidence: f64,
    pub sample: Sample,
}

/// The data behind a component.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The number that is normalized to the value: a share, an age in hours, a mean rating, milliseconds. `None` without data.
    pub measured: Option<f64>,
    /// Weight of the units after all limits; 0 for components that are not counted in units.
    pub units: f64,
    /// Accounts with such a unit.
    pub accounts: u64,
    /// Good facts, before any limit; for other components, what is complete, consistent, set, rated or called.
    pub good: u64,
    /// Bad facts, before any limit; for other components, what is missing.
    pub bad: u64,
}

impl Figure {
    /// Returns a figure with its whole weight.
    pub(crate) const fn certain(value: f64, sample: Sample) -> Self {
        Self { value, confidence: 1.0, sample }
    }
}

impl Sample {
    /// Returns a sample of which only the measured number is known.
    pub(crate) const fn of(measured: f64) -> Self {
        Self { measured: Some(measured), units: 0.0, accounts: 0, good: 0, bad: 0 }
    }
}

/// Computes the score of a merchant. The same evidence has the same score, bit by bit, in whatever order its rows are.
#[must_use]
pub fn score(evidence: &Evidence) -> Computed {
    let is_scored = evidence.state.products > 0;
    let figure = |component: Component| component.figure(evidence).filter(|_| is_scored);
    let figures: BTreeMap<_, _> =
        Component::ALL.iter().map(|component| (*component, figure(*component))).collect();
    Computed {
        score: weighted_mean(&figures),
        provisional: evidence.delivered_total < PROVISIONAL_BELOW,
        figures,
    }
}

impl Computed {
    /// Returns the share of the score that the component decides, after redistribution; 0 if it does not apply.
    #[must_use]
    pub fn effective_weight(&self, component: Component) -> f64 {
        let all: f64 = self.figures.iter().map(|(other, figure)| weight(*other, *figure)).sum();
        let own = self.figures.get(&component).map_or(0.0, |figure| weight(component, *figure));
        if all > 0.0 { own / all } else { 0.0 }
    }

    /// Returns what the component costs: the difference that the value 1 would make; 0 if it does not apply.
    #[must_use]
    pub fn points_lost(&self, component: Component) -> f64 {
        let value = self.figures.get(&component).copied().flatten().map(|figure| figure.value);
        value.map_or(0.0, |value| self.effective_weight(component) * (1.0 - value))
    }

    /// Returns the score with the value 1 of one component, and all others as they are; `None` without a score.
    #[must_use]
    pub fn score_with_full(&self, component: Component) -> Option<f64> {
        let mut figures = self.figures.clone();
        if let Some(Some(figure)) = figures.get_mut(&component) {
            figure.value = 1.0;
        }
        weighted_mean(&figures)
    }

    /// Returns the values of the components that apply.
    #[must_use]
    pub fn values(&self) -> BTreeMap<Component, f64> {
        let applicable = self
            .figures
            .iter()
            .filter_map(|(component, figure)| figure.map(|figure| (*component, figure.value)));
        applicable.collect()
    }
}

/// Returns the weight of a component in hundredths, after its confidence.
fn weight(component: Component, figure: Option<Figure>) -> f64 {
    figure.map_or(0.0, |figure| f64::from(component.weight_hundredths()) * figure.confidence)
}

fn weighted_mean(figures: &BTreeMap<Component, Option<Figure>>) -> Option<f64> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (component, figure) in figures {
        let weight = weight(*component, *figure);
        sum += weight * figure.map_or(0.0, |figure| figure.value);
        weights += weight;
    }
    (weights > 0.0).then(|| rounded(sum / weights).clamp(0.0, 1.0))
}

fn rounded(score: f64) -> f64 {
    let scale = 10_f64.powi(DECIMALS);
    (score * scale).round() / scale
}
