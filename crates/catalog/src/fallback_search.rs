//! Searching one store in PostgreSQL, for the time the search index is unavailable. It supports neither stemming nor
//! misspellings, and reads the store's rows one by one.

use database::Reading;
use primitives::{Currency, MerchantId};

use crate::sale::set_current_prices;
use crate::{CatalogError, Product, table};

/// Most products whose text is searched, the newest first; in a larger store the rest is not found.
const SEARCHED_MAX: i64 = 10_000;

/// A query. A product matches if it satisfies every filter that is set.
#[derive(Debug, Clone, Default)]
pub struct FallbackQuery {
    /// Words that must all occur; case and accents are ignored.
    pub words: Option<String>,
    /// A category path, which includes the categories below, or a category name.
    pub category: Option<String>,
    /// Case is ignored.
    pub brand: Option<String>,
    /// Price ranges by currency; if there are any, products in other currencies do not match.
    pub prices: Vec<PriceRange>,
    pub in_stock_only: bool,
    pub sort: FallbackSort,
}

/// A price range in minor units of one currency, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceRange {
    pub currency: Currency,
    pub min_minor: Option<i64>,
    pub max_minor: Option<i64>,
}

primitives::text_enum! {
    /// Order of the results.
    #[derive(Default)]
    #[strum(serialize_all = "snake_case")]
    pub enum FallbackSort {
        /// Best match first; without words, the newest first.
        #[default]
        Relevance,
        #[strum(serialize = "price_asc")]
        PriceAscending,
        #[strum(serialize = "price_desc")]
        PriceDescending,
        Newest,
    }
}

/// Returns a page of the products of a store that match, and their total number.
pub async fn fallback_search(
    reading: &Reading,
    merchant: MerchantId,
    query: &FallbackQuery,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Product>, i64), CatalogError> {
    // No stored text contains NUL, and PostgreSQL rejects it as a parameter.
    let texts = [&query.words, &query.category, &query.brand];
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Ok((Vec::new(), 0));
    }
    reading
        .run(async |sql| {
            let mut found =
                table::fallback_search(sql, merchant, query, SEARCHED_MAX, limit, offset).await?;
            if found.0.is_empty() && offset > 0 {
                // A page beyond the end carries no total.
                let first =
                    table::fallback_search(sql, merchant, query, SEARCHED_MAX, 1, 0).await?;
                found.1 = first.1;
            }
            set_current_prices(sql, found.0.iter_mut()).await?;
            Ok(found)
        })
        .await
}
