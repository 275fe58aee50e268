//! Reading.

use std::time::Duration;

use database::{Database, Reading};
use primitives::{Currency, MerchantId, Money, PageRequest, ProductId, Timestamp, VariantId};

use crate::category::{CategoryNode, tree};
use crate::table::Lookup;
use crate::{CatalogError, Gtin, LatePrices, Product, Review, table};

/// Products that one article number or one address may lead to.
const FOUND_MAX: i64 = 20;
/// Lines of a price history that are looked at.
const PRICES_MAX: i64 = 500;
const MONTH: Duration = Duration::from_hours(30 * 24);
/// Reductions that are counted; beyond it a total is an estimate.
const DEALS_BUDGET: i64 = 1_000;

/// A product with its variants, if agents may see it.
pub async fn product(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
) -> Result<Product, CatalogError> {
    let found = find(reading, merchant, &Lookup::Id(id)).await?;
    found.into_iter().next().ok_or(CatalogError::ProductNotFound)
}

/// The products of a store that a look-up names.
pub async fn find(
    reading: &Reading,
    merchant: MerchantId,
    lookup: &Lookup,
) -> Result<Vec<Product>, CatalogError> {
    // Nothing of ours holds a NUL, and PostgreSQL would not look for one.
    if matches!(lookup, Lookup::Sku(text) | Lookup::Url(text) if text.contains('\0')) {
        return Ok(Vec::new());
    }
    let mut snapshot = reading.open().await?;
    let found = table::find(&mut snapshot, merchant, lookup, FOUND_MAX).await?;
    snapshot.close().await?;
    Ok(found)
}

/// The store a product belongs to. An agent names a product by its id alone.
pub async fn owner(database: &Database, id: ProductId) -> Result<MerchantId, CatalogError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let owner = table::owner(&mut snapshot, id).await?;
    snapshot.close().await?;
    owner.ok_or(CatalogError::ProductNotFound)
}

/// The stores that sell an article, best standing first.
pub async fn sellers(database: &Database, gtin: &Gtin) -> Result<Vec<MerchantId>, CatalogError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let sellers = table::sellers(&mut snapshot, &gtin.to_14(), FOUND_MAX).await?;
    snapshot.close().await?;
    Ok(sellers)
}

/// The newest products of a store, and how many it lists.
pub async fn new_arrivals(
    reading: &Reading,
    merchant: MerchantId,
    page: PageRequest,
) -> Result<(Vec<Product>, i64), CatalogError> {
    let mut snapshot = reading.open().await?;
    let limit = i64::from(page.limit());
    let (found, counted) = table::newest(&mut snapshot, merchant, limit, page.offset()).await?;
    // The store's own count is some seconds old; what is seen here is there.
    let seen = page.offset().saturating_add(i64::try_from(found.len()).unwrap_or(0));
    let total = if found.is_empty() && page.offset() > 0 {
        // A page behind the end knows no total.
        table::newest(&mut snapshot, merchant, 1, 0).await?.1
    } else {
        counted.max(seen)
    };
    snapshot.close().await?;
    Ok((found, total))
}

/// A page of the best reductions of all stores.
#[derive(Debug)]
pub struct Deals {
    /// Where they are, the best first.
    pub places: Vec<(MerchantId, ProductId)>,
    /// How many there are.
    pub total: i64,
    /// There are more than were counted.
    pub total_is_estimate: bool,
}

/// The best reductions of stores agents may check out at: those of at least so many percent.
pub async fn deals(
    database: &Database,
    percent_min: f64,
    page: PageRequest,
) -> Result<Deals, CatalogError> {
    let share_max = 1.0 - percent_min.clamp(0.0, 100.0) / 100.0;
    let score_min = merchants::AGENT_THRESHOLD;
    let mut snapshot = Reading::for_platform(database).open().await?;
    let (limit, offset) = (i64::from(page.limit()), page.offset());
    let found =
        table::deals(&mut snapshot, share_max, score_min, DEALS_BUDGET, limit, offset).await?;
    let mut total = found.first().map_or(0, |deal| deal.total);
    if found.is_empty() && offset > 0 {
        // A page behind the end knows no total.
        let first = table::deals(&mut snapshot, share_max, score_min, DEALS_BUDGET, 1, 0).await?;
        total = first.first().map_or(0, |deal| deal.total);
    }
    snapshot.close().await?;
    let places = found.into_iter().map(|deal| (deal.merchant_id, deal.product_id)).collect();
    Ok(Deals { places, total, total_is_estimate: total >= DEALS_BUDGET })
}

/// A price that was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPrice {
    /// The variant it was the price of; none: of the product as a whole.
    pub variant: Option<VariantId>,
    /// What it cost.
    pub price: Money,
    /// What it had cost before that, as the merchant said.
    pub list_price_minor: Option<i64>,
    /// Since when.
    pub at: Timestamp,
}

/// The prices a product had, newest first.
pub async fn price_history(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
    limit: i64,
) -> Result<Vec<PastPrice>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let rows = table::prices(&mut snapshot, merchant, id, limit).await?;
    snapshot.close().await?;
    Ok(rows.into_iter().map(PastPrice::from).collect())
}

impl From<table::PriceRow> for PastPrice {
    fn from(row: table::PriceRow) -> Self {
        Self {
            variant: row.variant_id,
            price: Money::new(row.price_minor, row.currency.parse().unwrap_or(Currency::EUR)),
            list_price_minor: row.list_price_minor,
            at: row.at,
        }
    }
}

/// What a product cost within a span up to now, and the least of thirty days.
pub async fn late_prices(
    reading: &Reading,
    merchant: MerchantId,
    product: &Product,
    span: Duration,
) -> Result<LatePrices, CatalogError> {
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let rows = table::prices(&mut snapshot, merchant, product.id, PRICES_MAX).await?;
    snapshot.close().await?;
    let past = rows.into_iter().map(PastPrice::from).collect();
    Ok(LatePrices::of(product, past, now.minus(span), now.minus(MONTH)))
}

/// The newest reviews of a product.
pub async fn reviews(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
    limit: i64,
) -> Result<Vec<Review>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let reviews = table::reviews(&mut snapshot, merchant, id, limit).await?;
    snapshot.close().await?;
    Ok(reviews)
}

/// The store's tree, or the part below a path. Counts are of products agents can see.
pub async fn categories(
    reading: &Reading,
    merchant: MerchantId,
    below: Option<&str>,
) -> Result<Vec<CategoryNode>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let places = table::categories(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    let roots = tree(places);
    let Some(path) = below else { return Ok(roots) };
    let allowed = roots.iter().map(|node| node.category.path.clone()).collect();
    let found = node(roots, path).ok_or(CatalogError::CategoryNotFound { allowed })?;
    Ok(found.children)
}

/// The node of a path or an id.
fn node(nodes: Vec<CategoryNode>, wanted: &str) -> Option<CategoryNode> {
    for root in nodes {
        if root.category.path == wanted || root.category.id.to_string() == wanted {
            return Some(root);
        }
        if let Some(found) = node(root.children, wanted) {
            return Some(found);
        }
    }
    None
}
