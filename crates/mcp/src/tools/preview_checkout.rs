//! `preview_checkout`: the order a cart would become (spec §4.3).

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
    /// Id from `create_cart`.
    cart_id: CartId,
}

impl Tool for PreviewCheckout {
    const NAME: &'static str = "preview_checkout";
    const TITLE: &'static str = "Preview a checkout";
    const PURPOSE: &'static str = "Preview the order a cart would become: items, final totals, shipping, return policy, quote_hash and what is missing. Changes nothing. Show it to the person for approval before complete_checkout.";
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
