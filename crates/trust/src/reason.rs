//! Why a score is below 1: what each component costs, and what improves it.

use crate::v41::{Dimension, DimensionScore, V41Score};
use crate::{Component, Computed};

/// Decimals of what is shown.
const DECIMALS: i32 = 4;

/// A part that lowers a score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reason {
    /// Name of the component, of methodology 4.1.0 of the dimension.
    pub(crate) name: &'static str,
    /// Its value, 0 to 1.
    pub(crate) value: f64,
    /// What the score would gain if the value were 1.
    pub(crate) points_lost: f64,
    /// What improves the value.
    pub(crate) remedy: &'static str,
}

/// Returns what a score of methodology 2.0 lacks of 1, the largest part first.
pub(crate) fn reasons(computed: &Computed) -> Vec<Reason> {
    let reason = |component: Component, value: f64| {
        let points_lost = computed.points_lost(component);
        Reason { name: component.as_str(), value, points_lost, remedy: remedy(component) }
    };
    let values = computed.values().into_iter();
    largest_first(values.map(|(component, value)| reason(component, value)).collect())
}

/// Returns what the dimensions of a score of methodology 4.1.0 lack of their maximum, the largest part first. The cap of a
/// tier is no part of it.
pub(crate) fn reasons_v41(score: &V41Score) -> Vec<Reason> {
    let reason = |it: &DimensionScore| {
        let value = it.value? / 100.0;
        let (name, points_lost) = (it.dimension.as_str(), it.weight * (1.0 - value));
        Some(Reason { name, value, points_lost, remedy: remedy_v41(it.dimension) })
    };
    largest_first(score.dimensions.iter().filter_map(reason).collect())
}

/// Sorts reasons, rounds them for display, and leaves out what costs nothing.
fn largest_first(mut reasons: Vec<Reason>) -> Vec<Reason> {
    reasons.sort_by(|one, other| other.points_lost.total_cmp(&one.points_lost));
    for reason in &mut reasons {
        reason.value = rounded(reason.value);
        reason.points_lost = rounded(reason.points_lost);
    }
    reasons.retain(|reason| reason.points_lost > 0.0);
    reasons
}

/// Rounds a number for display.
pub(crate) fn rounded(number: f64) -> f64 {
    let scale = 10_f64.powi(DECIMALS);
    (number * scale).round() / scale
}

/// Returns what improves a component.
pub(crate) const fn remedy(component: Component) -> &'static str {
    match component {
        Component::CatalogCompleteness => {
            "Give every product a title, a price, an image and a GTIN."
        }
        Component::CatalogFreshness => {
            "Synchronize the whole catalog at least once a day, or push every product."
        }
        Component::PriceAccuracy => "Charge the amount that the buyer approved.",
        Component::AvailabilityAccuracy => {
            "Keep stock up to date, and ship orders instead of canceling them as out of stock."
        }
        Component::PolicyCoverage => {
            "Set the return window, the days of shipping and the address of the privacy policy."
        }
        Component::CheckoutSuccessRate | Component::AgentSatisfactionRate => {
            "Let checkouts end in orders: a payment page that works, and stock for what was bought."
        }
        Component::FulfillmentRate => {
            "Deliver by the promised date, and report each delivery; promise dates that you keep."
        }
        Component::DisputeRate => {
            "Answer disputes in time, and settle what buyers rightly complain about before one is opened."
        }
        Component::ResponseLatency => "Answer calls to your own systems within 200 milliseconds.",
        Component::ReviewSentiment => "Improve the products that buyers rate low.",
        Component::DataConsistency => {
            "Correct products whose currency, stock and quantity, or GTIN contradict each other."
        }
    }
}

const fn remedy_v41(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::MerchantReliabilityBase => {
            "Deliver on time, avoid disputes and refunds, and keep the catalog complete."
        }
        Dimension::AgenticReadiness => {
            "Complete settings and policies, verify your identity, and synchronize every day."
        }
        Dimension::AgenticEvidence => "Complete the purchases of agents, and deliver them on time.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epoch, Evidence, score};

    #[test]
    fn reasons_add_up_to_what_the_score_lacks() {
        let mut evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        evidence.state.products = 10;
        evidence.state.complete = 5;
        evidence.state.consistent = 10;
        let computed = score(&evidence);
        let reasons = reasons(&computed);
        let lost: f64 = reasons.iter().map(|reason| reason.points_lost).sum();
        assert!((lost - (1.0 - computed.score.unwrap())).abs() < 0.001, "{reasons:?}");
        assert!(reasons.is_sorted_by(|one, next| one.points_lost >= next.points_lost));
        assert!(reasons.iter().all(|reason| reason.name != "data_consistency"));
        assert_eq!(reasons[0].name, "catalog_freshness");
    }
}
