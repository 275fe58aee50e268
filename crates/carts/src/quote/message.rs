//! What a model should know of a cart, or mend in it.

use catalog::Offer;
use merchants::Settings;

use crate::discount::RefusedCode;
use crate::quote::ShippingOption;
use crate::{Cart, Line};

/// Something to know or to mend. Our own words only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub code: MessageCode,
    /// Where, as a path into the record.
    pub path: String,
    /// A sentence.
    pub content: String,
}

/// What a message is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageCode {
    /// There are fewer than were asked for.
    QuantityAdjusted,
    /// There are fewer than the cart has.
    InsufficientStock,
    /// It cannot be had any more.
    Unavailable,
    /// It costs something else than when it was put in.
    PriceChanged,
    /// A code gives nothing.
    DiscountCode,
    /// The store names no way there.
    DestinationNotServed,
    /// The way that was chosen is not offered any more.
    ShippingOptionGone,
}

impl MessageCode {
    /// The stable name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QuantityAdjusted => "quantity_adjusted",
            Self::InsufficientStock => "insufficient_stock",
            Self::Unavailable => "item_unavailable",
            Self::PriceChanged => "price_changed",
            Self::DiscountCode => "discount_code_rejected",
            Self::DestinationNotServed => "destination_not_served",
            Self::ShippingOptionGone => "shipping_option_unavailable",
        }
    }
}

impl Message {
    /// Whether the cart cannot be bought while this holds.
    #[must_use]
    pub fn is_in_the_way(&self) -> bool {
        matches!(
            self.code,
            MessageCode::InsufficientStock
                | MessageCode::Unavailable
                | MessageCode::DestinationNotServed
                | MessageCode::ShippingOptionGone
        )
    }

    /// Fewer were put in than were asked for.
    pub(crate) fn adjusted(place: usize, asked: u32, got: u32) -> Self {
        Self {
            code: MessageCode::QuantityAdjusted,
            path: format!("$.items[{place}].quantity"),
            content: format!("{asked} were asked for and {got} can be had; the cart has {got}"),
        }
    }
}

/// What is to be said of a line, given what it is offered for now.
pub(crate) fn of_line(place: usize, line: &Line, offer: Option<Offer>) -> Vec<Message> {
    let path = format!("$.items[{place}]");
    let Some(offer) = offer else {
        let content = String::from("this cannot be had any more; remove the line");
        return vec![Message { code: MessageCode::Unavailable, path, content }];
    };
    let mut messages = Vec::new();
    if !offer.covers(i64::from(line.item.quantity.get())) {
        let (code, content) = match offer.stock_quantity {
            Some(there) if there > 0 && offer.stock_status.is_at_hand() => {
                (MessageCode::InsufficientStock, format!("only {there} can be had; ask for fewer"))
            }
            _ => (MessageCode::Unavailable, String::from("there is none now; remove the line")),
        };
        messages.push(Message { code, path: path.clone(), content });
    }
    if offer.price.minor() != line.unit_minor {
        let content = format!("one costs {} now", offer.price);
        let path = format!("{path}.unit_price");
        messages.push(Message { code: MessageCode::PriceChanged, path, content });
    }
    messages
}

/// What is to be said of a code that gives nothing. The code itself is the caller's own text.
pub(crate) fn of_code(refused: &RefusedCode) -> Message {
    Message {
        code: MessageCode::DiscountCode,
        path: String::from("$.discounts.codes"),
        content: format!("a code gives nothing: {}", refused.reason.name()),
    }
}

/// What is to be said of the way there.
pub(crate) fn of_delivery(
    cart: &Cart,
    settings: &Settings,
    options: &[ShippingOption],
    chosen: Option<&str>,
) -> Option<Message> {
    cart.destination.as_ref()?;
    // A store that sets no rates at all says what shipping costs on its own page.
    if options.is_empty() && !settings.shipping.is_empty() {
        return Some(Message {
            code: MessageCode::DestinationNotServed,
            path: String::from("$.destination"),
            content: String::from("the store names no way to ship there"),
        });
    }
    let is_gone = cart.shipping_option.is_some() && chosen.is_none();
    is_gone.then(|| Message {
        code: MessageCode::ShippingOptionGone,
        path: String::from("$.selected_shipping_option_id"),
        content: String::from("the chosen way is not offered any more; choose another"),
    })
}
