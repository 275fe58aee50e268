//! The products of a store as its merchant sees them: in any state, with what is stored and why agents do not see one.

use std::fmt;
use std::str::FromStr;

use database::{Reading, Snapshot};
use merchants::Store;
use primitives::{Currency, MerchantId, Money, ProductId, Timestamp};

use crate::sale::set_current_prices;
use crate::{CatalogError, Defect, Product, Review, StockStatus, table};

/// Products that are counted; beyond it the total is an estimate.
const COUNT_BUDGET: i64 = 10_000;
/// Products read at once for their current prices. One has up to some megabytes.
const PRICES_AT_ONCE: usize = 10;
/// Products that a call examines for a page, and as many for the total.
const EXAMINED_MAX: i64 = 200_000;
/// The same if the defects of each product have to be found.
const EXAMINED_FOR_DEFECTS_MAX: i64 = 10_000;

primitives::text_enum! {
    /// Which products of a store are listed.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum OwnProductStatus {
        /// Agents see the product.
        Listed,
        /// Agents do not see the product.
        Hidden,
        /// The product is not retired and has defects, as in `GET /merchant/quality`.
        Failing,
    }
}

impl OwnProductStatus {
    /// Returns `Hidden` if there is a reason why agents do not see a product, else `Listed`.
    #[must_use]
    pub const fn of(hidden: Option<HiddenReason>) -> Self {
        if hidden.is_some() { Self::Hidden } else { Self::Listed }
    }
}

primitives::text_enum! {
    /// Why agents do not see a product.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum HiddenReason {
        /// The product was retired, by a call or by a replacement of the catalog that did not contain it.
        Retired,
        /// Agents cannot pay in the currency of the product.
        UnsupportedCurrency,
        /// The store is not active, or it is suspended, paused or closed.
        StoreUnavailable,
    }
}

impl HiddenReason {
    /// Returns the sentence that people read.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::Retired => {
                "The product is retired: it was deleted, or a replacement of the catalog did not contain it. Send it again to list it."
            }
            Self::UnsupportedCurrency => {
                "Agents cannot pay in the currency of the product. Send it with a price in USD, EUR or USDC."
            }
            Self::StoreUnavailable => {
                "Agents see no product of the store: it is not active, or it is suspended, paused or closed."
            }
        }
    }

    /// Returns why a product with these properties is hidden; `None` if agents see it.
    fn of(retired_at: Option<Timestamp>, currency: Currency, store: &Store) -> Option<Self> {
        if retired_at.is_some() {
            Some(Self::Retired)
        } else if !currency.is_supported() {
            Some(Self::UnsupportedCurrency)
        } else if !store.is_listed() {
            Some(Self::StoreUnavailable)
        } else {
            None
        }
    }
}

/// A product in a list of its merchant.
#[derive(Debug, Clone)]
pub struct OwnProductSummary {
    pub id: ProductId,
    pub external_id: String,
    pub sku: String,
    /// Merchant text.
    pub name: String,
    /// Path of its category.
    pub category: String,
    /// The price now; of a product with variants the lowest.
    pub price: Money,
    /// When the price changes next, as stored.
    pub(crate) price_due_at: Option<Timestamp>,
    pub stock_status: StockStatus,
    /// As the merchant stated it, held units included.
    pub stock_quantity: Option<i32>,
    /// Number of variants.
    pub variants: i64,
    pub updated_at: Timestamp,
    pub retired_at: Option<Timestamp>,
    /// None if the product is retired.
    pub defects: Vec<Defect>,
}

impl OwnProductSummary {
    /// Returns why agents do not see the product; `None` if they do.
    #[must_use]
    pub fn hidden(&self, store: &Store) -> Option<HiddenReason> {
        HiddenReason::of(self.retired_at, self.price.currency(), store)
    }
}

/// A product with everything that is stored of it.
#[derive(Debug, Clone)]
pub struct StoredProduct {
    /// Stock is as the merchant stated it, held units included.
    pub product: Product,
    /// Names of its category and of those above, from the top.
    pub category_names: Vec<String>,
    /// The oldest first.
    pub reviews: Vec<Review>,
    pub retired_at: Option<Timestamp>,
}

/// A product of a store, as it is stored and as agents see it.
#[derive(Debug, Clone)]
pub struct OwnProduct {
    pub stored: StoredProduct,
    /// The product that agents see, or why they do not see it.
    pub listed: Result<Product, HiddenReason>,
}

/// Position in a list of products: after the one with this external id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductCursor(String);

impl ProductCursor {
    /// Longest text of a cursor: an external id of 100 characters of at most four bytes, in hexadecimal digits.
    pub const LENGTH_MAX: usize = 800;
}

impl fmt::Display for ProductCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(&self.0))
    }
}

/// The error of a text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor")]
pub struct InvalidCursor;

impl FromStr for ProductCursor {
    type Err = InvalidCursor;
    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        if text.is_empty() || text.len() > Self::LENGTH_MAX {
            return Err(InvalidCursor);
        }
        let id = hex::decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        // PostgreSQL rejects NUL, and no external id contains it.
        id.filter(|id| !id.contains('\0')).map(Self).ok_or(InvalidCursor)
    }
}

/// Selects products of a store.
#[derive(Debug, Clone, Copy)]
pub struct OwnProductsFilter {
    /// `None`: all.
    pub status: Option<OwnProductStatus>,
    /// Only products that changed at this time or later.
    pub changed_since: Option<Timestamp>,
}

