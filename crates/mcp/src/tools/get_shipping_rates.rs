//! `get_shipping_rates`: shipping options of a cart or of items.

use carts::{CartError, Destination, ItemRequest, LINES_MAX, Quote, ShippingOptionRecord};
use primitives::{CartId, Failure, Money, NotExactlyOne, Scope, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetShippingRates;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`; give this or `items`.
    cart_id: Option<CartId>,
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("Items, 1 to ", LINES_MAX, "; requires `destination`."))]
    items: Option<Vec<ItemRequest>>,
    /// Destination; overrides the cart's own.
    destination: Option<Destination>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether the store ships to the destination.
    deliverable: bool,
    /// Shipping options, cheapest first. Empty if the store publishes no rates or does not ship there.
    rates: Vec<Rate>,
}

/// A shipping option with its free-shipping threshold.
#[derive(Serialize, JsonSchema)]
pub(super) struct Rate {
    /// The shipping option.
    #[serde(flatten)]
    option: ShippingOptionRecord,
    /// Subtotal from which this option is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    free_over: Option<f64>,
}

fn rates(context: &RequestContext, quote: &Quote) -> Output {
    let threshold = context.store.policies.free_shipping_threshold_minor;
    let decimal = |minor| Money::new(minor, quote.currency).to_decimal();
    // The threshold applies to the cheapest option alone, which is the first.
    let rate = |(index, option): (usize, ShippingOptionRecord)| Rate {
        option,
        free_over: threshold.filter(|_| index == 0).map(decimal),
    };
    let rates = quote.option_records().into_iter().enumerate().map(rate).collect();
    Output { deliverable: quote.is_deliverable(), rates }
}

impl Tool for GetShippingRates {
    const NAME: &'static str = "get_shipping_rates";
    const TITLE: &'static str = "Get shipping rates";
    const PURPOSE: &'static str = "List the shipping options of a cart with price and delivery days, for its own or another destination; also for items with a destination. Select one with select_shipping_option. Before a cart exists, prefer estimate_delivery.";
    const SET: ToolSet = ToolSet::Cart;
    const ACCESS: Access = Access::Scope(Scope::AgentCart);
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let (reading, store) = (context.reading()?, &context.store);
        let quote = match (arguments.cart_id, arguments.items) {
            (Some(id), None) => {
                let cart = carts::cart(&reading, store, id, Some(context.caller()?.key)).await?;
                let own = cart.cart.destination.clone();
                let to = arguments.destination.or(own).ok_or(CartError::DestinationRequired)?;
                carts::estimate_cart(&reading, store, cart, to).await?
            }
            (None, Some(wanted)) => {
                let to = arguments.destination.ok_or(CartError::DestinationRequired)?;
                let items = ItemRequest::parse(&wanted)?;
                carts::estimate(&reading, store, &items, Some(to)).await?
            }
            _ => return Err(NotExactlyOne(&["cart_id", "items"]).into()),
        };
        Ok(rates(context, &quote))
    }
}
