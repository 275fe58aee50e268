//! `remove_cart_items`: removes lines from a cart.

use carts::{CartRecord, Edit, LINES_MAX};
use primitives::{CartId, Failure, LineId, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct RemoveCartItems;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// `line_id` values from the cart's items.
    #[schemars(length(min = 1, max = LINES_MAX))]
    line_ids: Vec<LineId>,
}

impl Tool for RemoveCartItems {
    const NAME: &'static str = "remove_cart_items";
    const TITLE: &'static str = "Remove from a cart";
    const PURPOSE: &'static str = "Remove whole lines from a cart by line_id. Returns the cart. To reduce a quantity, use update_cart. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const DESTRUCTIVE: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::Remove(arguments.line_ids)];
        change(context, arguments.cart_id, None, &edit).await
    }
}
