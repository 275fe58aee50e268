//! `update_cart`: other items in the place of all.

use carts::{CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::{CartItem, change, items};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct UpdateCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart.
    cart_id: CartId,
    /// What is in it then, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
    /// Change it only if nobody did since: the `version` you saw.
    #[schemars(range(min = 1))]
    if_version: Option<i64>,
}

impl Tool for UpdateCart {
    const NAME: &'static str = "update_cart";
    const TITLE: &'static str = "Replace the items of a cart";
    const PURPOSE: &'static str =
        "Replace everything in a cart by these items. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 20; // decisions §6
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Replace(items(&arguments.items)?)];
        change(call, arguments.cart_id, arguments.if_version, &edit).await
    }
}
