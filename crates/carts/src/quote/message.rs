//! Messages about a cart: what the agent should know or fix.

use catalog::Offer;
use merchants::Settings;

use crate::discount::RejectedCode;
use crate::quote::ShippingOption;
use crate::{Cart, Line};

/// A message about a cart. Never contains merchant text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub code: MessageCode,
    /// Path into the record; for a value to send, into the request that sets it.
    pub path: String,
    pub content: String,
}

primitives::text_enum! {
    /// Type of a message.
    #[strum(serialize_all = "snake_case")]
    pub enum MessageCode {
        /// Fewer units were added than requested.
        QuantityAdjusted,
        /// Fewer units are available than the line has.
        InsufficientStock,
        ItemUnavailable,
        /// The unit price differs from the one when the item was added.
        PriceChanged,
        DiscountCodeRejected,
        /// The store offers no shipping to the destination.
        DestinationNotServed,
        /// The selected shipping option is no longer offered.
        ShippingOptionUnavailable,
        /// The trust score of the store is too low for agent checkout.
        BelowAgentThreshold,
        /// Nobody could pay at the store.
        NoPaymentPage,
    }
}

impl Message {
    /// Returns whether the cart cannot be checked out while the message applies.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        matches!(
            self.code,
            MessageCode::InsufficientStock
                | MessageCode::ItemUnavailable
                | MessageCode::DestinationNotServed
                | MessageCode::ShippingOptionUnavailable
                | MessageCode::BelowAgentThreshold
                | MessageCode::NoPaymentPage
        )
    }

    /// Returns the message for an item of which fewer units were added than requested.
    pub(crate) fn adjusted(index: usize, requested: u32, added: u32) -> Self {
        Self {
            code: MessageCode::QuantityAdjusted,
            path: format!("items[{index}].quantity"),
            content: format!(
                "quantity adjusted: {requested} requested, {added} available and added"
            ),
        }
    }
}

/// Returns the messages about a line; `offer` is its current offer, `None` if it is no longer sold.
pub(crate) fn of_line(index: usize, line: &Line, offer: Option<Offer>) -> Vec<Message> {
    let path = format!("items[{index}]");
    let Some(offer) = offer else {
        let content = String::from("no longer sold; remove the line");
        return vec![Message { code: MessageCode::ItemUnavailable, path, content }];
    };
    let mut messages = Vec::new();
    if !offer.covers(i64::from(line.item.quantity.get())) {
        let (code, content) = match offer.stock_quantity {
            Some(available) if available > 0 && offer.stock_status.is_available() => {
                let quantity = line.item.quantity.get();
                let content = format!(
                    "insufficient stock: {quantity} requested, {available} available; reduce the quantity"
                );
                (MessageCode::InsufficientStock, content)
            }
            _ => (MessageCode::ItemUnavailable, String::from("out of stock; remove the line")),
        };
        messages.push(Message { code, path: path.clone(), content });
    }
    if offer.price.minor() != line.unit_minor {
        let content = format!("the unit price is now {}", offer.price);
        let path = format!("{path}.unit_price");
        messages.push(Message { code: MessageCode::PriceChanged, path, content });
    }
    messages
}

/// Returns the messages about a store where no cart can be checked out.
pub(crate) fn of_store(
    allows_agent_checkout: bool,
    has_payment_page: bool,
) -> impl Iterator<Item = Message> {
    let below_threshold = (
        MessageCode::BelowAgentThreshold,
        "agents cannot check out here: the trust score of the store is too low",
    );
    let no_page = (MessageCode::NoPaymentPage, "the store has no page where a person could pay");
    let below_threshold = (!allows_agent_checkout).then_some(below_threshold);
    let no_page = (!has_payment_page).then_some(no_page);
    below_threshold.into_iter().chain(no_page).map(|(code, content)| Message {
        code,
        path: String::from("merchant_slug"),
        content: content.to_owned(),
    })
}

/// Returns the message about a code that does not apply.
pub(crate) fn of_code(rejected: &RejectedCode) -> Message {
    Message {
        code: MessageCode::DiscountCodeRejected,
        path: String::from("discounts.codes"),
        content: format!("discount code rejected: {}", rejected.reason),
    }
}

/// Returns the message about destination or shipping option, if there is one.
pub(crate) fn of_delivery(
    cart: &Cart,
    settings: &Settings,
    options: &[ShippingOption],
    selected: Option<&str>,
) -> Option<Message> {
    cart.destination.as_ref()?;
    // A store without any shipping rates states the price of shipping on its own page.
    if options.is_empty() && !settings.shipping.is_empty() {
        return Some(Message {
            code: MessageCode::DestinationNotServed,
            path: String::from("destination"),
            content: String::from("the store does not ship to this destination"),
        });
    }
    let is_withdrawn = cart.shipping_option.is_some() && selected.is_none();
    is_withdrawn.then(|| Message {
        code: MessageCode::ShippingOptionUnavailable,
        path: String::from("shipping_option_id"),
        content: String::from("the selected shipping option is no longer offered; select another"),
    })
}
