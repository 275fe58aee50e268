//! Which stores to ask: who sells what a search finds.

use merchants::Standing;
use primitives::{PageRequest, StoreSlug};

use crate::{CallerKind, Query, Search, SearchError};

/// A store that sells what was searched for.
#[derive(Debug, Clone, PartialEq)]
pub struct Seller {
    /// Which.
    pub slug: StoreSlug,
    /// How many of its products were found.
    pub products: i64,
    /// Where it stands.
    pub standing: Standing,
    /// 0 to 100: its share of what the largest of them has, weighed with trust as results are.
    pub score: i64,
}

impl Search {
    /// The stores in which a search finds most, the best first: those the facets name.
    pub async fn sellers(
        &self,
        query: Query,
        caller: CallerKind,
    ) -> Result<Vec<Seller>, SearchError> {
        let page = PageRequest::new(None, Some(1));
        let found = self.find(Query { facets: true, page, ..query }, caller).await?;
        let (_, roster) = self.open()?;
        let counted = found.facets.map(|facets| facets.merchant).unwrap_or_default();
        let most = counted.iter().map(|value| value.count).max().unwrap_or(1).max(1);
        let seller = |slug: StoreSlug, products: i64| {
            let standing = roster.by_slug(&slug)?.store.standing;
            let trust = 0.5 + 0.5 * standing.ranking_score().unwrap_or(0.0);
            let score = score(products, most, trust);
            Some(Seller { slug, products, standing, score })
        };
        let mut sellers: Vec<Seller> = counted
            .into_iter()
            .filter_map(|value| seller(value.value.parse().ok()?, value.count))
            .collect();
        sellers.sort_by_key(|seller| -seller.score);
        Ok(sellers)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "a figure from 0 to 100 for people"
)]
fn score(products: i64, most: i64, trust: f64) -> i64 {
    (100.0 * trust * products as f64 / most as f64).round() as i64
}
