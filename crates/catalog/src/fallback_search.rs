//! Searching one store in PostgreSQL: what is left when the index is away. It knows no stems and no
//! misspellings, and reads the store's rows one by one.

use database::Reading;
use primitives::{Currency, MerchantId};

use crate::{CatalogError, Product, table};

/// Products whose words are looked at, the newest first; of a larger store the rest is not found.
const WORDED_MAX: i64 = 10_000;

/// What to look for. Everything that is set must hold.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Words that must all occur, without regard to case and accents.
    pub words: Option<String>,
    /// A path and all below it, or the name of a place.
    pub category: Option<String>,
    /// The maker, without regard to case.
    pub brand: Option<String>,
    /// Which prices, by currency. If there are any, products in other currencies are left out.
    pub prices: Vec<PriceRange>,
    /// Only what can be had at once.
    pub in_stock_only: bool,
    /// What comes first.
    pub sort: ScanSort,
}

/// A range of prices in one currency, in its minor units, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceRange {
    /// The currency.
    pub currency: Currency,
    /// The lowest.
    pub min_minor: Option<i64>,
    /// The highest.
    pub max_minor: Option<i64>,
}

/// What comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ScanSort {
    /// What the words fit best; without words, the newest.
    #[default]
    Relevance,
    /// The cheapest.
    PriceAscending,
    /// The dearest.
    PriceDescending,
    /// The newest.
    Newest,
}

impl ScanSort {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Relevance => "relevance",
            Self::PriceAscending => "price_asc",
            Self::PriceDescending => "price_desc",
            Self::Newest => "newest",
        }
    }
}

/// The products of a store that fit, and how many there are.
pub async fn scan(
    reading: &Reading,
    merchant: MerchantId,
    scan: &Scan,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Product>, i64), CatalogError> {
    // Nothing of ours holds a NUL, and PostgreSQL would not look for one.
    let texts = [&scan.words, &scan.category, &scan.brand];
    if texts.into_iter().flatten().any(|text| text.contains('\0')) {
        return Ok((Vec::new(), 0));
    }
    let mut snapshot = reading.open().await?;
    let mut found = table::scan(&mut snapshot, merchant, scan, WORDED_MAX, limit, offset).await?;
    if found.0.is_empty() && offset > 0 {
        // A page behind the end knows no total.
        found.1 = table::scan(&mut snapshot, merchant, scan, WORDED_MAX, 1, 0).await?.1;
    }
    snapshot.close().await?;
    Ok(found)
}
