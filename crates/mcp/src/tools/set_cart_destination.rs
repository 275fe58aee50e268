//! `set_cart_destination`: sets the delivery address and the buyer of a cart.

use carts::{Buyer, CartRecord, Destination, Edit};
use primitives::{CartId, Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::change;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct SetCartDestination;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`.
    cart_id: CartId,
    /// Delivery address; a country is enough for shipping prices.
    destination: Destination,
    /// Buyer's contact data.
    buyer: Option<Buyer>,
}

impl Tool for SetCartDestination {
    const NAME: &'static str = "set_cart_destination";
    const TITLE: &'static str = "Set the delivery address";
    const PURPOSE: &'static str = "Set the delivery address of a cart and, optionally, the buyer's contact data. Returns the cart with its shipping options and taxes. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let mut edits = vec![Edit::Destination(arguments.destination)];
        edits.extend(arguments.buyer.map(Edit::Buyer));
        change(context, arguments.cart_id, None, &edits).await
    }
}
