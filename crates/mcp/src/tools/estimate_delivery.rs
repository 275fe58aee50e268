//! `estimate_delivery`: shipping options to a country, with cost and delivery time.

use carts::{Destination, Goods, LINES_MAX, ShippingOption};
use catalog::Product;
use primitives::{Details, ErrorCode, Failure, MerchantId, Money, Problem, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct EstimateDelivery;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("Items to deliver, 1 to ", LINES_MAX, "."))]
    items: Vec<Item>,
    /// Destination; rates depend on the country.
    destination: Destination,
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
        details.insert("field", format!("items[{index}]"));
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
        let goods = goods(context, &arguments.items, &products)?;
        let subtotal = goods.iter().fold(0_i64, |sum, goods| sum.saturating_add(goods.minor));
        let country = arguments.destination.country.to_ascii_uppercase();
        let decimal = |minor: i64| Money::new(minor, context.store.currency).to_decimal();
        let option = |option: ShippingOption| DeliveryOption {
            title: option.title,
            cost: decimal(option.price_minor),
            total: decimal(option.price_minor.saturating_add(subtotal)),
            days_min: i64::from(option.days_min),
            days_max: i64::from(option.days_max),
        };
        let estimator = carts::shipping_estimator(&reading, merchant).await?;
        let options = estimator.options(&country, &goods)?;
        let is_named = context.store.ships_to.contains(&country);
        Ok(Output {
            deliverable: is_named || !options.is_empty(),
            subtotal: decimal(subtotal),
            currency: context.store.currency.to_string(),
            options: options.into_iter().map(option).collect(),
            country,
        })
    }
}

/// Returns category and price of each item. The price is in minor units of the store's currency.
fn goods<'product>(
    context: &RequestContext,
    items: &[Item],
    products: &'product [(MerchantId, Product)],
) -> Result<Vec<Goods<'product>>, ItemError> {
    let mut goods = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let mut products = products.iter().map(|(_, product)| product);
        let product = products.find(|product| product.id == item.product_id);
        let product = product.ok_or(ItemError::NotFound(index))?;
        let offer = product.offer(item.variant_id);
        let price = offer.ok_or(ItemError::NotFound(index))?.price;
        if price.currency() != context.store.currency {
            return Err(ItemError::CurrencyMismatch(index));
        }
        let minor = price.minor().saturating_mul(item.quantity());
        goods.push(Goods { category: &product.category.path, minor });
    }
    Ok(goods)
}
