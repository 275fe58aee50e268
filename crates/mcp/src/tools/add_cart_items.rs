//! `add_cart_items`: adds items to a cart.

use carts::{CartRecord, Edit, ItemRequest, LINES_MAX};
use primitives::{CartId, Failure, Scope, const_text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct AddCartItems;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("Items to add, 1 to ", LINES_MAX, "."))]
    items: Vec<ItemRequest>,
}

impl Tool for AddCartItems {
    const NAME: &'static str = "add_cart_items";
    const TITLE: &'static str = "Add to a cart";
    const PURPOSE: &'static str = "Add items to an existing cart; other lines stay, and a product already in it gets a higher quantity. Returns the cart. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Add(ItemRequest::parse(&arguments.items)?)];
        change(context, arguments.cart_id, None, &edit).await
    }
}
