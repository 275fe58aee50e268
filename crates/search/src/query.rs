//! The query of a search.

use merchants::Band;
use primitives::{Currency, PageRequest, StoreSlug};
use sha2::{Digest, Sha256};

use crate::SearchError;

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// As typed. Empty: everything that passes the filters.
    pub words: String,
    /// Stores to search. Empty: all of them.
    pub stores: Vec<StoreSlug>,
    pub filters: Filters,
    pub sort: Sort,
    pub page: PageRequest,
    /// Cursor of the previous page, instead of a page number.
    pub cursor: Option<String>,
    /// Whether to count the results by brand, category and so on.
    pub facets: bool,
}

/// Filters of a search (docs/contract/search.md#search-filters).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// A category path, or the name of one of its levels.
    pub category: Option<String>,
    pub brand: Option<String>,
    /// Minimum price, in millionths of the currency unit.
    pub price_micros_min: Option<u64>,
    /// Maximum price, in millionths of the currency unit.
    pub price_micros_max: Option<u64>,
    pub currency: Option<Currency>,
    pub in_stock_only: bool,
    /// Minimum trust score of the store.
    pub trust_min: Option<f64>,
    /// Minimum trust label of the store.
    pub band_min: Option<Band>,
}

primitives::text_enum! {
    /// Order of the results.
    #[derive(Default, schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Sort {
        /// Best match first, by words and by trust in the store.
        #[default]
        Relevance,
        /// Lowest price first. Amounts of different currencies are compared as numbers; filter by currency to avoid it.
        PriceAsc,
        /// Highest price first. Amounts of different currencies are compared as numbers.
        PriceDesc,
        /// Most recently listed first.
        Newest,
        /// Highest trust score of the store first.
        Trust,
    }
}

impl Query {
    /// Returns a query for these words, without filters.
    #[must_use]
    pub fn of_words(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            stores: Vec::new(),
            filters: Filters::default(),
            sort: Sort::Relevance,
            page: PageRequest::new(None, None),
            cursor: None,
            facets: false,
        }
    }

    /// Number of results that page numbers reach; later results need a cursor.
    pub const WINDOW: usize = 10_000;

    /// Returns whether the results of one store are limited: across stores, in the orders that judge products.
    pub(crate) fn is_diverse(&self) -> bool {
        self.stores.is_empty() && matches!(self.sort, Sort::Relevance | Sort::Trust)
    }

    /// Returns how many results to collect: those of the page, and without a cursor all before it.
    pub(crate) fn depth(&self) -> Result<usize, SearchError> {
        let limit = usize::try_from(self.page.limit()).unwrap_or(usize::MAX);
        if self.cursor.is_some() {
            return Ok(limit);
        }
        let offset = usize::try_from(self.page.offset()).unwrap_or(usize::MAX);
        let depth = offset.saturating_add(limit);
        if depth > Self::WINDOW { Err(SearchError::PageTooDeep) } else { Ok(depth) }
    }

    /// Returns a hash of everything that must not change from page to page, to reject cursors of other searches.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut stores = self.stores.clone();
        stores.sort_unstable();
        let text = format!("{:?} {:?} {:?} {:?}", self.words, stores, self.filters, self.sort);
        let hash = Sha256::digest(text.as_bytes());
        hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
