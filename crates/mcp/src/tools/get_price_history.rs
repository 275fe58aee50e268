//! `get_price_history`: past prices of a product, and the lowest of thirty days (EU Omnibus directive).

use std::time::Duration;

use catalog::PriceRecord;
use primitives::{Failure, ProductId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetPriceHistory;

const DAYS_DEFAULT: i64 = 90;
const DAYS_MAX: i64 = 730;
const DAY: Duration = Duration::from_hours(24);

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Product id.
    product_id: ProductId,
    /// Days to look back, 1 to 730; default 90.
    days: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Product identifier.
    product_id: ProductId,
    /// Current price.
    price: f64,
    /// Currency of the current price.
    currency: String,
    /// Lowest price of the last 30 days, including the current one.
    lowest_30d: f64,
    /// Prices of the product and its variants in the requested period, newest first.
    points: Vec<PriceRecord>,
}

impl Tool for GetPriceHistory {
    const NAME: &'static str = "get_price_history";
    const TITLE: &'static str = "Price history";
    const PURPOSE: &'static str = "Get past prices of a product and its lowest price of the last 30 days, to check whether a discount is genuine.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, merchant) = (context.reading()?, context.store.merchant);
        let product = catalog::product(&reading, merchant, arguments.product_id).await?;
        let days = arguments.days.unwrap_or(DAYS_DEFAULT).clamp(1, DAYS_MAX);
        let span = DAY * u32::try_from(days).unwrap_or(1);
        let recent = catalog::recent_prices(&reading, merchant, &product, span).await?;
        let price = product.facts.price;
        Ok(Output {
            product_id: product.id,
            price: price.to_decimal(),
            currency: price.currency().to_string(),
            lowest_30d: recent.lowest.to_decimal(),
            points: recent.prices.into_iter().map(PriceRecord::from).collect(),
        })
    }
}
