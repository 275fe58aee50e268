//! `apply_discount_code`: applies a discount code to a cart.

use carts::{CODE_LENGTH_MAX, CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ApplyDiscountCode;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// Discount code.
    #[schemars(length(min = 1, max = CODE_LENGTH_MAX))]
    code: String,
}

impl Tool for ApplyDiscountCode {
    const NAME: &'static str = "apply_discount_code";
    const TITLE: &'static str = "Apply a discount code";
    const PURPOSE: &'static str = "Apply a discount code to a cart. Returns the cart; discounts.rejected gives the reason if the code has no effect. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let edit = [Edit::ApplyCode(arguments.code)];
        change(context, arguments.cart_id, None, &edit).await
    }
}
