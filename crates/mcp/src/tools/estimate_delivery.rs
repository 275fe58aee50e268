//! `estimate_delivery`: shipping options to a country, with cost and delivery time.

use catalog::Product;
use primitives::{Details, ErrorCode, Failure, Money, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct EstimateDelivery;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Items to deliver, 1 to 50.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<Item>,
    /// Destination.
    ship_to: Destination,
}

/// Destination.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Destination {
    /// ISO 3166 code, two letters.
    #[schemars(regex(pattern = "^[A-Za-z]{2}$"))]
    country: String,
    /// Ignored; rates depend on the country.
    #[expect(dead_code, reason = "accepted because agents send it; no rate depends on it yet")]
    #[schemars(length(max = 20))]
    postal_code: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Destination country, ISO 3166.
    country: String,
    /// Whether the store ships there.
    deliverable: bool,
    /// Price of the items.
    subtotal: f64,
    /// Currency of all amounts.
    currency: String,
    /// Shipping options, cheapest first. Empty if the store publishes no rates or does not ship there.
    options: Vec<DeliveryOption>,
}

/// A shipping option.
#[derive(Serialize, JsonSchema)]
pub(super) struct DeliveryOption {
    /// Merchant's name for the option.
    title: String,
    /// Shipping cost.
    cost: f64,
    /// Items plus shipping, before taxes not included in prices.
    total: f64,
    /// Shortest delivery time, in days.
    days_min: i64,
    /// Longest delivery time, in days.
    days_max: i64,
}

/// An item that cannot be priced, with its index.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum ItemError {
    #[error("product or variant not found in this store")]
    NotFound(usize),
    #[error("the item is not priced in the store's currency")]
    CurrencyMismatch(usize),
}

impl Problem for ItemError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound(_) => ErrorCode::ProductNotFound,
            Self::CurrencyMismatch(_) => ErrorCode::InvalidRequest,
        }
    }

    fn details(&self, details: &mut Details) {
        let (Self::NotFound(index) | Self::CurrencyMismatch(index)) = self;
        details.insert("field", format!("items/{index}"));
    }
}

impl Tool for EstimateDelivery {
    const NAME: &'static str = "estimate_delivery";
    const TITLE: &'static str = "Estimate delivery";
    const PURPOSE: &'static str = "Estimate shipping cost and delivery time of items to a country, without a cart. Returns each shipping option with cost, days and total. For an existing cart, use get_shipping_rates.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, merchant) = (context.reading()?, context.store.merchant);
        let keys: Vec<_> = arguments.items.iter().map(|item| (merchant, item.product_id)).collect();
        let products = catalog::products_of(&reading, &keys).await?;
        let subtotal = subtotal(context, &arguments.items, &products)?;
        let current = merchants::settings(&reading, merchant).await?;
        let country = arguments.ship_to.country.to_ascii_uppercase();
        let decimal = |minor: i64| Money::new(minor, context.store.currency).to_decimal();
        let option = |rate: &merchants::ShippingRate| DeliveryOption {
            title: rate.name.clone(),
            cost: decimal(rate.price_minor),
            total: decimal(rate.price_minor.saturating_add(subtotal)),
            days_min: i64::from(rate.days_min),
            days_max: i64::from(rate.days_max),
        };
        let rates = current.settings.shipping_rates_to(&country, subtotal);
        let is_named = context.store.ships_to.contains(&country);
        Ok(Output {
            deliverable: is_named || !rates.is_empty(),
            subtotal: decimal(subtotal),
            currency: context.store.currency.to_string(),
            options: rates.into_iter().map(option).collect(),
            country,
        })
    }
}

/// Returns the price of the items, in minor units of the store's currency.
fn subtotal(
    context: &RequestContext,
    items: &[Item],
    products: &[(primitives::MerchantId, Product)],
) -> Result<i64, ItemError> {
    let mut sum = 0_i64;
    for (index, item) in items.iter().enumerate() {
        let product = products.iter().map(|(_, product)| product);
        let product = product.clone().find(|product| product.id == item.product_id);
        let offer = product.and_then(|product| product.offer(item.variant_id));
        let price = offer.ok_or(ItemError::NotFound(index))?.price;
        if price.currency() != context.store.currency {
            return Err(ItemError::CurrencyMismatch(index));
        }
        sum = sum.saturating_add(price.minor().saturating_mul(item.quantity()));
    }
    Ok(sum)
}
