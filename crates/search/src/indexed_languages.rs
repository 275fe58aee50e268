//! The languages in which the documents of each store are indexed. All other data of a store is added at search
//! time; only a change of its languages requires reindexing its documents.

use std::collections::BTreeMap;

use merchants::Store;
use primitives::MerchantId;

use crate::IndexError;
use crate::language::Language;

/// Name of the file, published with the segments.
pub(crate) const FILE_NAME: &str = "languages.json";

/// The indexed languages by store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct IndexedLanguages(BTreeMap<String, String>);

impl IndexedLanguages {
    /// Returns whether the documents of a store are indexed in other languages than the store has now.
    pub(crate) fn differ_from(&self, store: &Store) -> bool {
        let indexed = self.0.get(&store.merchant.to_string());
        indexed.is_some_and(|indexed| *indexed != language_names(store))
    }

    /// Returns whether documents of a store are indexed at all.
    pub(crate) fn contains(&self, merchant: MerchantId) -> bool {
        self.0.contains_key(&merchant.to_string())
    }

    /// Records that the documents of a store are indexed in its current languages.
    pub(crate) fn record(&mut self, store: &Store) {
        self.0.insert(store.merchant.to_string(), language_names(store));
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, IndexError> {
        serde_json::to_vec(&self.0).map_err(|error| IndexError::LocalFile(error.to_string()))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, IndexError> {
        let languages = serde_json::from_slice(bytes);
        languages.map(Self).map_err(|error| IndexError::LocalFile(format!("{FILE_NAME}: {error}")))
    }
}

/// Returns the names of the languages that a store's documents are stemmed in.
fn language_names(store: &Store) -> String {
    let languages = Language::of_store(&store.languages);
    languages.iter().map(|language| format!("{language:?}")).collect::<Vec<_>>().join(" ")
}
