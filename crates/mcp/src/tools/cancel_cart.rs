//! `cancel_cart`: cancels a cart.

use carts::{CartRecord, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CancelCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
}

impl Tool for CancelCart {
    const NAME: &'static str = "cancel_cart";
    const TITLE: &'static str = "Cancel a cart";
    const PURPOSE: &'static str = "Cancel a cart; it cannot be used afterwards. Repeating the call has no effect. Once a checkout has started, use cancel_checkout instead. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    const DESTRUCTIVE: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        change(context, arguments.cart_id, None, &[Edit::Cancel]).await
    }
}
