//! The wire forms of a score and its history, served over REST and MCP.

use std::collections::BTreeMap;

use merchants::{Band, Store};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Basis, Component, Computation, Evidence, METHODOLOGY_VERSION};

/// Trust score of a store with its components.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScoreRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Trust score in force, 0 to 1; null while the store is unscored.
    pub score: Option<f64>,
    /// Label of the score; null while the store is unscored.
    pub label: Option<Band>,
    /// True below twenty completed orders; the score then counts as at most 0.84 in rankings.
    pub provisional: bool,
    /// Whether the score and the standing of the store allow agents to check out. `list_payment_methods` says whether a
    /// person can pay.
    pub agent_checkout: bool,
    /// Version of the methodology.
    pub methodology_version: &'static str,
    /// Time of computation.
    pub computed_at: Timestamp,
    /// Origin of the score; `demo` is invented data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Components of the score, by name. A component without data does not apply; its weight is redistributed over the others.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<&'static str, ComponentRecord>,
}

/// A component of a score.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ComponentRecord {
    /// Value, 0 to 1; omitted if the component does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Weight in the score, 0 to 1.
    pub weight: f64,
    /// Source of the value: measured by Souk, or declared by the merchant.
    pub source: Evidence,
    /// Whether there is data for the component.
    pub applicable: bool,
}

impl ScoreRecord {
    /// Returns the score in force with the components of the newest computation.
    #[must_use]
    pub fn of(store: &Store, computation: Option<&Computation>) -> Self {
        let component = |component: Component| {
            let value =
                computation.and_then(|computed| computed.components.get(&component)).copied();
            let record = ComponentRecord {
                score: value,
                weight: component.weight(),
                source: component.evidence(),
                applicable: value.is_some(),
            };
            (component.as_str(), record)
        };
        Self {
            merchant_slug: store.slug.to_string(),
            score: store.standing.score,
            label: store.standing.band(),
            provisional: store.standing.provisional,
            agent_checkout: store.allows_agent_checkout(),
            methodology_version: METHODOLOGY_VERSION,
            computed_at: store.standing.computed_at,
            basis: computation.map(|computed| computed.basis),
            components: match computation {
                Some(_) => Component::ALL.iter().copied().map(component).collect(),
                None => BTreeMap::new(),
            },
        }
    }
}

/// Score history of a store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Scores, newest first. The history is append-only.
    pub points: Vec<HistoryPoint>,
}

/// A score at one time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// Time of computation.
    pub computed_at: Timestamp,
    /// Score, 0 to 1; omitted if no component applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Label of the score; omitted if there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Band>,
    /// Origin of the score; `demo` is invented data.
    pub basis: Basis,
}

impl HistoryRecord {
    /// Returns the history of a store.
    #[must_use]
    pub fn of(store: &Store, computations: &[Computation]) -> Self {
        let point = |computed: &Computation| HistoryPoint {
            computed_at: computed.computed_at,
            score: computed.score,
            label: computed.band(),
            basis: computed.basis,
        };
        Self {
            merchant_slug: store.slug.to_string(),
            points: computations.iter().map(point).collect(),
        }
    }
}
