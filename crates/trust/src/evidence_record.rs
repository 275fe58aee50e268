//! The exported form of a score with its evidence (docs/contract/trust.md#evidence).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Computed, Evidence, METHODOLOGY_VERSION};

/// A score with the evidence it is computed from: one line of an export.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EvidenceRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Version of the methodology.
    pub methodology_version: &'static str,
    /// Score, 0 to 1; null if the store is unscored.
    pub score: Option<f64>,
    /// Whether the score is provisional.
    pub provisional: bool,
    /// Values of the components that apply, by name.
    pub components: BTreeMap<&'static str, f64>,
    /// Everything the score is computed from.
    pub evidence: Evidence,
}

impl EvidenceRecord {
    /// Returns the record of a score.
    #[must_use]
    pub fn of(merchant_slug: String, evidence: Evidence, computed: &Computed) -> Self {
        let values = computed.values().into_iter();
        Self {
            merchant_slug,
            methodology_version: METHODOLOGY_VERSION,
            score: computed.score,
            provisional: computed.provisional,
            components: values.map(|(component, value)| (component.as_str(), value)).collect(),
            evidence,
        }
    }
}
