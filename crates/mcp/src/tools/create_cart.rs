//! `create_cart`: making a cart.

use carts::{Buyer, CartRecord, Destination, NewCart};
use primitives::{Failure, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::cart::{CartItem, items};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CreateCart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What goes into it, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
    /// Where it goes, if that is known; a country is enough for a price.
    ship_to: Option<Destination>,
    /// Who buys, if that is known.
    buyer: Option<Buyer>,
    /// Codes for discounts, at most five.
    #[schemars(length(max = 5), inner(length(min = 1, max = 100)))]
    discount_codes: Option<Vec<String>>,
}

impl Tool for CreateCart {
    const NAME: &'static str = "create_cart";
    const TITLE: &'static str = "Create a cart";
    const PURPOSE: &'static str = "Create a cart at this store; stock is looked at and what had to be adjusted is said. It lasts thirty minutes and holds no stock. Ask the person first.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 20; // spec §8
    type Arguments = Arguments;
    type Output = CartRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<CartRecord, Failure> {
        let new = NewCart {
            items: items(&arguments.items)?,
            destination: arguments.ship_to,
            buyer: arguments.buyer,
            codes: arguments.discount_codes.unwrap_or_default(),
        };
        let (database, store) = (call.database, call.store);
        let cart = carts::create(database, store, &call.owner()?, new, call.once()).await?;
        Ok(cart.record(store))
    }
}
