//! `add_cart_items`: more in a cart.

use carts::{CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::{CartItem, change, items};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct AddCartItems;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart.
    cart_id: CartId,
    /// What is added, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
}

impl Tool for AddCartItems {
    const NAME: &'static str = "add_cart_items";
    const TITLE: &'static str = "Add to a cart";
    const PURPOSE: &'static str = "Add items to a cart; more of what is in it already adds to that line. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 20; // decisions §6
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Add(items(&arguments.items)?)];
        change(call, arguments.cart_id, None, &edit).await
    }
}
