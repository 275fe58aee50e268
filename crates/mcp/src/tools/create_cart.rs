//! `create_cart`: creates a cart.

use carts::{Buyer, CartRecord, Destination, NewCart};
use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::{CartItem, items};
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Items, 1 to 50.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
    /// Delivery address, if known; a country is enough for shipping prices.
    ship_to: Option<Destination>,
    /// Buyer's contact data, if known.
    buyer: Option<Buyer>,
    /// Discount codes, at most 5.
    #[schemars(length(max = 5), inner(length(min = 1, max = 100)))]
    discount_codes: Option<Vec<String>>,
}

impl Tool for CreateCart {
    const NAME: &'static str = "create_cart";
    const TITLE: &'static str = "Create a cart";
    const PURPOSE: &'static str = "Create a new cart with items. Returns the cart: cart_id, lines, totals, and messages about quantities limited by stock. It expires after 30 minutes and reserves no stock. To show the order for approval, use preview_checkout. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let new = NewCart {
            items: items(&arguments.items)?,
            destination: arguments.ship_to,
            buyer: arguments.buyer,
            codes: arguments.discount_codes.unwrap_or_default(),
            shipping: None,
        };
        let (database, store) = (&context.app.database, &context.store);
        let cart =
            carts::create(database, store, &context.owner()?, new, context.idempotency()).await?;
        Ok(cart.record(store))
    }
}
