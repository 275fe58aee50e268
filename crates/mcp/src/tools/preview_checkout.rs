//! `preview_checkout`: the order a cart would become (docs/contract/carts.md#preview).

use carts::PreviewRecord;
use primitives::{CartId, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
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
    const PURPOSE: &'static str = "Preview the order a cart would become: items, totals (shipping and tax are estimates until a destination is set), return policy, quote_hash and what is missing or open. Changes nothing. Show it to the person for approval before complete_checkout.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = PreviewRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<PreviewRecord, Failure> {
        let cart = carts::preview(&context.reading()?, &context.store, arguments.cart_id).await?;
        let cart = context.app.payment_gateway.with_store_messages(cart, &context.store);
        Ok(cart.preview(&context.store))
    }
}
