//! `select_shipping_option`: selects the shipping option of a cart.

use carts::{CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct SelectShippingOption;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// Id of one of the cart's `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    #[schemars(extend("x-former-names" = ["option_id", "selected_shipping_option_id"]))]
    shipping_option_id: String,
}

impl Tool for SelectShippingOption {
    const NAME: &'static str = "select_shipping_option";
    const TITLE: &'static str = "Select a shipping option";
    const PURPOSE: &'static str = "Select one of a cart's shipping_options; without it the cheapest counts. Returns the cart with the new total. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Shipping(arguments.shipping_option_id)];
        change(context, arguments.cart_id, None, &edit).await
    }
}
