//! `get_cart`: a cart of this agent, with what it costs now.

use carts::CartRecord;
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart.
    cart_id: CartId,
}

impl Tool for GetCart {
    const NAME: &'static str = "get_cart";
    const TITLE: &'static str = "Get a cart";
    const PURPOSE: &'static str = "Get a cart made with this key, with current prices, stock, totals and what is still missing before checkout.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<CartRecord, Failure> {
        let (id, agent) = (arguments.cart_id, call.caller()?.key);
        let cart = carts::cart(&call.reading()?, call.store, id, Some(agent)).await?;
        Ok(cart.record(call.store))
    }
}
