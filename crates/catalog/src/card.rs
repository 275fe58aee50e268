//! What a model needs of a product among others: the record of spec §2.2 without what only somebody
//! wants who has chosen it.

use merchants::Band;
use primitives::ProductId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ProductRecord, StockStatus};

/// Characters of a description that a card shows.
const DESCRIPTION_MAX: usize = 160;

/// A product in a list. `get_product_details` has everything about it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ProductCard {
    /// Product identifier.
    pub id: ProductId,
    /// What it is called.
    pub name: String,
    /// The beginning of its description; `get_product_details` has all of it.
    pub description: String,
    /// Decimal amount.
    pub price: f64,
    /// Currency of all amounts.
    pub currency: String,
    /// The price before, if it is lower now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Whether it can be had.
    pub stock_status: StockStatus,
    /// Who makes it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub brand: String,
    /// Average rating, 0 to 5, as the merchant says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<CardRating>,
    /// Who sells it.
    pub merchant: CardMerchant,
    /// What the merchant promises.
    pub policies: CardPolicies,
}

/// How it is rated.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CardRating {
    /// Stars, 0 to 5.
    pub average: f64,
    /// How many rated.
    pub count: i64,
}

/// Who sells it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CardMerchant {
    /// Store slug.
    pub slug: String,
    /// Trust score, 0 to 1; left out while the store is unscored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_score: Option<f64>,
    /// The trust label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification_level: Option<Band>,
}

/// What the merchant promises, in figures.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct CardPolicies {
    /// Days to return in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// Order amount above which shipping is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_shipping_threshold: Option<f64>,
    /// A range of days, `<min>-<max>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping_estimate_days: Option<String>,
}

impl ProductCard {
    /// The card of a record that is JSON.
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

/// Cuts a text at the last blank before the limit, and says so by an ellipsis.
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
    fn long_text_ends_at_a_word() {
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
