//! `get_price_history`: what a product cost, and the least of thirty days (EU Omnibus directive).

use std::time::Duration;

use catalog::PriceRecord;
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetPriceHistory;

const DAYS_DEFAULT: i64 = 90;
const DAYS_MAX: i64 = 730;
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
        let days = arguments.days.unwrap_or(DAYS_DEFAULT).clamp(1, DAYS_MAX);
        let span = DAY * u32::try_from(days).unwrap_or(1);
        let late = catalog::late_prices(&reading, merchant, &product, span).await?;
        let price = product.facts.price;
        Ok(Output {
            product_id: product.id,
            price: price.to_decimal(),
            currency: price.currency().to_string(),
            lowest_30d: late.lowest.to_decimal(),
            points: late.held.into_iter().map(PriceRecord::from).collect(),
        })
    }
}
