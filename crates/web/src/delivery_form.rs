//! The form in which a person enters where a purchase is delivered.

use carts::{Buyer, Delivery, Destination, PricedCart};
use primitives::{Money, country};
use serde::Deserialize;

/// The fields of the form, as the page shows them.
pub(crate) struct DeliveryView {
    pub(crate) destination: Destination,
    pub(crate) email: String,
    pub(crate) options: Vec<OptionView>,
}

/// A shipping option, formatted.
pub(crate) struct OptionView {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) price: String,
    pub(crate) is_selected: bool,
}

impl DeliveryView {
    /// Returns the form with the data of the cart; the country is that of the store until a destination is set.
    pub(crate) fn new(priced: &PricedCart, country: &str) -> Self {
        let (cart, quote) = (&priced.cart, &priced.quote);
        let own_country = || Destination { country: country.to_owned(), ..Destination::default() };
        let option = |option: &carts::ShippingOption| OptionView {
            id: option.id.clone(),
            title: option.title.clone(),
            price: Money::new(option.price_minor, quote.currency).to_string(),
            is_selected: quote.selected_option.as_ref() == Some(&option.id),
        };
        let email = cart.buyer.as_ref().and_then(|buyer| buyer.email.clone());
        Self {
            destination: cart.destination.clone().unwrap_or_else(own_country),
            email: email.unwrap_or_default(),
            options: quote.options.iter().map(option).collect(),
        }
    }
}

/// The submitted fields. Empty ones are not set.
#[derive(Deserialize)]
pub(crate) struct DeliveryForm {
    pub(crate) form_token: String,
    country: String,
    #[serde(default)]
    region: String,
    #[serde(default)]
    postal_code: String,
    #[serde(default)]
    city: String,
    #[serde(default)]
    street: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    shipping_option: String,
}

impl DeliveryForm {
    /// Returns what the person entered. The email replaces the one of the buyer, whose other data stays.
    pub(crate) fn delivery(self, buyer: Option<Buyer>) -> Delivery {
        let set = |text: String| Some(text).filter(|text| !text.trim().is_empty());
        let buyer =
            set(self.email).map(|email| Buyer { email: Some(email), ..buyer.unwrap_or_default() });
        Delivery {
            destination: Destination {
                // People write `UK`, which means `GB`.
                country: country::nearest(&self.country).unwrap_or(&self.country).to_owned(),
                region: set(self.region),
                postal_code: set(self.postal_code),
                city: set(self.city),
                street: set(self.street),
                name: set(self.name),
            },
            buyer,
            shipping_option: set(self.shipping_option),
        }
    }
}
