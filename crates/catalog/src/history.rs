//! What became known of a product over time: the prices it had, and what buyers wrote.

use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{PastPrice, Product, Review};

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

/// What a product cost lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatePrices {
    /// The prices of the product and its variants that held within the span, newest first.
    pub held: Vec<PastPrice>,
    /// The least it cost within the last thirty days, the present price included (EU Omnibus directive).
    pub lowest: Money,
}

impl LatePrices {
    /// Out of all prices a product had, newest first.
    pub(crate) fn of(
        product: &Product,
        past: Vec<PastPrice>,
        since: Timestamp,
        month_ago: Timestamp,
    ) -> Self {
        let lowest = lowest(&past, product.facts.price, month_ago);
        Self { held: held_since(past, since), lowest }
    }
}

/// The lines that held at the moment or later: those since, and of each variant the one before.
fn held_since(past: Vec<PastPrice>, moment: Timestamp) -> Vec<PastPrice> {
    let mut reached_back = Vec::new();
    past.into_iter()
        .filter(|line| {
            if line.at > moment {
                return true;
            }
            let is_first = !reached_back.contains(&line.variant);
            reached_back.push(line.variant);
            is_first
        })
        .collect()
}

/// The least the product as a whole cost since a moment.
fn lowest(past: &[PastPrice], now: Money, since: Timestamp) -> Money {
    let of_product = past.iter().filter(|line| line.variant.is_none()).cloned().collect();
    let same = |line: &PastPrice| (line.price.currency() == now.currency()).then_some(line.price);
    let held = held_since(of_product, since);
    held.iter().filter_map(same).chain([now]).min_by_key(|price| price.minor()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use primitives::Currency;

    use super::*;

    fn line(minor: i64, day: i64) -> PastPrice {
        let at = Timestamp::from_unix_micros(day * 86_400_000_000);
        PastPrice {
            variant: None,
            price: Money::new(minor, Currency::EUR),
            list_price_minor: None,
            at,
        }
    }

    #[test]
    fn the_lowest_price_counts_if_it_still_held_when_the_days_began() {
        let now = Money::new(900, Currency::EUR);
        let past = vec![line(900, 100), line(800, 60), line(500, 40)];
        let since = |day: i64| Timestamp::from_unix_micros(day * 86_400_000_000);
        assert_eq!(lowest(&past, now, since(70)).minor(), 800);
        assert_eq!(lowest(&past, now, since(50)).minor(), 500);
        assert_eq!(lowest(&past, now, since(110)).minor(), 900);
        assert_eq!(held_since(past, since(70)).len(), 2);
    }
}
