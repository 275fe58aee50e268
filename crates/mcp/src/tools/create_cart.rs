//! `create_cart`: creates a cart.

use carts::{
    Buyer, CART_LIFETIME, CODE_LENGTH_MAX, CODES_MAX, CartRecord, Destination, ItemRequest,
    LINES_MAX, NewCart,
};
use primitives::{Failure, Scope, const_text};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("Items, 1 to ", LINES_MAX, "."))]
    items: Vec<ItemRequest>,
    /// Delivery address, if known; a country is enough for shipping prices.
    destination: Option<Destination>,
    /// Buyer's contact data, if known.
    buyer: Option<Buyer>,
    #[schemars(
        length(max = CODES_MAX),
        inner(length(min = 1, max = CODE_LENGTH_MAX)),
        description = const_text!("Discount codes, at most ", CODES_MAX, ".")
    )]
    discount_codes: Option<Vec<String>>,
}

impl Tool for CreateCart {
    const NAME: &'static str = "create_cart";
    const TITLE: &'static str = "Create a cart";
    const PURPOSE: &'static str = const_text!(
        "Create a new cart with items. Returns the cart: cart_id, lines, totals, and messages about quantities limited by stock. It expires after ",
        (CART_LIFETIME.as_secs() / 60),
        " minutes and reserves no stock. To show the order for approval, use preview_checkout. Ask the person first.",
    );
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<CartRecord, Failure> {
        let new = NewCart {
            items: ItemRequest::parse(&arguments.items)?,
            destination: arguments.destination,
            buyer: arguments.buyer,
            codes: arguments.discount_codes.unwrap_or_default(),
            shipping_option: None,
        };
        let (database, store) = (&context.app.database, &context.store);
        let cart =
            carts::create(database, store, &context.owner()?, new, context.idempotency()).await?;
        Ok(super::cart::record(context, cart))
    }
}
