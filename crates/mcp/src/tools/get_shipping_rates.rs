//! `get_shipping_rates`: which ways there are, and what they cost.

use carts::{CartError, Destination, Quote, ShippingOptionRecord};
use primitives::{CartId, Details, ErrorCode, Failure, Money, Problem, Scope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cart::{CartItem, items};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetShippingRates;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A cart of this key; or name items.
    cart_id: Option<CartId>,
    /// What would be ordered, 1 to 50 lines; needs `ship_to`.
    #[schemars(length(min = 1, max = 50))]
    items: Option<Vec<CartItem>>,
    /// Where it goes; for a cart, in the place of its own destination.
    ship_to: Option<Destination>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the store sends it there, as far as it says.
    deliverable: bool,
    /// The ways there, the cheapest first. Empty: the store names no cost, or does not ship there.
    rates: Vec<Rate>,
}

/// A way to ship.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rate {
    /// The way itself.
    #[serde(flatten)]
    option: ShippingOptionRecord,
    /// Goods of this amount or more go this way for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_over: Option<f64>,
}

/// Neither a cart nor items, or both.
#[derive(Debug, thiserror::Error)]
#[error("name either cart_id or items")]
struct Unnamed;

impl Problem for Unnamed {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "cart_id");
        details.insert("allowed", ["cart_id", "items"].to_vec());
    }
}

fn rates(call: &Call<'_>, quote: &Quote) -> Output {
    let threshold = call.store.policies.free_shipping_threshold_minor;
    let decimal = |minor| Money::new(minor, quote.currency).to_decimal();
    // The threshold frees the cheapest way alone, and that one stands first.
    let rate = |(place, option): (usize, ShippingOptionRecord)| Rate {
        option,
        free_over: threshold.filter(|_| place == 0).map(decimal),
    };
    let rates = quote.option_records().into_iter().enumerate().map(rate).collect();
    Output { deliverable: quote.is_served(), rates }
}

impl Tool for GetShippingRates {
    const NAME: &'static str = "get_shipping_rates";
    const TITLE: &'static str = "Get shipping rates";
    const PURPOSE: &'static str = "Get the ways to ship a cart, or some items, to a place: price and days. Choose one with select_shipping_option.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, store) = (call.reading()?, call.store);
        let quote = match (arguments.cart_id, arguments.items) {
            (Some(id), None) => {
                let cart = carts::cart(&reading, store, id, Some(call.caller()?.key)).await?;
                let own = cart.cart.destination.clone();
                let to = arguments.ship_to.or(own).ok_or(CartError::NoDestination)?;
                carts::estimate_cart(&reading, store, cart, to).await?
            }
            (None, Some(wanted)) => {
                let to = arguments.ship_to.ok_or(CartError::NoDestination)?;
                carts::estimate(&reading, store, &items(&wanted)?, Some(to)).await?
            }
            _ => return Err(Unnamed.into()),
        };
        Ok(rates(call, &quote))
    }
}
