//! Which languages the documents of each store were made for. Everything else of a store is put in
//! when a search is answered; only a change of this makes its documents anew.

use std::collections::BTreeMap;

use merchants::Store;
use primitives::MerchantId;

use crate::IndexError;
use crate::language::Language;

/// The name it is published under, beside the segments.
pub(crate) const FILE_NAME: &str = "languages.json";

/// The languages by store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Languages(BTreeMap<String, String>);

impl Languages {
    /// Whether the documents of a store were made for other languages than it has now.
    pub(crate) fn differ(&self, store: &Store) -> bool {
        let made_for = self.0.get(&store.merchant.to_string());
        made_for.is_some_and(|made_for| *made_for != spell(store))
    }

    /// Whether documents of a store were made at all.
    pub(crate) fn know(&self, merchant: MerchantId) -> bool {
        self.0.contains_key(&merchant.to_string())
    }

    /// Notes that the documents of a store are made for its languages.
    pub(crate) fn note(&mut self, store: &Store) {
        self.0.insert(store.merchant.to_string(), spell(store));
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, IndexError> {
        serde_json::to_vec(&self.0).map_err(|error| IndexError::Local(error.to_string()))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, IndexError> {
        let languages = serde_json::from_slice(bytes);
        languages.map(Self).map_err(|error| IndexError::Local(format!("{FILE_NAME}: {error}")))
    }
}

/// What stemming looks at: the languages that are understood.
fn spell(store: &Store) -> String {
    let languages = Language::of_store(&store.languages);
    languages.iter().map(|language| format!("{language:?}")).collect::<Vec<_>>().join(" ")
}
