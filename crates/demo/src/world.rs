//! The demo data as values. A store is read from its data file and the defaults; ids and products are
//! added by `expand`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use merchants::{Policies, Promotion};
use serde::Deserialize;
use uuid::{Uuid, uuid};

use crate::expand;

/// Slug of the public, read-only store that needs no credential (docs/contract/overview.md#demo-store).
pub const DEMO_STORE: &str = "demo-store";

/// The first product of the demo store, for documentation: always in stock, with variants.
pub const FIRST_PRODUCT: Uuid = uuid!("076c313f-7c63-513c-9eb9-f8f3fff08813");

/// Namespace of all ids, which are name-based and therefore the same on every machine.
const NAMESPACE: Uuid = uuid!("5b1f3c0e-8d42-5a77-9c36-0e4d7a91b2f8");

static WORLD: LazyLock<World> = LazyLock::new(|| match expand::world() {
    Ok(world) => world,
    Err(error) => panic!("invalid demo data: {error}"),
});

/// Returns all stores with their products; the same value every time.
///
/// # Panics
///
/// If a data file is invalid.
#[must_use]
pub fn world() -> World {
    WORLD.clone()
}

/// Returns the id of the record with this name, such as `product/demo-store/POUR-101`.
pub(crate) fn id(name: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// All stores of the demo data.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The demo store first, then by descending trust score.
    pub stores: Vec<Store>,
}

impl World {
    /// Returns the store with this slug.
    #[must_use]
    pub fn store(&self, slug: &str) -> Option<&Store> {
        self.stores.iter().find(|store| store.slug == slug)
    }

    /// Returns the product that examples use; its id is [`FIRST_PRODUCT`].
    #[must_use]
    pub fn first_product(&self) -> Option<&Product> {
        self.store(DEMO_STORE).and_then(|store| store.products.first())
    }
}

/// A store with its score, policies and catalog.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// Version 5, of `store/<slug>`.
    #[serde(skip)]
    pub id: Uuid,
    pub slug: String,
    pub name: String,
    pub legal_name: String,
    pub description: String,
    /// Under `.example`.
    pub website_url: String,
    /// `shopify`, `woocommerce`, `medusa`, `magento`, `prestashop` or `api`.
    pub platform: String,
    pub active: bool,
    /// ISO 3166-1 alpha-2.
    pub country: String,
    /// Single product lines may have another currency.
    pub currency: String,
    /// ISO 639-1, the main language first.
    pub languages: Vec<String>,
    /// ISO 3166-1 alpha-2.
    pub ships_to: Vec<String>,
    pub support_email: String,
    /// The score that follows from its catalog, policies and purchases, to two decimals; `None` for a store that joins when it is
    /// seeded.
    pub trust_score: Option<f64>,
    /// Whether the score is based on fewer than twenty delivered orders.
    pub provisional: bool,
    /// What agents buy there; `None`: nothing yet.
    pub purchases: Option<Purchases>,
    /// Whether the store passes on reviews of its rated products.
    pub has_reviews: bool,
    /// 0: since it was seeded first.
    pub member_since_days_ago: u32,
    pub last_sync_minutes_ago: u32,
    pub identity: Identity,
    pub policies: Policies,
    /// Without start and end.
    #[serde(default)]
    pub promotions: Vec<Promotion>,
    /// Every parent before its children.
    pub categories: Vec<Category>,
    #[serde(skip)]
    pub products: Vec<Product>,
}

/// Purchases of agents at a store. All numbers but the first and the last are per hundred purchases.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purchases {
    /// In thirty days.
    pub per_month: u32,
    /// Checkouts that are started on the day of a purchase and not completed.
    pub unfinished: u32,
    /// Orders that the store cancels as out of stock.
    pub out_of_stock: u32,
    /// Orders that are delivered later than promised.
    pub late: u32,
    /// Checkouts for which the store first reports another amount than the approved one.
    pub overcharged: u32,
    /// Orders with a dispute that is decided for the buyer.
    pub disputed: u32,
    /// Days before now without purchases.
    #[serde(default)]
    pub quiet_days: u32,
}

/// Identity verification of a merchant.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// `unverified`, `pending`, `verified` or `failed`.
    pub status: String,
    /// `basic`, `business` or `extended`.
    pub level: Option<String>,
    pub method: Option<String>,
    pub verified_days_ago: Option<u32>,
}

/// A category of a store.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Version 5, of `category/<slug>/<path>`.
    #[serde(skip)]
    pub id: Uuid,
    /// Such as `home-kitchen/coffee`.
    pub path: String,
    pub name: String,
    /// Path of the parent category; `None` at the top level.
    #[serde(skip)]
    pub parent: Option<String>,
}

/// A product of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct Product {
    /// Version 5, of `product/<slug>/<sku>`.
    pub id: Uuid,
    pub sku: String,
    /// Unique within the store.
    pub name: String,
    pub description: String,
    pub brand: String,
    /// An EAN-13; the same article has the same GTIN in every store.
    pub gtin: Option<String>,
    /// Path of the category.
    pub category: String,
    /// `new`, `refurbished` or `used`.
    pub condition: String,
    /// Price of the cheapest variant, in minor units of the currency.
    pub price_minor: i64,
    /// `USD`, `EUR` or `USDC`, or a currency whose products are not shown to agents.
    pub currency: String,
    /// Price before a reduction.
    pub list_price_minor: Option<i64>,
    /// `in_stock`, `low_stock`, `out_of_stock`, `backorder`, `preorder` or `discontinued`.
    pub stock_status: &'static str,
    /// Sum over all variants; `None` if the store states no quantity.
    pub stock_quantity: Option<i32>,
    pub rating: Option<Rating>,
    pub attributes: BTreeMap<String, String>,
    /// The main image first.
    pub images: Vec<Image>,
    /// Empty for a product without options.
    pub variants: Vec<Variant>,
    pub created_days_ago: u32,
}

/// The average rating of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// From 0 to 500: 465 is 4.65 stars.
    pub average_hundredths: u16,
    pub count: u32,
}

/// An image of a product, served by Souk itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Such as `/demo/images/demo-store/POUR-101.svg`.
    pub path: String,
    pub alt: String,
}

/// A variant of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Version 5, of `variant/<slug>/<sku>`.
    pub id: Uuid,
    pub sku: String,
    pub name: String,
    pub gtin: Option<String>,
    /// Name and value of each option, in the order of the options.
    pub options: Vec<(String, String)>,
    /// In minor units of the product's currency.
    pub price_minor: i64,
    /// As for the product.
    pub stock_status: &'static str,
    /// `None` if the store states no quantity.
    pub stock_quantity: Option<i32>,
}
