//! Price history and reviews of a product.

use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{PastPrice, Product, Review};

/// Price history of a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PriceHistory {
    /// Product identifier.
    pub product_id: ProductId,
    /// Prices, the newest first.
    pub prices: Vec<PriceRecord>,
}

/// A price and the time from which it applied.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PriceRecord {
    /// The variant with this price; absent for the product as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant_id: Option<VariantId>,
    /// Price as a decimal amount.
    pub price: f64,
    /// Price before the reduction, as stated by the merchant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_price: Option<f64>,
    /// Currency of the amounts.
    pub currency: String,
    /// When the price began to apply.
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

/// Reviews of a product.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reviews {
    /// Product identifier.
    pub product_id: ProductId,
    /// Reviews, the newest first.
    pub reviews: Vec<ReviewRecord>,
}

/// A review.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReviewRecord {
    /// 1 to 5 stars.
    pub stars: i64,
    /// Headline; may be empty.
    pub title: String,
    /// Text; may be empty.
    pub text: String,
    /// Display name of the author; may be empty.
    pub author: String,
    /// When the review was written.
    pub written_at: Timestamp,
    /// Source of the review: `merchant`, unverified.
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

/// Recent prices of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentPrices {
    /// Prices of the product and its variants that applied within the period, the newest first.
    pub prices: Vec<PastPrice>,
    /// Lowest price of the last 30 days, the current price included (EU Omnibus directive).
    pub lowest: Money,
}

impl RecentPrices {
    /// Selects the recent prices from the price history, which is ordered newest first.
    pub(crate) fn of(
        product: &Product,
        past: Vec<PastPrice>,
        since: Timestamp,
        month_ago: Timestamp,
    ) -> Self {
        let lowest = lowest(&past, product.facts.price, month_ago);
        Self { prices: applied_since(past, since), lowest }
    }
}

/// Returns the prices that applied at a time or later: the later ones, and for each variant the last one before.
fn applied_since(past: Vec<PastPrice>, since: Timestamp) -> Vec<PastPrice> {
    let mut earlier = Vec::new();
    past.into_iter()
        .filter(|price| {
            if price.at > since {
                return true;
            }
            let is_latest = !earlier.contains(&price.variant);
            earlier.push(price.variant);
            is_latest
        })
        .collect()
}

/// Returns the lowest price of the product as a whole since a time.
fn lowest(past: &[PastPrice], now: Money, since: Timestamp) -> Money {
    let of_product = past.iter().filter(|price| price.variant.is_none()).cloned().collect();
    let same = |past: &PastPrice| (past.price.currency() == now.currency()).then_some(past.price);
    let applied = applied_since(of_product, since);
    applied.iter().filter_map(same).chain([now]).min_by_key(|price| price.minor()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use primitives::Currency;

    use super::*;

    fn price(minor: i64, day: i64) -> PastPrice {
        let at = Timestamp::from_unix_micros(day * 86_400_000_000);
        PastPrice {
            variant: None,
            price: Money::new(minor, Currency::EUR),
            list_price_minor: None,
            at,
        }
    }

    #[test]
    fn the_lowest_price_includes_the_one_in_force_when_the_period_began() {
        let now = Money::new(900, Currency::EUR);
        let past = vec![price(900, 100), price(800, 60), price(500, 40)];
        let since = |day: i64| Timestamp::from_unix_micros(day * 86_400_000_000);
        assert_eq!(lowest(&past, now, since(70)).minor(), 800);
        assert_eq!(lowest(&past, now, since(50)).minor(), 500);
        assert_eq!(lowest(&past, now, since(110)).minor(), 900);
        assert_eq!(applied_since(past, since(70)).len(), 2);
    }
}