/// What the statements need of a filter and its store.
pub(crate) struct OwnProductsQuery {
    pub(crate) merchant: MerchantId,
    pub(crate) status: Option<OwnProductStatus>,
    pub(crate) changed_since: Option<Timestamp>,
    pub(crate) store_hidden: bool,
    pub(crate) examined_max: i64,
}

impl OwnProductsQuery {
    fn new(store: &Store, filter: OwnProductsFilter) -> Self {
        let needs_defects = filter.status == Some(OwnProductStatus::Failing);
        Self {
            merchant: store.merchant,
            status: filter.status,
            changed_since: filter.changed_since,
            store_hidden: !store.is_listed(),
            examined_max: if needs_defects { EXAMINED_FOR_DEFECTS_MAX } else { EXAMINED_MAX },
        }
    }
}

/// A page of products.
#[derive(Debug)]
pub struct OwnProductsPage {
    /// In the order of their external ids. There may be fewer than the limit, or none, also on a page before the last.
    pub products: Vec<OwnProductSummary>,
    pub total: i64,
    /// Whether counting stopped early: there are at least as many.
    pub total_is_estimate: bool,
    /// `None` on the last page.
    pub next: Option<ProductCursor>,
}

/// Returns a page of the products of a store, in any state. A call examines a limited number of products, so that one with
/// few matches among millions ends in time; the next page continues after them.
pub async fn own_products(
    reading: &Reading,
    store: &Store,
    filter: OwnProductsFilter,
    after: Option<&ProductCursor>,
    limit: u32,
) -> Result<OwnProductsPage, CatalogError> {
    let query = OwnProductsQuery::new(store, filter);
    let after = after.map_or("", |cursor| cursor.0.as_str());
    read_page(reading, &query, after, i64::from(limit)).await
}

async fn read_page(
    reading: &Reading,
    query: &OwnProductsQuery,
    after: &str,
    limit: i64,
) -> Result<OwnProductsPage, CatalogError> {
    let (merchant, examined) = (query.merchant, query.examined_max);
    reading
        .run(async |sql| {
            let page = table::own_products(sql, query, after, limit).await?;
            let mut products = page.products;
            set_current_prices_of(sql, merchant, &mut products).await?;
            let next = match page.last {
                Some(last) => Some(last),
                None => table::nth_external_id(sql, merchant, after, examined).await?,
            };
            let total = table::count_own_products(sql, query, COUNT_BUDGET).await?;
            let beyond = table::nth_external_id(sql, merchant, "", examined.saturating_add(1));
            let total_is_estimate = total >= COUNT_BUDGET || beyond.await?.is_some();
            let next = next.map(ProductCursor);
            Ok(OwnProductsPage { products, total, total_is_estimate, next })
        })
        .await
}

/// Sets the prices to those that apply now: a sale may have begun or ended some seconds ago.
async fn set_current_prices_of(
    sql: &mut Snapshot,
    merchant: MerchantId,
    products: &mut [OwnProductSummary],
) -> Result<(), CatalogError> {
    let changing = products.iter().filter(|product| product.price_due_at.is_some());
    let ids: Vec<String> = changing.map(|product| product.external_id.clone()).collect();
    for ids in ids.chunks(PRICES_AT_ONCE) {
        let read = table::products_in_any_state(sql, merchant, ids).await;
        let mut current = match read.map_err(CatalogError::from) {
            Ok(current) => current,
            // The list shows the stored price of a product that cannot be read.
            Err(error) if error.is_unreadable() => continue,
            Err(error) => return Err(error),
        };
        set_current_prices(sql, current.iter_mut()).await?;
        for product in products.iter_mut() {
            if let Some(found) = current.iter().find(|found| found.id == product.id) {
                product.price = found.facts.price;
            }
        }
    }
    Ok(())
}

/// Returns a product of a store in any state, by its external id.
pub async fn own_product(
    reading: &Reading,
    store: &Store,
    external_id: &str,
) -> Result<OwnProduct, CatalogError> {
    // No stored text contains NUL, and PostgreSQL rejects it as a parameter.
    if external_id.contains('\0') {
        return Err(CatalogError::ProductNotFound);
    }
    let (merchant, ids) = (store.merchant, [external_id.to_owned()]);
    reading
        .run(async |sql| {
            // What agents see is of the same row as what is stored, whatever happens to the product meanwhile.
            let mut listed = table::products_in_any_state(sql, merchant, &ids).await?;
            let stored = table::stored_products(sql, merchant, listed.clone()).await?;
            set_current_prices(sql, listed.iter_mut()).await?;
            let (stored, listed) =
                stored.into_iter().zip(listed).next().ok_or(CatalogError::ProductNotFound)?;
            let currency = listed.facts.price.currency();
            let hidden = HiddenReason::of(stored.retired_at, currency, store);
            Ok(OwnProduct { stored, listed: hidden.map_or(Ok(listed), Err) })
        })
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_any_identifier() {
        for id in ["MUG-1", "a&b=c#d", "Ä/ß", "😀", &"x".repeat(100)] {
            let cursor = ProductCursor(id.to_owned());
            assert_eq!(cursor.to_string().parse(), Ok(cursor), "{id}");
        }
        for wrong in ["", "4", "4g", "ff", "00", "é", &"41".repeat(401)] {
            assert_eq!(wrong.parse::<ProductCursor>(), Err(InvalidCursor), "{wrong}");
        }
    }
}
