//! The short form of a product in a list (docs/contract/products.md#product-card): the record without the fields that
//! matter only for a selected product.

use merchants::Band;
use primitives::ProductId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ProductRecord, StockStatus};

/// Characters of the description in a card.
const DESCRIPTION_MAX: usize = 160;

/// A product in a list. `get_product_details` returns the full record.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProductCard {
    /// Product identifier.
    pub id: ProductId,
    /// Product name.
    pub name: String,
    /// Beginning of the description; `get_product_details` returns all of it.
    pub description: String,
    /// Price as a decimal amount.
    pub price: f64,
    /// Currency of all amounts.
    pub currency: String,
    /// Price before a reduction; absent if the product is not reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Stock status.
    pub stock_status: StockStatus,
    /// Brand or manufacturer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub brand: String,
    /// Rating as stated by the merchant, unverified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<CardRating>,
    /// The store that sells the product.
    pub merchant: CardMerchant,
    /// Return and shipping policies.
    pub policies: CardPolicies,
}

/// Rating of a product.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CardRating {
    /// Average rating, 0 to 5 stars.
    pub average: f64,
    /// Number of ratings.
    pub count: i64,
}

/// The store that sells a product.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CardMerchant {
    /// Store slug.
    pub slug: String,
    /// Trust score, 0 to 1; absent while the store has no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_score: Option<f64>,
    /// Trust band of the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_level: Option<Band>,
}

/// Return and shipping policies of a product, as numbers.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CardPolicies {
    /// Days within which the product can be returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// Order amount above which shipping is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_shipping_threshold: Option<f64>,
    /// Delivery time in days, `<min>-<max>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_estimate_days: Option<String>,
}

impl ProductCard {
    /// Returns the card of a product record in JSON.
    pub fn of_record(record: &str) -> serde_json::Result<Self> {
        let mut card: Self = serde_json::from_str(record)?;
        shorten(&mut card.description);
        Ok(card)
    }
}

impl From<ProductRecord> for ProductCard {
    fn from(record: ProductRecord) -> Self {
        let rating = record.rating;
        let mut description = record.description;
        shorten(&mut description);
        Self {
            id: record.id,
            name: record.name,
            description,
            price: record.price,
            currency: record.currency,
            list_price: record.list_price,
            stock_status: record.stock_status,
            brand: record.brand,
            rating: rating
                .map(|rating| CardRating { average: rating.average, count: rating.count }),
            merchant: CardMerchant {
                slug: record.merchant.slug,
                trust_score: record.merchant.trust_score,
                verification_level: record.merchant.verification_level,
            },
            policies: CardPolicies {
                return_window_days: record.policies.return_window_days,
                free_shipping_threshold: record.policies.free_shipping_threshold,
                shipping_estimate_days: record.policies.shipping_estimate_days,
            },
        }
    }
}

/// Truncates a text at the last space before the limit and appends an ellipsis.
fn shorten(text: &mut String) {
    let Some((end, _)) = text.char_indices().nth(DESCRIPTION_MAX) else { return };
    let end = text[..end].rfind(char::is_whitespace).unwrap_or(end);
    text.truncate(end);
    text.push('…');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_description_is_truncated_at_a_word() {
        let shortened = |text: &str| {
            let mut text = text.to_owned();
            shorten(&mut text);
            text
        };
        assert_eq!(shortened("A mug."), "A mug.");
        let words = "mug ".repeat(60);
        assert_eq!(shortened(&words), format!("{}…", "mug ".repeat(40).trim_end()));
        assert_eq!(shortened(&"ß".repeat(161)), format!("{}…", "ß".repeat(160)));
    }
}
