//! What became known of a product over time: the prices it had, and what buyers wrote.

use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{PastPrice, Review};

/// The prices a product had.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PriceHistory {
    /// The product.
    pub product_id: ProductId,
    /// Newest first.
    pub prices: Vec<PriceRecord>,
}

/// A price, and since when.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PriceRecord {
    /// The variant it was the price of; left out: of the product as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// Decimal amount.
    pub price: f64,
    /// The price before, as the merchant said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Its currency.
    pub currency: String,
    /// Since when.
    pub since: Timestamp,
}

impl From<PastPrice> for PriceRecord {
    fn from(past: PastPrice) -> Self {
        let currency = past.price.currency();
        let decimal = |minor| Money::new(minor, currency).to_decimal();
        Self {
            variant_id: past.variant,
            price: past.price.to_decimal(),
            list_price: past.list_price_minor.map(decimal),
            currency: currency.to_string(),
            since: past.at,
        }
    }
}

/// What buyers wrote about a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reviews {
    /// The product.
    pub product_id: ProductId,
    /// Newest first.
    pub reviews: Vec<ReviewRecord>,
}

/// What a buyer wrote.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReviewRecord {
    /// 1 to 5.
    pub stars: i64,
    /// The headline; empty if there is none.
    pub title: String,
    /// The text; empty if there is none.
    pub text: String,
    /// A name to show; empty if there is none.
    pub author: String,
    /// When it was written.
    pub written_at: Timestamp,
    /// Who vouches for it: `merchant`, unverified.
    pub source: &'static str,
}

impl From<Review> for ReviewRecord {
    fn from(review: Review) -> Self {
        Self {
            stars: i64::from(review.stars),
            title: review.title,
            text: review.text,
            author: review.author,
            written_at: review.written_at,
            source: "merchant",
        }
    }
}
