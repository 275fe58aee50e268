//! A product as a merchant sends it, before it is checked. The REST API, NDJSON and every feed format produce drafts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use primitives::Amount;

/// Memory of an entry of a list or map, beside its text.
const ENTRY_BYTES: usize = 100;

/// A product to create or replace. A draft is always complete: a field that is left out is removed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = Self::example()))]
pub struct ProductDraft {
    /// The merchant's identifier of the product. Stable: it identifies the product in every later import.
    #[schemars(length(min = 1, max = 100))]
    pub external_id: String,
    /// SKU. Default: the external id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sku: Option<String>,
    /// Product name. Required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Description. Markup is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Brand or manufacturer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brand: Option<String>,
    /// GTIN (the number of the bar code): 8, 12, 13 or 14 digits with a valid check digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// Manufacturer part number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpn: Option<String>,
    /// Product page in the merchant's shop, http or https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Category names from the top level down: `["Home & Kitchen", "Coffee"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub category: Vec<String>,
    /// `new`, `refurbished` or `used`. Default: `new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Price. Required, unless every variant has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amount>,
    /// Currency of every amount of this product: ISO 4217 or USDC. Default: the store's currency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Price before a reduction. Ignored unless it is higher than the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<Amount>,
    /// Price during a sale: below the price. Without a period it applies until it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_price: Option<Amount>,
    /// When the sale begins, RFC 3339. Default: it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_starts_at: Option<String>,
    /// When the sale ends, RFC 3339; from then on the price applies again. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_ends_at: Option<String>,
    /// Stock status. Default: follows from the quantity, or `unknown` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_status: Option<String>,
    /// Units in stock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_quantity: Option<i64>,
    /// Images, the main image first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageDraft>,
    /// Further attributes, such as material or capacity.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Rating as stated by the merchant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<RatingDraft>,
    /// Reviews as passed on by the merchant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewDraft>,
    /// Policies of this product that differ from the store's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<PolicyDraft>,
    /// Variants; empty if the product has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantDraft>,
    /// When the merchant first listed the product, RFC 3339. Default: the time of the first import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed_at: Option<String>,
}

impl ProductDraft {
    /// Returns a valid draft for documentation.
    #[must_use]
    pub fn example() -> Value {
        json!({
            "external_id": "MUG-1",
            "name": "A mug",
            "description": "Holds 300 ml and goes into the dishwasher.",
            "brand": "Salgueira",
            "gtin": "9520000000004",
            "url": "https://shop.example/mug",
            "category": ["Home & Kitchen", "Mugs"],
            "price": 12.5,
            "list_price": "15.00",
            "stock_quantity": 3,
            "images": [{ "url": "https://shop.example/mug.jpg", "alt": "The mug" }],
            "attributes": { "material": "stoneware" },
        })
    }

    /// Returns about how much memory the draft takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let pairs = |pairs: &BTreeMap<String, String>| -> usize {
            pairs.iter().map(|(name, value)| ENTRY_BYTES + name.len() + value.len()).sum()
        };
        let own = [&self.sku, &self.name, &self.description, &self.brand, &self.gtin, &self.mpn];
        let images =
            self.images.iter().map(|image| ENTRY_BYTES + image.url.len() + text(&image.alt));
        let reviews = self.reviews.iter().map(|review| {
            ENTRY_BYTES + text(&review.title) + text(&review.text) + text(&review.author)
        });
        let variants = self.variants.iter().map(|variant| {
            let own = [&variant.name, &variant.gtin, &variant.image].map(text);
            size_of::<VariantDraft>() + own.iter().sum::<usize>() + pairs(&variant.options)
        });
        size_of::<Self>()
            + self.external_id.len()
            + own.map(text).iter().sum::<usize>()
            + text(&self.url)
            + self.category.iter().map(|name| ENTRY_BYTES + name.len()).sum::<usize>()
            + pairs(&self.attributes)
            + images.chain(reviews).chain(variants).sum::<usize>()
    }

    /// Adds the variants and images of another row of the same product.
    pub(crate) fn merge(&mut self, other: Self) {
        self.variants.extend(other.variants);
        for image in other.images {
            if !self.images.contains(&image) {
                self.images.push(image);
            }
        }
    }
}

/// A sale as sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SaleDraft<'draft> {
    pub(crate) price: Option<&'draft Amount>,
    pub(crate) starts_at: Option<&'draft str>,
    pub(crate) ends_at: Option<&'draft str>,
}

impl SaleDraft<'_> {
    /// Returns this sale, or the other one if there is none.
    pub(crate) fn or(self, other: Self) -> Self {
        if self.price.is_some() { self } else { other }
    }
}

impl ProductDraft {
    pub(crate) fn sale(&self) -> SaleDraft<'_> {
        SaleDraft {
            price: self.sale_price.as_ref(),
            starts_at: self.sale_starts_at.as_deref(),
            ends_at: self.sale_ends_at.as_deref(),
        }
    }
}

impl VariantDraft {
    pub(crate) fn sale(&self) -> SaleDraft<'_> {
        SaleDraft {
            price: self.sale_price.as_ref(),
            starts_at: self.sale_starts_at.as_deref(),
            ends_at: self.sale_ends_at.as_deref(),
        }
    }
}

/// A variant of a product.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VariantDraft {
    /// SKU; unique within the product.
    #[schemars(length(min = 1, max = 100))]
    pub sku: String,
    /// Variant name. Default: the product's name and the option values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// GTIN (the number of the bar code).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gtin: Option<String>,
    /// Option values that identify the variant, such as size and color.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Price. Default: the product's price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Amount>,
    /// Price before a reduction. Ignored unless it is higher than the price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<Amount>,
    /// Price during a sale: below the price. Without a period it applies until it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_price: Option<Amount>,
    /// When the sale begins, RFC 3339. Default: it has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_starts_at: Option<String>,
    /// When the sale ends, RFC 3339; from then on the price applies again. Default: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_ends_at: Option<String>,
    /// Stock status. Default: follows from the quantity, or `unknown` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_status: Option<String>,
    /// Units in stock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stock_quantity: Option<i64>,
    /// URL of the variant's own image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

/// An image.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImageDraft {
    /// URL of the image, http or https; or the path of a demo picture, which begins with `/demo/images/`.
    pub url: String,
    /// Alternative text. Default: the product's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt: Option<String>,
}

/// A rating as stated by the merchant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RatingDraft {
    /// Average rating, 0 to 5 stars, with at most two decimals.
    pub average: Amount,
    /// Number of ratings.
    pub count: i64,
}

/// A buyer's review as passed on by the merchant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDraft {
    /// The merchant's identifier of the review.
    pub external_id: String,
    /// 1 to 5 stars.
    pub stars: i64,
    /// Headline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Display name of the author, never an email address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When the review was written, RFC 3339.
    pub written_at: String,
}

/// Policies of a product that differ from the store's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyDraft {
    /// Days within which the product can be returned; 0 if it cannot be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// Shortest delivery time in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days_min: Option<i64>,
    /// Longest delivery time in days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_days_max: Option<i64>,
    /// Warranty in months.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i64>,
}
