//! `estimate_delivery`: which ways there are to a place, what they cost and how long they take.

use catalog::Product;
use primitives::{Details, ErrorCode, Failure, Money, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct EstimateDelivery;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What would be ordered, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<Item>,
    /// Where it would go.
    ship_to: Destination,
}

/// Where an order would go.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Destination {
    /// ISO 3166 code of two letters.
    #[schemars(regex(pattern = "^[A-Za-z]{2}$"))]
    country: String,
    /// Not needed by the rates stores set today.
    #[expect(dead_code, reason = "taken because agents send it; no rate depends on it yet")]
    #[schemars(length(max = 20))]
    postal_code: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Where it would go.
    country: String,
    /// Whether the store ships there.
    deliverable: bool,
    /// What the goods cost.
    subtotal: f64,
    /// Currency of all amounts.
    currency: String,
    /// The ways there, the cheapest first. Empty: the store names no cost or does not ship there.
    options: Vec<DeliveryOption>,
}

/// A way to ship.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeliveryOption {
    /// What the merchant calls it.
    title: String,
    /// What it costs.
    cost: f64,
    /// What goods and shipping cost together, before taxes that are not in the prices.
    total: f64,
    /// The quickest delivery, in days.
    days_min: i64,
    /// The slowest delivery, in days.
    days_max: i64,
}

/// A line names something that is not there or cannot be added up.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Unpriced {
    #[error("there is no such product or variant in this store")]
    Missing(usize),
    #[error("the items are priced in different currencies")]
    Mixed(usize),
}

impl Problem for Unpriced {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Missing(_) => ErrorCode::ProductNotFound,
            Self::Mixed(_) => ErrorCode::InvalidRequest,
        }
    }

    fn details(&self, details: &mut Details) {
        let (Self::Missing(place) | Self::Mixed(place)) = self;
        details.insert("field", format!("items/{place}"));
    }
}

impl Tool for EstimateDelivery {
    const NAME: &'static str = "estimate_delivery";
    const TITLE: &'static str = "Estimate delivery";
    const PURPOSE: &'static str =
        "Estimate shipping cost and delivery time of items to a country, before making a cart.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, merchant) = (call.reading()?, call.store.merchant);
        let keys: Vec<_> = arguments.items.iter().map(|item| (merchant, item.product_id)).collect();
        let products = catalog::products_of(&reading, &keys).await?;
        let subtotal = subtotal(call, &arguments.items, &products)?;
        let current = merchants::settings(&reading, merchant).await?;
        let country = arguments.ship_to.country.to_ascii_uppercase();
        let decimal = |minor: i64| Money::new(minor, call.store.currency).to_decimal();
        let option = |rate: &merchants::ShippingRate| DeliveryOption {
            title: rate.name.clone(),
            cost: decimal(rate.price_minor),
            total: decimal(rate.price_minor.saturating_add(subtotal)),
            days_min: i64::from(rate.days_min),
            days_max: i64::from(rate.days_max),
        };
        let ways = current.settings.ways_to(&country, subtotal);
        let is_named = call.store.ships_to.contains(&country);
        Ok(Output {
            deliverable: is_named || !ways.is_empty(),
            subtotal: decimal(subtotal),
            currency: call.store.currency.to_string(),
            options: ways.into_iter().map(option).collect(),
            country,
        })
    }
}

/// What the items cost, in minor units of the store's currency.
fn subtotal(
    call: &Call<'_>,
    items: &[Item],
    products: &[(primitives::MerchantId, Product)],
) -> Result<i64, Unpriced> {
    let mut sum = 0_i64;
    for (place, item) in items.iter().enumerate() {
        let product = products.iter().map(|(_, product)| product);
        let product = product.clone().find(|product| product.id == item.product_id);
        let offer = product.and_then(|product| product.offer(item.variant_id));
        let price = offer.ok_or(Unpriced::Missing(place))?.price;
        if price.currency() != call.store.currency {
            return Err(Unpriced::Mixed(place));
        }
        sum = sum.saturating_add(price.minor().saturating_mul(item.quantity()));
    }
    Ok(sum)
}
