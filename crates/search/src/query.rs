//! What is asked.

use merchants::Band;
use primitives::{Currency, PageRequest, StoreSlug};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::SearchError;

/// A search.
#[derive(Debug, Clone)]
pub struct Query {
    /// The words, as typed. None: everything that passes the filters.
    pub words: String,
    /// The stores to look in. None: all of them.
    pub stores: Vec<StoreSlug>,
    /// What results must be.
    pub filters: Filters,
    /// Their order.
    pub sort: Sort,
    /// Which page.
    pub page: PageRequest,
    /// Instead of a page number: go on behind the last result of an answer.
    pub cursor: Option<String>,
    /// Whether to count values of brand, category and so on.
    pub facets: bool,
}

/// What results must be (decisions §3).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Filters {
    /// A place in a store's tree: a path, or the name of one place.
    pub category: Option<String>,
    /// Who makes it.
    pub brand: Option<String>,
    /// The least price, in millionths.
    pub price_micros_min: Option<u64>,
    /// The highest price, in millionths.
    pub price_micros_max: Option<u64>,
    /// What it is priced in.
    pub currency: Option<Currency>,
    /// Only what can be had at once.
    pub in_stock_only: bool,
    /// The least trust score of the store.
    pub trust_min: Option<f64>,
    /// The least trust label of the store.
    pub band_min: Option<Band>,
}

/// The order of results.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// What fits best, by words and by trust in the store.
    #[default]
    Relevance,
    /// The cheapest first. Amounts are compared as numbers; name a currency to compare like with like.
    PriceAsc,
    /// The dearest first.
    PriceDesc,
    /// What was listed last comes first.
    Newest,
    /// The best trusted stores first.
    Trust,
}

impl Query {
    /// A search for these words and nothing else.
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

    /// Results that can be reached by page number. Deeper reading goes by cursor.
    pub const WINDOW: usize = 10_000;

    /// How many results the page needs: all before it, and its own.
    pub(crate) fn depth(&self) -> Result<usize, SearchError> {
        let limit = usize::try_from(self.page.limit()).unwrap_or(usize::MAX);
        if self.cursor.is_some() {
            return Ok(limit);
        }
        let offset = usize::try_from(self.page.offset()).unwrap_or(usize::MAX);
        let depth = offset.saturating_add(limit);
        if depth > Self::WINDOW { Err(SearchError::TooDeep) } else { Ok(depth) }
    }

    /// What must be the same from page to page, as a number: a cursor of another search is refused.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut stores = self.stores.clone();
        stores.sort_unstable();
        let text = format!("{:?} {:?} {:?} {:?}", self.words, stores, self.filters, self.sort);
        let hash = Sha256::digest(text.as_bytes());
        hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}
