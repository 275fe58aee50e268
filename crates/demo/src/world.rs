//! The nouns of the demo world. They hold facts only; how they are stored is not known here.

use uuid::{Uuid, uuid};

use crate::stores;

/// The slug of the public, read-only store that needs no credential (spec §1).
pub const DEMO_STORE: &str = "demo-store";

/// The first product of the demo store, for documentation: always in stock, with variants.
pub const FIRST_PRODUCT: Uuid = uuid!("076c313f-7c63-513c-9eb9-f8f3fff08813");

/// All ids are name-based under this namespace: the same on every machine, for ever.
const NAMESPACE: Uuid = uuid!("5b1f3c0e-8d42-5a77-9c36-0e4d7a91b2f8");

/// The whole demo world; the same value every time.
#[must_use]
pub fn world() -> World {
    World { stores: stores::all() }
}

/// The id of the record with this name, such as `product/demo-store/POUR-101`.
pub(crate) fn id(name: &str) -> Uuid {
    Uuid::new_v5(&NAMESPACE, name.as_bytes())
}

/// Every store there is.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// The demo store first, then the others from the most to the least trusted.
    pub stores: Vec<Store>,
}

impl World {
    /// The store with this slug.
    #[must_use]
    pub fn store(&self, slug: &str) -> Option<&Store> {
        self.stores.iter().find(|store| store.slug == slug)
    }

    /// The product that examples use; its id is [`FIRST_PRODUCT`].
    #[must_use]
    pub fn first_product(&self) -> Option<&Product> {
        self.store(DEMO_STORE).and_then(|store| store.products.first())
    }
}

/// A shop with its standing, its promises and its catalog.
#[derive(Debug, Clone, PartialEq)]
pub struct Store {
    /// Version 5, of `store/<slug>`.
    pub id: Uuid,
    /// The address of the store: letters, digits and hyphens.
    pub slug: &'static str,
    /// The name over the door.
    pub name: &'static str,
    /// The company behind it.
    pub legal_name: &'static str,
    /// What the shop sells, in its own words.
    pub description: &'static str,
    /// Its website, under `.example`.
    pub website_url: &'static str,
    /// One of `shopify`, `woocommerce`, `medusa`, `magento`, `prestashop`, `api`.
    pub platform: &'static str,
    /// Whether the merchant keeps the store open.
    pub active: bool,
    /// Where the company sits, ISO 3166-1 alpha-2.
    pub country: &'static str,
    /// What it charges in; single product lines may differ.
    pub currency: &'static str,
    /// Languages served, ISO 639-1, the main one first.
    pub languages: Vec<&'static str>,
    /// Countries served, ISO 3166-1 alpha-2.
    pub ships_to: Vec<&'static str>,
    /// Where a buyer writes to.
    pub support_email: &'static str,
    /// From 0 to 1; none while there is nothing to score.
    pub trust_score: Option<f64>,
    /// Whether the score rests on fewer than twenty completed orders.
    pub provisional: bool,
    /// What is known about who runs it.
    pub identity: Identity,
    /// What it promises its buyers.
    pub policies: Policies,
    /// When it joined.
    pub member_since_days_ago: u32,
    /// When its catalog last arrived.
    pub last_sync_minutes_ago: u32,
    /// Its tree of categories, every parent before its children.
    pub categories: Vec<Category>,
    /// Everything it lists.
    pub products: Vec<Product>,
}

/// The state of a merchant's identity verification.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// One of `unverified`, `pending`, `verified`, `failed`.
    pub status: &'static str,
    /// How deep the check went: `basic`, `business` or `extended`.
    pub level: Option<&'static str>,
    /// How it was checked.
    pub method: Option<&'static str>,
    /// When it was last verified.
    pub verified_days_ago: Option<u32>,
}

/// What a shop promises; a missing promise is missing, not zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Policies {
    /// Days in which goods may come back; zero means never.
    pub return_window_days: Option<u16>,
    /// From this order amount on, shipping is free; in the store's currency.
    pub free_shipping_threshold_minor: Option<i64>,
    /// The fastest and the slowest usual delivery, in days.
    pub shipping_days: Option<(u8, u8)>,
    /// Returns, in a sentence.
    pub return_summary: Option<&'static str>,
    /// Shipping, in a sentence.
    pub shipping_summary: Option<&'static str>,
    /// The page with the privacy notice.
    pub privacy_url: Option<&'static str>,
    /// The page with the terms of sale.
    pub terms_url: Option<&'static str>,
    /// Warranty on everything sold.
    pub warranty_months: Option<u16>,
}

/// A shelf of one store.
#[derive(Debug, Clone, PartialEq)]
pub struct Category {
    /// Version 5, of `category/<slug>/<path>`.
    pub id: Uuid,
    /// Its place in the tree, such as `home-kitchen/coffee`.
    pub path: String,
    /// What the shelf is called.
    pub name: &'static str,
    /// The path one level up.
    pub parent: Option<String>,
}

/// Something one store sells.
#[derive(Debug, Clone, PartialEq)]
pub struct Product {
    /// Version 5, of `product/<slug>/<sku>`.
    pub id: Uuid,
    /// The merchant's own number for it.
    pub sku: String,
    /// What it is called; unique within its store.
    pub name: &'static str,
    /// One to four plain sentences.
    pub description: String,
    /// Who makes it.
    pub brand: &'static str,
    /// An EAN-13, the same in every store that sells the same article.
    pub gtin: Option<String>,
    /// The path of its category.
    pub category: String,
    /// One of `new`, `refurbished`, `used`.
    pub condition: &'static str,
    /// The price of the cheapest variant, in minor units of the currency.
    pub price_minor: i64,
    /// `USD`, `EUR`, `USDC`, or one that agents are not shown.
    pub currency: &'static str,
    /// The price before a reduction.
    pub list_price_minor: Option<i64>,
    /// One of `in_stock`, `low_stock`, `out_of_stock`, `backorder`, `preorder`, `discontinued`.
    pub stock_status: &'static str,
    /// How many there are, all variants together, where the shop says so.
    pub stock_quantity: Option<i32>,
    /// What buyers think.
    pub rating: Option<Rating>,
    /// Facts such as material, capacity and weight.
    pub attributes: Vec<(String, String)>,
    /// Pictures, the main one first.
    pub images: Vec<Image>,
    /// The forms it comes in; empty when there is one.
    pub variants: Vec<Variant>,
    /// When it was first listed.
    pub created_days_ago: u32,
}

/// The average of all ratings of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Rating {
    /// From 0 to 500: 465 is 4.65 stars.
    pub average_hundredths: u16,
    /// How many people rated.
    pub count: u32,
}

/// A picture of a product.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// Where it is served, such as `/demo/images/demo-store/POUR-101.svg`.
    pub path: String,
    /// What it shows.
    pub alt: String,
}

/// One form of a product: a size, a colour, a weight.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Version 5, of `variant/<slug>/<sku>`.
    pub id: Uuid,
    /// The merchant's own number for it.
    pub sku: String,
    /// The product and its options in words.
    pub name: String,
    /// Its own EAN-13.
    pub gtin: Option<String>,
    /// What was chosen on each axis.
    pub options: Vec<(String, String)>,
    /// In minor units of the product's currency.
    pub price_minor: i64,
    /// As for the product.
    pub stock_status: &'static str,
    /// How many there are, where the shop says so.
    pub stock_quantity: Option<i32>,
}
