//! The products of a store as its merchant sees them: in any state, with what is stored and why agents do not see one.

use std::fmt;
use std::str::FromStr;

use database::Reading;
use merchants::Store;
use primitives::{Currency, MerchantId, Money, ProductId, Timestamp};

use crate::{CatalogError, Defect, Product, Review, StockStatus, table};

/// Products that are counted; beyond it the total is an estimate.
const COUNT_BUDGET: i64 = 10_000;

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
    pub price: Money,
    pub stock_status: StockStatus,
    /// As the merchant stated it, held units included.
    pub stock_quantity: Option<i32>,
    /// Number of variants.
    pub variants: i64,
    pub updated_at: Timestamp,
    pub retired_at: Option<Timestamp>,
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
pub struct OwnProduct {
    /// Stock is as the merchant stated it, held units included.
    pub product: Product,
    /// Names of its category and of those above, from the top.
    pub category_names: Vec<String>,
    /// The oldest first.
    pub reviews: Vec<Review>,
    pub retired_at: Option<Timestamp>,
}

impl OwnProduct {
    /// Returns why agents do not see the product; `None` if they do.
    #[must_use]
    pub fn hidden(&self, store: &Store) -> Option<HiddenReason> {
        HiddenReason::of(self.retired_at, self.product.facts.price.currency(), store)
    }
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
pub(crate) struct OwnProductsQuery<'cursor> {
    pub(crate) status: Option<OwnProductStatus>,
    pub(crate) changed_since: Option<Timestamp>,
    pub(crate) store_currency: Currency,
    pub(crate) store_hidden: bool,
    /// External id.
    pub(crate) after: Option<&'cursor str>,
}

/// A page of products.
#[derive(Debug)]
pub struct OwnProductsPage {
    /// In the order of their external ids.
    pub products: Vec<OwnProductSummary>,
    pub total: i64,
    /// Whether there are more than were counted.
    pub total_is_estimate: bool,
    /// `None` on the last page.
    pub next: Option<ProductCursor>,
}

/// Returns a page of the products of a store, in any state.
pub async fn own_products(
    reading: &Reading,
    store: &Store,
    filter: OwnProductsFilter,
    after: Option<&ProductCursor>,
    limit: u32,
) -> Result<OwnProductsPage, CatalogError> {
    let query = OwnProductsQuery {
        status: filter.status,
        changed_since: filter.changed_since,
        store_currency: store.currency,
        store_hidden: !store.is_listed(),
        after: after.map(|cursor| cursor.0.as_str()),
    };
    reading
        .run(async |sql| {
            let limit = i64::from(limit);
            let (products, last) = table::own_products(sql, store.merchant, &query, limit).await?;
            let total =
                table::count_own_products(sql, store.merchant, &query, COUNT_BUDGET).await?;
            let (next, total_is_estimate) = (last.map(ProductCursor), total >= COUNT_BUDGET);
            Ok(OwnProductsPage { products, total, total_is_estimate, next })
        })
        .await
}

/// Returns a product of a store in any state, by its external id.
pub async fn own_product(
    reading: &Reading,
    merchant: MerchantId,
    external_id: &str,
) -> Result<OwnProduct, CatalogError> {
    // No stored text contains NUL, and PostgreSQL rejects it as a parameter.
    if external_id.contains('\0') {
        return Err(CatalogError::ProductNotFound);
    }
    let ids = [external_id.to_owned()];
    let found: Result<_, CatalogError> =
        reading.run(async |sql| Ok(table::kept_products(sql, merchant, &ids).await?)).await;
    found?.into_iter().next().ok_or(CatalogError::ProductNotFound)
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
