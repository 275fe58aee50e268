//! Stores ranked by how much of a search's results they sell.

use merchants::Standing;
use primitives::{PageRequest, StoreSlug};

use crate::rank::trust_factor;
use crate::{CallerKind, Query, Search, SearchError};

/// A store with results of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreMatch {
    pub slug: StoreSlug,
    /// Number of its products among the results.
    pub products: i64,
    pub standing: Standing,
    /// 0 to 100: its number of products relative to the store with the most, multiplied by the trust factor.
    pub score: i64,
}

impl Search {
    /// Returns the stores with the most results, best first. They come from the merchant facet, so there are at most
    /// as many as it has values.
    pub async fn matching_stores(
        &self,
        query: Query,
        caller: CallerKind,
    ) -> Result<Vec<StoreMatch>, SearchError> {
        let page = PageRequest::new(None, Some(1));
        let found = self.find(Query { facets: true, page, ..query }, caller).await?;
        let (_, directory) = self.current()?;
        let counts = found.facets.map(|facets| facets.merchant).unwrap_or_default();
        let largest = counts.iter().map(|value| value.count).max().unwrap_or(1).max(1);
        let store_match = |slug: StoreSlug, products: i64| {
            let standing = directory.by_slug(&slug)?.store.standing;
            let score = score(products, largest, trust_factor(standing.ranking_score()));
            Some(StoreMatch { slug, products, standing, score })
        };
        let mut matches: Vec<StoreMatch> = counts
            .into_iter()
            .filter_map(|value| store_match(value.value.parse().ok()?, value.count))
            .collect();
        matches.sort_by_key(|store| -store.score);
        Ok(matches)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a score from 0 to 100"
)]
fn score(products: i64, largest: i64, trust: f64) -> i64 {
    (100.0 * trust * products as f64 / largest as f64).round() as i64
}
