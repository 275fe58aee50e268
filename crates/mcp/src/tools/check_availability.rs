//! `check_availability`: whether quantities are in stock.

use catalog::{Product, StockStatus};
use primitives::{Failure, ProductId, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CheckAvailability;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Items and quantities to check, 1 to 50.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<Item>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// One entry per requested item, in the same order.
    items: Vec<ItemAvailability>,
}

/// Availability of one item.
#[derive(Serialize, JsonSchema)]
pub(super) struct ItemAvailability {
    /// Product identifier.
    product_id: ProductId,
    /// Variant identifier, if one was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant_id: Option<VariantId>,
    /// Whether the requested quantity is in stock, according to the merchant.
    available: bool,
    /// Stock status; omitted if the product or variant does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    stock_status: Option<StockStatus>,
    /// Quantity in stock; omitted if the merchant does not publish it.
    #[serde(skip_serializing_if = "Option::is_none")]
    available_quantity: Option<i64>,
}

impl Tool for CheckAvailability {
    const NAME: &'static str = "check_availability";
    const TITLE: &'static str = "Check availability";
    const PURPOSE: &'static str = "Check whether given quantities of products or variants are in stock now. Returns yes or no for each item, with the quantity in stock if the merchant publishes it. To list the variants of a product, use get_product_variants.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let merchant = context.store.merchant;
        let keys: Vec<_> = arguments.items.iter().map(|item| (merchant, item.product_id)).collect();
        let products = catalog::products_of(&context.reading()?, &keys).await?;
        let find =
            |id: ProductId| products.iter().map(|(_, product)| product).find(|it| it.id == id);
        let items = arguments.items.iter().map(|item| line(item, find(item.product_id)));
        Ok(Output { items: items.collect() })
    }
}

fn line(item: &Item, product: Option<&Product>) -> ItemAvailability {
    let offer = product.and_then(|product| product.offer(item.variant_id));
    ItemAvailability {
        product_id: item.product_id,
        variant_id: item.variant_id,
        available: offer.is_some_and(|offer| offer.covers(item.quantity())),
        stock_status: offer.map(|offer| offer.stock_status),
        available_quantity: offer.and_then(|offer| offer.stock_quantity).map(i64::from),
    }
}
