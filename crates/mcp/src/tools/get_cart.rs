//! `get_cart`: a cart of this agent at current prices.

use carts::CartRecord;
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
}

impl Tool for GetCart {
    const NAME: &'static str = "get_cart";
    const TITLE: &'static str = "Get a cart";
    const PURPOSE: &'static str = "Get a cart created with this API key: lines with their line_id, current prices, stock, totals, shipping options, and what is missing before checkout. To show the order to the person for approval, use preview_checkout.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let (id, agent) = (arguments.cart_id, context.caller()?.key);
        let cart = carts::cart(&context.reading()?, &context.store, id, Some(agent)).await?;
        Ok(super::cart::record(context, cart))
    }
}
