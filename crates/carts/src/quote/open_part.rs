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

/// Returns the open parts of a cart's quote. Without a destination they are all open, the buyer unless the agent stated it.
/// With one, shipping stays open at a store without shipping rates, which states its price on its own page.
pub(super) fn of(cart: &Cart, settings: &Settings) -> Vec<OpenPart> {
    let mut open = Vec::new();
    if cart.destination.is_none() {
        open.extend([OpenPart::Destination, OpenPart::Shipping, OpenPart::Tax]);
        if cart.buyer.is_none() {
            open.push(OpenPart::Buyer);
        }
    } else if settings.shipping.is_empty() {
        open.push(OpenPart::Shipping);
    }
    open
}
