//! The wire forms of a score and its history, served over REST and MCP.

use std::collections::BTreeMap;

use merchants::{Band, Standing, Store};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::reason::rounded;
use crate::{Basis, Component, ComponentSource, Computation, Computed, Epoch, METHODOLOGY_VERSION};

/// Trust score of a store with its components.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ScoreRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Trust score in force, 0 to 1; null while the store is unscored. It is that of `epoch` and `revision`, unless `is_former` is
    /// true.
    pub score: Option<f64>,
    /// True if the score is a former one: a suspended store that has no score any more keeps the one that suspended it. `epoch`,
    /// `revision`, `evidence_hash` and `components` are those of the newest computation. Omitted otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_former: bool,
    /// Label of the score; null while the store is unscored.
    pub label: Option<Band>,
    /// True below twenty delivered orders; the score then counts as at most 0.84 in rankings.
    pub provisional: bool,
    /// Whether the score and the standing of the store allow agents to check out. `list_payment_methods` says whether a
    /// person can pay.
    pub agent_checkout: bool,
    /// Version of the methodology.
    pub methodology_version: &'static str,
    /// Time of computation.
    pub computed_at: Timestamp,
    /// Period of six hours that the score belongs to, numbered since 1970; omitted if there is no computation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
    /// Revision in its epoch: 0 is the first computation, each correction is the next. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i32>,
    /// Origin of the score; `demo` is computed from synthetic facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// SHA-256 of the evidence from which the score was computed, in hexadecimal: that of `GET /merchant/trust/evidence`, if its
    /// `is_unchanged` is true. Omitted if the score was not computed from evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_hash: Option<String>,
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
    /// Published weight in the score, 0 to 1.
    pub weight: f64,
    /// Share of the score that the component decides, after redistribution, 0 to 1.
    pub effective_weight: f64,
    /// Share of its weight that the amount of data allows, 0 to 1; omitted if the component does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Source of the value: measured by Souk, or declared by the merchant.
    pub source: ComponentSource,
    /// Whether there is data for the component.
    pub applicable: bool,
}

impl ScoreRecord {
    /// Returns the score in force with the newest computation. The store may have been read before the computation was appended.
    #[must_use]
    pub fn of(store: &Store, computation: Option<&Computation>) -> Self {
        let store = &Store { standing: standing(store.standing, computation), ..store.clone() };
        let computed = computation.map(Computation::computed);
        let components: Option<BTreeMap<_, _>> = computed.as_ref().map(|computed| {
            let all = Component::ALL.iter();
            all.map(|it| (it.as_str(), ComponentRecord::of(*it, computed))).collect()
        });
        Self {
            merchant_slug: store.slug.to_string(),
            score: store.standing.score,
            is_former: computation.is_some_and(|it| it.trust_score() != store.standing.score),
            label: store.standing.band(),
            provisional: store.standing.provisional,
            agent_checkout: store.allows_agent_checkout(),
            methodology_version: computation
                .map_or(METHODOLOGY_VERSION, |computed| computed.methodology.as_str()),
            computed_at: store.standing.computed_at,
            epoch: computation.map(|computed| computed.epoch),
            revision: computation.map(|computed| computed.revision),
            basis: computation.map(|computed| computed.basis),
            evidence_hash: computation
                .and_then(|computed| computed.evidence_hash.as_ref())
                .map(hex::encode),
            components: components.unwrap_or_default(),
        }
    }
}

/// Returns the standing that follows from the newest computation, if that is newer than the one which was read.
fn standing(read: Standing, newest: Option<&Computation>) -> Standing {
    match newest {
        Some(newest) if newest.computed_at > read.computed_at => {
            let (score, provisional) = (newest.trust_score(), newest.provisional);
            read.replaced_by(Standing { score, provisional, computed_at: newest.computed_at })
        }
        _ => read,
    }
}

impl ComponentRecord {
    fn of(component: Component, computed: &Computed) -> Self {
        let figure = computed.figures.get(&component).copied().flatten();
        Self {
            score: figure.map(|figure| figure.value),
            weight: component.weight(),
            effective_weight: rounded(computed.effective_weight(component)),
            confidence: figure.map(|figure| rounded(figure.confidence)),
            source: component.source(),
            applicable: figure.is_some(),
        }
    }
}

/// Score history of a store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Scores, newest first, by the time of their epochs. The history is append-only. A long one is thinned: the newest score of
    /// each of equal parts of the period.
    pub points: Vec<HistoryPoint>,
}

/// A score at one time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HistoryPoint {
    /// Time of the score: the beginning of its epoch.
    pub as_of: Timestamp,
    /// Time of computation, later than the epoch if that was computed late.
    pub computed_at: Timestamp,
    /// Score, 0 to 1; omitted if no component applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Label of the score; omitted if there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<Band>,
    /// True while fewer than twenty orders were delivered; omitted otherwise.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub provisional: bool,
    /// Period of six hours that the score belongs to, numbered since 1970.
    pub epoch: Epoch,
    /// Revision in its epoch: 0 is the first computation, each correction is the next.
    pub revision: i32,
    /// Origin of the score; `demo` is computed from synthetic facts.
    pub basis: Basis,
}

impl HistoryRecord {
    /// Returns the history of a store.
    #[must_use]
    pub fn of(store: &Store, computations: &[Computation]) -> Self {
        let point = |computed: &Computation| HistoryPoint {
            as_of: computed.epoch.as_of(),
            computed_at: computed.computed_at,
            score: computed.trust_score(),
            label: computed.band(),
            provisional: computed.provisional,
            epoch: computed.epoch,
            revision: computed.revision,
            basis: computed.basis,
        };
        Self {
            merchant_slug: store.slug.to_string(),
            points: computations.iter().map(point).collect(),
        }
    }
}
