//! `get_price_history`: what a product cost, and the least of thirty days (EU Omnibus directive).

use std::time::Duration;

use catalog::{PastPrice, PriceRecord};
use primitives::{Failure, Money, ProductId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetPriceHistory;

const DAYS_DEFAULT: i64 = 90;
const DAYS_MAX: i64 = 730;
/// Lines that are read.
const LINES_MAX: i64 = 500;
const DAY: Duration = Duration::from_hours(24);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The product.
    product_id: ProductId,
    /// How many days back, 1 to 730; 90 if left out.
    days: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The product.
    product_id: ProductId,
    /// What it costs now.
    price: f64,
    /// Its currency.
    currency: String,
    /// The least it cost within the last 30 days, the present price included.
    lowest_30d: f64,
    /// Prices of the product and its variants that held within the days asked for, newest first.
    points: Vec<PriceRecord>,
}

impl Tool for GetPriceHistory {
    const NAME: &'static str = "get_price_history";
    const TITLE: &'static str = "Price history";
    const PURPOSE: &'static str = "See what a product cost over time and its lowest price of the last 30 days, to judge whether a discount is real.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, merchant) = (call.reading()?, call.store.merchant);
        let product = catalog::product(&reading, merchant, arguments.product_id).await?;
        let past = catalog::price_history(&reading, merchant, product.id, LINES_MAX).await?;
        let now = reading.local_now();
        let days = arguments.days.unwrap_or(DAYS_DEFAULT).clamp(1, DAYS_MAX);
        let since = now.minus(DAY * u32::try_from(days).unwrap_or(1));
        let price = product.facts.price;
        let lowest = lowest(&past, price, now.minus(DAY * 30));
        let points = held_since(past, since).into_iter().map(PriceRecord::from).collect();
        Ok(Output {
            product_id: product.id,
            price: price.to_decimal(),
            currency: price.currency().to_string(),
            lowest_30d: lowest.to_decimal(),
            points,
        })
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
