//! The product record (docs/contract/products.md#product-record). Unknown fields are left out, to save tokens.

use std::collections::BTreeMap;

use merchants::{Band, PolicyRecord, Store};
use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Condition, Product, ProductPolicies, StockStatus, Variant};

/// A product in API responses.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProductRecord {
    /// Product identifier.
    pub id: ProductId,
    /// Product name.
    pub name: String,
    /// Description by the merchant.
    pub description: String,
    /// Price as a decimal amount.
    pub price: f64,
    /// Currency of all amounts of this product.
    pub currency: String,
    /// Stock status.
    pub stock_status: StockStatus,
    /// The store that sells the product.
    pub merchant: MerchantRecord,
    /// Return, shipping and warranty policies.
    pub policies: PolicyRecord,
    /// The merchant's SKU.
    pub sku: String,
    /// Brand or manufacturer; may be empty.
    pub brand: String,
    /// GTIN (the number of the bar code).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// Manufacturer part number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpn: Option<String>,
    /// Product page in the merchant's shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Category in the store's tree.
    pub category: CategoryRecord,
    /// Condition.
    pub condition: Condition,
    /// Price before a reduction; absent if the price is not reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Units available; absent if the merchant states no quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// Rating as stated by the merchant, unverified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingRecord>,
    /// Further attributes, such as material or capacity.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Images, the main image first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageRecord>,
    /// Variants; absent if the product has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantRecord>,
    /// When the merchant first listed the product.
    pub listed_at: Timestamp,
    /// When the product last changed.
    pub updated_at: Timestamp,
}

/// The store of a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MerchantRecord {
    /// Store slug.
    pub slug: String,
    /// Trust score, 0 to 1; null while the store has no score.
    pub trust_score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    pub verification_level: Option<Band>,
}

/// The category of a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CategoryRecord {
    /// Path from the root, such as `home-kitchen/coffee`.
    pub path: String,
    /// Category name.
    pub name: String,
}

/// A rating and its source.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RatingRecord {
    /// Average rating, 0 to 5 stars.
    pub average: f64,
    /// Number of ratings.
    pub count: i64,
    /// Source of the rating: `merchant`, unverified.
    pub source: &'static str,
}

/// An image.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImageRecord {
    /// URL of the image.
    pub url: String,
    /// Alternative text.
    pub alt: String,
}

/// A variant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VariantRecord {
    /// Variant identifier.
    pub id: VariantId,
    /// The merchant's SKU.
    pub sku: String,
    /// Variant name.
    pub name: String,
    /// Option values that identify the variant, such as size and color.
    pub options: BTreeMap<String, String>,
    /// Price as a decimal amount.
    pub price: f64,
    /// Price before a reduction; absent if the price is not reduced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Stock status.
    pub stock_status: StockStatus,
    /// Units available; absent if the merchant states no quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// URL of the variant's own image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// GTIN (the number of the bar code).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
}

impl Product {
    /// Returns the record. `site_url` is the public URL of this service, which serves images with relative URLs.
    #[must_use]
    pub fn record(&self, store: &Store, site_url: &str) -> ProductRecord {
        let facts = &self.facts;
        let currency = facts.price.currency();
        ProductRecord {
            id: self.id,
            name: facts.name.clone(),
            description: facts.description.clone(),
            price: facts.price.to_decimal(),
            currency: currency.to_string(),
            stock_status: facts.stock_status,
            merchant: MerchantRecord::of(store),
            policies: facts.policies.record(store),
            sku: facts.sku.clone(),
            brand: facts.brand.clone(),
            gtin: facts.gtin.clone(),
            mpn: facts.mpn.clone(),
            url: facts.url.clone(),
            category: CategoryRecord {
                path: self.category.path.clone(),
                name: self.category.name.clone(),
            },
            condition: facts.condition,
            list_price: facts
                .list_price_minor
                .map(|minor| Money::new(minor, currency).to_decimal()),
            available_quantity: facts.stock_quantity.map(i64::from),
            rating: facts.rating.map(|rating| RatingRecord {
                average: f64::from(rating.hundredths) / 100.0,
                count: i64::from(rating.count),
                source: "merchant",
            }),
            attributes: facts.attributes.clone(),
            images: self.image_records(site_url),
            variants: self.variants.iter().map(Variant::record).collect(),
            listed_at: self.listed_at,
            updated_at: self.updated_at,
        }
    }

    fn image_records(&self, site_url: &str) -> Vec<ImageRecord> {
        let record = |image: &crate::Image| {
            let base = if image.url.starts_with('/') { site_url } else { "" };
            ImageRecord { url: format!("{base}{}", image.url), alt: image.alt.clone() }
        };
        self.facts.images.iter().map(record).collect()
    }
}

impl MerchantRecord {
    /// Returns the merchant part of a record.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self {
            slug: store.slug.to_string(),
            trust_score: store.standing.score,
            verification_level: store.standing.band(),
        }
    }
}

impl ProductPolicies {
    /// Returns the store's policies with the overrides of this product.
    #[must_use]
    pub fn record(&self, store: &Store) -> PolicyRecord {
        let mut record = store.policy_record();
        if let Some(days) = self.return_window_days {
            record.return_window_days = Some(i64::from(days));
        }
        if let Some((least, most)) = self.shipping_days {
            record.shipping_estimate_days = Some(format!("{least}-{most}"));
        }
        if let Some(months) = self.warranty_months {
            record.warranty_months = Some(i64::from(months));
        }
        record
    }
}

impl Variant {
    fn record(&self) -> VariantRecord {
        VariantRecord {
            id: self.id,
            sku: self.facts.sku.clone(),
            name: self.facts.name.clone(),
            options: self.facts.options.clone(),
            price: self.facts.price.to_decimal(),
            list_price: self
                .facts
                .list_price_minor
                .map(|minor| Money::new(minor, self.facts.price.currency()).to_decimal()),
            image: self.facts.image.clone(),
            stock_status: self.facts.stock_status,
            available_quantity: self.facts.stock_quantity.map(i64::from),
            gtin: self.facts.gtin.clone(),
        }
    }
}
