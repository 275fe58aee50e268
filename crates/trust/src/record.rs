//! The wire forms of a score and its history, served by both doors.

use std::collections::BTreeMap;

use merchants::{Band, Store};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Basis, Component, Computation, Evidence, METHODOLOGY_VERSION};

/// The score of a store, and why it is what it is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScoreRecord {
    /// The store.
    pub merchant_slug: String,
    /// Trust score in force, 0 to 1; null while the store is unscored.
    pub score: Option<f64>,
    /// The label.
    pub label: Option<Band>,
    /// True below twenty completed orders: the store then ranks as at most 0.84.
    pub provisional: bool,
    /// Whether agents may check out here.
    pub agent_checkout: bool,
    /// The methodology it was computed by.
    pub methodology_version: &'static str,
    /// When it was computed.
    pub computed_at: Timestamp,
    /// What it rests on; `demo` is made up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// The parts of the score, by name. Those without data do not apply, and their weight is spread over the others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<&'static str, ComponentRecord>,
}

/// A part of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentRecord {
    /// Its figure, 0 to 1; left out if it does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Its share of the whole.
    pub weight: f64,
    /// Where its figure comes from.
    pub source: Evidence,
    /// Whether there is data for it.
    pub applicable: bool,
}

impl ScoreRecord {
    /// The score in force, with what the newest computation says of it.
    #[must_use]
    pub fn of(store: &Store, computation: Option<&Computation>) -> Self {
        let component = |component: Component| {
            let figure = computation.and_then(|made| made.components.get(&component)).copied();
            let record = ComponentRecord {
                score: figure,
                weight: component.weight(),
                source: component.evidence(),
                applicable: figure.is_some(),
            };
            (component.name(), record)
        };
        Self {
            merchant_slug: store.slug.to_string(),
            score: store.standing.score,
            label: store.standing.band(),
            provisional: store.standing.provisional,
            agent_checkout: store.standing.takes_checkout(),
            methodology_version: METHODOLOGY_VERSION,
            computed_at: store.standing.computed_at,
            basis: computation.map(|made| made.basis),
            components: match computation {
                Some(_) => Component::all().map(component).collect(),
                None => BTreeMap::new(),
            },
        }
    }
}

/// How a score went over time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryRecord {
    /// The store.
    pub merchant_slug: String,
    /// Newest first. Lines are never changed or removed.
    pub points: Vec<HistoryPoint>,
}

/// A score at one moment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// When it was computed.
    pub computed_at: Timestamp,
    /// The score; left out if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Band>,
    /// What it rests on; `demo` is made up.
    pub basis: Basis,
}

impl HistoryRecord {
    /// The history of a store.
    #[must_use]
    pub fn of(store: &Store, computations: &[Computation]) -> Self {
        let point = |made: &Computation| HistoryPoint {
            computed_at: made.computed_at,
            score: made.score,
            label: made.band(),
            basis: made.basis,
        };
        Self {
            merchant_slug: store.slug.to_string(),
            points: computations.iter().map(point).collect(),
        }
    }
}
