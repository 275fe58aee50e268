//! What a quote leaves open: an agent may check out without an address, which the person enters on the payment page.

use merchants::Settings;

use crate::Cart;

primitives::text_enum! {
    /// A part of a quote that is not decided yet.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum OpenPart {
        /// The person enters the shipping address on the payment page.
        Destination,
        /// The price of shipping depends on the destination, or is stated by the store.
        Shipping,
        /// The tax depends on the destination.
        Tax,
        /// The person enters name and email on the payment page.
        Buyer,
    }
}

/// Returns whether a person pays for a cart on a page of the store. Sandboxes pay on the hosted page.
pub(crate) fn is_paid_at_store(cart: &Cart, settings: &Settings) -> bool {
    settings.checkout_url.is_some() && !cart.owner.is_sandbox
}

/// Returns whether the store states the price of shipping on its own page: it has one, and no shipping rates.
fn states_shipping_itself(cart: &Cart, settings: &Settings) -> bool {
    settings.shipping.is_empty() && is_paid_at_store(cart, settings)
}

impl OpenPart {
    /// Returns the name of the part in a sentence for a person.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Destination => "address",
            Self::Shipping => "shipping",
            Self::Tax => "tax",
            Self::Buyer => "contact data",
        }
    }
}

/// Returns the open parts of a cart's quote. Without a destination they are all open, the buyer unless the agent stated it.
/// With one, shipping stays open if the store states its price itself.
pub(super) fn of(cart: &Cart, settings: &Settings) -> Vec<OpenPart> {
    let mut open = Vec::new();
    if cart.destination.is_none() {
        open.extend([OpenPart::Destination, OpenPart::Shipping, OpenPart::Tax]);
        if cart.buyer.is_none() {
            open.push(OpenPart::Buyer);
        }
    } else if states_shipping_itself(cart, settings) {
        open.push(OpenPart::Shipping);
    }
    open
}
