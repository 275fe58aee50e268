//! The product record of spec §2.2, with its documented extras. Shaped for a model's context: what is
//! not known is left out.

use std::collections::BTreeMap;

use merchants::{Band, PolicyRecord, Store};
use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Condition, Product, ProductPolicies, StockStatus, Variant};

/// A product, as every door serves it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProductRecord {
    /// Product identifier.
    pub id: ProductId,
    /// What it is called.
    pub name: String,
    /// What it is, in the merchant's words.
    pub description: String,
    /// Decimal amount.
    pub price: f64,
    /// Currency of all amounts of this product.
    pub currency: String,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// Who sells it.
    pub merchant: MerchantRecord,
    /// What the merchant promises.
    pub policies: PolicyRecord,
    /// The merchant's own number.
    pub sku: String,
    /// Who makes it.
    pub brand: String,
    /// The number on the bar code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// The maker's own number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpn: Option<String>,
    /// Its page in the merchant's shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where it stands in the store's tree.
    pub category: CategoryRecord,
    /// New or not.
    pub condition: Condition,
    /// The price before, if it is lower now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// How it is rated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingRecord>,
    /// Further facts.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Pictures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageRecord>,
    /// Buyable forms.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantRecord>,
    /// When the merchant first listed it.
    pub listed_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// The merchant, as a product shows it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MerchantRecord {
    /// Store slug.
    pub slug: String,
    /// Trust score, 0 to 1; null while the store is unscored.
    pub trust_score: Option<f64>,
    /// The trust label.
    pub verification_level: Option<Band>,
}

/// A place in the store's tree.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CategoryRecord {
    /// The way from the root.
    pub path: String,
    /// What it is called.
    pub name: String,
}

/// A rating and where it comes from.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RatingRecord {
    /// Stars, 0 to 5.
    pub average: f64,
    /// How many rated.
    pub count: i64,
    /// Who says so: `merchant`, unverified.
    pub source: &'static str,
}

/// A picture.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImageRecord {
    /// Where it is.
    pub url: String,
    /// What it shows.
    pub alt: String,
}

/// A buyable form.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct VariantRecord {
    /// Variant identifier.
    pub id: VariantId,
    /// The merchant's own number.
    pub sku: String,
    /// What it is called.
    pub name: String,
    /// What sets it apart.
    pub options: BTreeMap<String, String>,
    /// Decimal amount.
    pub price: f64,
    /// The price before, if it is lower now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_quantity: Option<i64>,
    /// Its own picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The number on the bar code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
}

impl Product {
    /// The record. `site_url` is where this service is reached; pictures of ours lie there.
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
    /// The part of a record that says who sells it.
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
    /// What the store promises, and where this product differs.
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
