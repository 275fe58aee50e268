//! `remove_discount_code`: removes a discount code from a cart.

use carts::{CODE_LENGTH_MAX, CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct RemoveDiscountCode;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// Discount code.
    #[schemars(length(min = 1, max = CODE_LENGTH_MAX))]
    code: String,
}

impl Tool for RemoveDiscountCode {
    const NAME: &'static str = "remove_discount_code";
    const TITLE: &'static str = "Remove a discount code";
    const PURPOSE: &'static str = "Remove a discount code from a cart. Returns the cart; no error if the code is absent. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::RemoveCode(arguments.code)];
        change(context, arguments.cart_id, None, &edit).await
    }
}
