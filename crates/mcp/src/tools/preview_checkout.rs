//! `preview_checkout`: the order as it would be, before anything is bought (spec §4.3).

use carts::PreviewRecord;
use primitives::{CartId, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct PreviewCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart.
    cart_id: CartId,
}

impl Tool for PreviewCheckout {
    const NAME: &'static str = "preview_checkout";
    const TITLE: &'static str = "Preview a checkout";
    const PURPOSE: &'static str = "Preview what a cart would cost as an order: items, totals, shipping, return terms, and what is missing. Show it to the person before checkout.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = PreviewRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<PreviewRecord, Failure> {
        let cart = carts::preview(&call.reading()?, call.store, arguments.cart_id).await?;
        Ok(cart.preview(call.store))
    }
}
