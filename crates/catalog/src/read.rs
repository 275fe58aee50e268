//! Read operations.

use std::time::Duration;

use database::{Database, Reading};
use primitives::{MerchantId, Money, PageRequest, ProductId, Timestamp, VariantId};

use crate::category::{CategoryNode, tree};
use crate::sale::set_current_prices;
use crate::table::Lookup;
use crate::{CatalogError, Gtin, Product, RecentPrices, Review, table};

/// Most products that a lookup by GTIN, SKU or URL returns.
const FOUND_MAX: i64 = 20;
/// Entries of the price history that are read.
const PRICES_MAX: i64 = 500;
const MONTH: Duration = Duration::from_hours(30 * 24);
/// Reductions that are counted; beyond it the total is an estimate.
const DEALS_BUDGET: i64 = 1_000;

/// Returns a product with its variants, or `ProductNotFound` if agents cannot see it.
pub async fn product(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
) -> Result<Product, CatalogError> {
    let found = find(reading, merchant, &Lookup::Id(id)).await?;
    found.into_iter().next().ok_or(CatalogError::ProductNotFound)
}

/// Returns the products of a store that match a lookup.
pub async fn find(
    reading: &Reading,
    merchant: MerchantId,
    lookup: &Lookup,
) -> Result<Vec<Product>, CatalogError> {
    // No stored text contains NUL, and PostgreSQL rejects it as a parameter.
    if matches!(lookup, Lookup::Sku(text) | Lookup::Url(text) if text.contains('\0')) {
        return Ok(Vec::new());
    }
    let found: Result<_, CatalogError> = reading
        .run(async |sql| {
            let mut found = table::find(sql, merchant, lookup, FOUND_MAX).await?;
            set_current_prices(sql, found.iter_mut()).await?;
            Ok(found)
        })
        .await;
    match found {
        // One of many stores that are asked for an article.
        Err(error) if error.is_unreadable() && matches!(lookup, Lookup::Gtin(_)) => {
            tracing::error!(%merchant, %error, "a product cannot be read; the store is left out");
            Ok(Vec::new())
        }
        found => found,
    }
}

/// Returns the merchant of a product, for callers that know only the product id.
pub async fn merchant_of(database: &Database, id: ProductId) -> Result<MerchantId, CatalogError> {
    Reading::for_platform(database)
        .run(async |sql| table::merchant_of(sql, id).await?.ok_or(CatalogError::ProductNotFound))
        .await
}

/// Returns the merchants that sell an article, the highest trust score first.
pub async fn sellers(database: &Database, gtin: &Gtin) -> Result<Vec<MerchantId>, CatalogError> {
    Reading::for_platform(database)
        .run(async |sql| Ok(table::sellers(sql, &gtin.to_14(), FOUND_MAX).await?))
        .await
}

/// Returns a page of the newest products of a store, and how many products it lists.
pub async fn new_arrivals(
    reading: &Reading,
    merchant: MerchantId,
    page: PageRequest,
) -> Result<(Vec<Product>, i64), CatalogError> {
    let (limit, offset) = (i64::from(page.limit()), page.offset());
    reading
        .run(async |sql| {
            let (mut found, counted) = table::newest(sql, merchant, limit, offset).await?;
            set_current_prices(sql, found.iter_mut()).await?;
            // The store's count is a few seconds old and may be lower than the rows of this page show.
            let seen = offset.saturating_add(i64::try_from(found.len()).unwrap_or(0));
            let total = if found.is_empty() && offset > 0 {
                // A page beyond the end carries no total.
                table::newest(sql, merchant, 1, 0).await?.1
            } else {
                counted.max(seen)
            };
            Ok((found, total))
        })
        .await
}

/// A page of the largest reductions of all stores.
#[derive(Debug)]
pub struct Deals {
    /// The largest reduction first.
    pub products: Vec<(MerchantId, ProductId)>,
    pub total: i64,
    /// Whether there are more than were counted.
    pub total_is_estimate: bool,
}

/// Returns a page of reductions of at least this many percent, of stores that accept agent checkouts.
pub async fn deals(
    database: &Database,
    percent_min: f64,
    page: PageRequest,
) -> Result<Deals, CatalogError> {
    let share_max = 1.0 - percent_min.clamp(0.0, 100.0) / 100.0;
    let score_min = merchants::AGENT_THRESHOLD;
    let (limit, offset) = (i64::from(page.limit()), page.offset());
    Reading::for_platform(database)
        .run(async |sql| {
            let found =
                table::deals(sql, share_max, score_min, DEALS_BUDGET, limit, offset).await?;
            let mut total = found.first().map_or(0, |deal| deal.total);
            if found.is_empty() && offset > 0 {
                // A page beyond the end carries no total.
                let first = table::deals(sql, share_max, score_min, DEALS_BUDGET, 1, 0).await?;
                total = first.first().map_or(0, |deal| deal.total);
            }
            let products =
                found.into_iter().map(|deal| (deal.merchant_id, deal.product_id)).collect();
            Ok(Deals { products, total, total_is_estimate: total >= DEALS_BUDGET })
        })
        .await
}

/// An entry of the price history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastPrice {
    /// `None` for the product as a whole.
    pub variant: Option<VariantId>,
    pub price: Money,
    /// Price before the reduction, as stated by the merchant.
    pub list_price_minor: Option<i64>,
    /// When the price began to apply.
    pub at: Timestamp,
}

/// Returns the price history of a product, the newest price first.
pub async fn price_history(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
    limit: i64,
) -> Result<Vec<PastPrice>, CatalogError> {
    reading.run(async |sql| Ok(table::prices(sql, merchant, id, limit).await?)).await
}

/// Returns the prices of a product within a period up to now, and the lowest of the last 30 days.
pub async fn recent_prices(
    reading: &Reading,
    merchant: MerchantId,
    product: &Product,
    period: Duration,
) -> Result<RecentPrices, CatalogError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let past = table::prices(sql, merchant, product.id, PRICES_MAX).await?;
            Ok(RecentPrices::of(product, past, now.minus(period), now.minus(MONTH)))
        })
        .await
}

/// Returns the newest reviews of a product.
pub async fn reviews(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
    limit: i64,
) -> Result<Vec<Review>, CatalogError> {
    reading.run(async |sql| Ok(table::reviews(sql, merchant, id, limit).await?)).await
}

/// Returns the category tree of a store, or the children of one category, given by path or id. The counts are of products
/// that agents can see.
pub async fn categories(
    reading: &Reading,
    merchant: MerchantId,
    parent: Option<&str>,
) -> Result<Vec<CategoryNode>, CatalogError> {
    let categories: Result<Vec<_>, CatalogError> =
        reading.run(async |sql| Ok(table::categories(sql, merchant).await?)).await;
    let roots = tree(categories?);
    let Some(path) = parent else { return Ok(with_products(roots)) };
    let listed = roots.iter().filter(|node| node.product_count > 0);
    let allowed = listed.map(|node| node.category.path.clone()).collect();
    let found = node(roots, path).ok_or(CatalogError::CategoryNotFound { allowed })?;
    Ok(with_products(found.children))
}

/// Leaves out the categories without products: their products were retired or moved.
fn with_products(nodes: Vec<CategoryNode>) -> Vec<CategoryNode> {
    let nodes = nodes.into_iter().filter(|node| node.product_count > 0);
    nodes.map(|node| CategoryNode { children: with_products(node.children), ..node }).collect()
}

/// Returns the node with a path or an id.
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
