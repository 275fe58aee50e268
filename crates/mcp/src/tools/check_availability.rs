//! `check_availability`: whether so many can be had right now.

use catalog::{Product, StockStatus};
use primitives::{Failure, ProductId, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::item::Item;
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CheckAvailability;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What is wanted, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<Item>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// One line for each that was asked for, in that order.
    items: Vec<ItemAvailability>,
}

/// Whether it can be had.
#[derive(Serialize, JsonSchema)]
pub(super) struct ItemAvailability {
    /// The product.
    product_id: ProductId,
    /// The form of it that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant_id: Option<VariantId>,
    /// Whether the quantity can be had at once, as far as the merchant says.
    available: bool,
    /// Whether it can be had; left out if there is no such product or variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    stock_status: Option<StockStatus>,
    /// How many can be had, if the merchant says.
    #[serde(skip_serializing_if = "Option::is_none")]
    available_quantity: Option<i64>,
}

impl Tool for CheckAvailability {
    const NAME: &'static str = "check_availability";
    const TITLE: &'static str = "Check availability";
    const PURPOSE: &'static str = "Check whether products or variants of this store can be had in the wanted quantity right now.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let merchant = call.store.merchant;
        let keys: Vec<_> = arguments.items.iter().map(|item| (merchant, item.product_id)).collect();
        let products = catalog::products_of(&call.reading()?, &keys).await?;
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
