//! What a merchant gains that fails orders and does not state what happened. Of purchases that Souk observes, the merchant states
//! amount, shipment, delivery and the reason of a cancellation.

use trust::{AgentDay, Component, Day, DayCounts, Evidence};

use super::ROUNDING;
use super::victim::Victim;
use crate::report::{Failure, ensure};

/// The merchant fails every fifth order.
const FAILED_EVERY: usize = 5;
/// Days from the promised time, three days after a purchase, to thirty days after it, where nothing was promised.
const UNPROMISED_LATER_DAYS: i32 = 27;

/// How much an evasion may gain.
#[derive(Debug, Clone, Copy)]
enum Limit {
    /// The share of the score that a component decides, after redistribution.
    WeightOf(Component),
    /// What the merchant has without these purchases: it loses them, and nothing else.
    WithoutPurchases,
}

/// What a merchant states instead of what happened.
#[derive(Clone, Copy)]
pub(super) struct Evasion {
    pub(super) name: &'static str,
    /// What a failed purchase counts if the merchant states what happened.
    stated: DayCounts,
    /// What it counts otherwise.
    evaded: DayCounts,
    /// What it counts later, if that is not on the same day.
    later: Option<DayCounts>,
    limit: Limit,
}

const NOTHING: DayCounts = DayCounts {
    started: 0,
    completed: 0,
    lasting: 0,
    kept: 0,
    orders: 0,
    in_stock: 0,
    out_of_stock: 0,
    on_time: 0,
    late: 0,
    delivered: 0,
    price_equal: 0,
    price_different: 0,
    disputes_lost: 0,
    amount_minor: 0,
};
/// A purchase that the merchant canceled, for no reason that counts more than once. That it reported the price of the quote before
/// does not count.
const CANCELED: DayCounts =
    DayCounts { started: 1, completed: 1, lasting: 1, orders: 1, late: 1, ..NOTHING };
/// A purchase of which nothing was shipped until it was late. The merchant reported the price of the quote.
const NOT_SHIPPED: DayCounts = DayCounts { kept: 1, price_equal: 1, ..CANCELED };
/// A purchase that was delivered after the promised time.
const LATE: DayCounts = DayCounts { in_stock: 1, delivered: 1, ..NOT_SHIPPED };

/// What merchants try.
pub(super) const EVASIONS: [Evasion; 5] = [
    Evasion {
        name: "has no stock, cancels as other",
        stated: DayCounts { out_of_stock: 1, ..CANCELED },
        evaded: CANCELED,
        later: None,
        limit: Limit::WeightOf(Component::AvailabilityAccuracy),
    },
    Evasion {
        name: "has no stock, cancels as requested",
        stated: DayCounts { out_of_stock: 1, ..CANCELED },
        evaded: NOTHING,
        later: None,
        limit: Limit::WithoutPurchases,
    },
    Evasion {
        name: "reports the price, cancels as requested",
        stated: NOT_SHIPPED,
        evaded: NOTHING,
        later: None,
        limit: Limit::WithoutPurchases,
    },
    Evasion {
        name: "delivers after 10 days, promises nothing",
        stated: LATE,
        evaded: DayCounts { on_time: 1, late: 0, ..LATE },
        later: None,
        limit: Limit::WeightOf(Component::FulfillmentRate),
    },
    Evasion {
        name: "delivers nothing, promises nothing",
        stated: NOT_SHIPPED,
        evaded: DayCounts { late: 0, ..NOT_SHIPPED },
        later: Some(DayCounts { late: 1, ..NOTHING }),
        limit: Limit::WeightOf(Component::FulfillmentRate),
    },
];

impl Evasion {
    /// Returns by how much it lifts the score of a store. Fails if that is more than its limit.
    pub(super) fn gain(&self, victim: &Victim) -> Result<f64, Failure> {
        let (mut stated, mut evaded, mut without) =
            (victim.evidence(), victim.evidence(), victim.evidence());
        stated.days = failing(&victim.days, Some(self.stated), None);
        evaded.days = failing(&victim.days, Some(self.evaded), self.later);
        without.days = failing(&victim.days, None, None);
        let score = |evidence: &Evidence| trust::score(evidence).score.unwrap_or(0.0);
        let gain = score(&evaded) - score(&stated);
        let (name, kind) = (self.name, victim.name);
        match self.limit {
            Limit::WeightOf(component) => {
                let weight = |evidence| trust::score(evidence).effective_weight(component);
                let limit = weight(&stated).max(weight(&evaded));
                ensure(gain <= limit + ROUNDING, || {
                    format!("{name}: lifts the {kind} store by {gain}, the weight is {limit}")
                })?;
            }
            Limit::WithoutPurchases => {
                ensure(score(&evaded).to_bits() == score(&without).to_bits(), || {
                    format!("{name}: the {kind} store is not as if nobody had bought")
                })?;
            }
        }
        Ok(gain)
    }
}

/// Returns the rows of a store with other counts of every fifth purchase, and with those that come later; without it if there are
/// none.
fn failing(
    days: &[AgentDay],
    failed: Option<DayCounts>,
    later: Option<DayCounts>,
) -> Vec<AgentDay> {
    let mut rows = Vec::new();
    for (number, row) in days.iter().enumerate() {
        if number % FAILED_EVERY > 0 {
            rows.push(*row);
            continue;
        }
        rows.extend(failed.map(|counts| AgentDay { counts, ..*row }));
        let day = Day(row.day.0 + UNPROMISED_LATER_DAYS);
        rows.extend(later.map(|counts| AgentDay { day, counts, ..*row }));
    }
    rows
}
