//! `update_cart`: replaces the items of a cart.

use carts::{CartRecord, Edit, ItemRequest, LINES_MAX};
use primitives::{CartId, Failure, Scope, const_text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct UpdateCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("New items, 1 to ", LINES_MAX, "."))]
    items: Vec<ItemRequest>,
    /// Fail unless this is still the `version` of the cart.
    #[schemars(range(min = 1))]
    if_version: Option<i64>,
}

impl Tool for UpdateCart {
    const NAME: &'static str = "update_cart";
    const TITLE: &'static str = "Replace the items of a cart";
    const PURPOSE: &'static str = "Replace all lines of a cart with these items. To add or remove single lines, use add_cart_items or remove_cart_items. Returns the cart. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const DESTRUCTIVE: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Replace(ItemRequest::parse(&arguments.items)?)];
        change(context, arguments.cart_id, arguments.if_version, &edit).await
    }
}
