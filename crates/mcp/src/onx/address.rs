//! Addresses.

use carts::Destination;
use orders::{OrderAddress, OrderBuyer, OrderError};
use primitives::{Failure, country};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An address or a contact.
#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Address {
    /// Street and house number.
    #[serde(skip_serializing_if = "Option::is_none")]
    address1: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
    /// ISO 3166-1 alpha-2 country code.
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    /// Email address.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    /// Given name.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_name: Option<String>,
    /// Family name.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_name: Option<String>,
    /// Telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    phone: Option<String>,
    /// State, province or region.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_or_province: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    zip_code_or_postal_code: Option<String>,
}

impl Address {
    /// Returns the address that an order is sent to. The last word of the recipient's name is the family name.
    pub(super) fn of(address: OrderAddress) -> Self {
        let name = address.name.unwrap_or_default();
        let (first, last) = name.rsplit_once(' ').unwrap_or((&name, ""));
        let present = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        Self {
            address1: address.street,
            city: address.city,
            country: address.country,
            first_name: present(first),
            last_name: present(last),
            state_or_province: address.region,
            zip_code_or_postal_code: address.postal_code,
            ..Self::default()
        }
    }

    /// Returns the contact of the buyer.
    pub(super) fn of_buyer(buyer: OrderBuyer) -> Self {
        Self {
            email: buyer.email,
            first_name: buyer.first_name,
            last_name: buyer.last_name,
            phone: buyer.phone_number,
            ..Self::default()
        }
    }
}

/// A new address of an order, which replaces the present one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ShippingAddress {
    /// Street and house number.
    #[schemars(length(min = 1, max = Destination::STREET_LENGTH_MAX))]
    address1: Option<String>,
    /// Further line.
    #[schemars(length(min = 1, max = Destination::STREET_LENGTH_MAX))]
    #[schemars(extend("x-unlisted" = true))]
    address2: Option<String>,
    /// City.
    #[schemars(length(min = 1, max = Destination::TEXT_LENGTH_MAX))]
    city: Option<String>,
    /// That of the order, which cannot change.
    #[schemars(regex(pattern = Destination::COUNTRY_PATTERN))]
    #[schemars(extend("x-unlisted" = true))]
    country: Option<String>,
    /// Given name.
    #[schemars(length(min = 1, max = Destination::TEXT_LENGTH_MAX))]
    first_name: Option<String>,
    /// Family name.
    #[schemars(length(min = 1, max = Destination::TEXT_LENGTH_MAX))]
    last_name: Option<String>,
    /// That of the order, which cannot change.
    #[schemars(length(min = 1, max = Destination::TEXT_LENGTH_MAX))]
    #[schemars(extend("x-unlisted" = true))]
    state_or_province: Option<String>,
    /// Postal code.
    #[schemars(length(min = 1, max = Destination::POSTAL_CODE_LENGTH_MAX))]
    zip_code_or_postal_code: Option<String>,
}

impl ShippingAddress {
    /// Returns the address as a destination, validated. Without a country it is in that of the order.
    pub(crate) fn destination(self, of_order: Option<&str>) -> Result<Destination, Failure> {
        let invalid = |field: &str, allowed: &'static str| {
            let field = format!("updates.shippingAddress.{field}");
            OrderError::InvalidField { field, allowed }
        };
        let named = self.country.map(|code| code.to_ascii_uppercase());
        let country = named.or_else(|| of_order.map(str::to_owned)).unwrap_or_default();
        if !country::is_country(&country) {
            return Err(invalid("country", country::ALLOWED).into());
        }
        let street = joined(self.address1, self.address2, ", ");
        if is_longer(street.as_ref(), Destination::STREET_LENGTH_MAX) {
            return Err(invalid("address2", "with address1 at most 200 characters").into());
        }
        let name = joined(self.first_name, self.last_name, " ");
        if is_longer(name.as_ref(), Destination::TEXT_LENGTH_MAX) {
            return Err(invalid("lastName", "with firstName at most 100 characters").into());
        }
        let destination = Destination {
            country,
            region: self.state_or_province,
            postal_code: self.zip_code_or_postal_code,
            city: self.city,
            street,
            name,
        };
        Ok(destination.validated()?)
    }
}

fn joined(first: Option<String>, second: Option<String>, separator: &str) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}{separator}{second}")),
        (first, second) => first.or(second),
    }
}

fn is_longer(text: Option<&String>, characters_max: usize) -> bool {
    text.is_some_and(|text| text.chars().count() > characters_max)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed(address: Value) -> ShippingAddress {
        serde_json::from_value(address).unwrap()
    }

    fn field(address: Value, of_order: Option<&str>) -> Value {
        let refused = parsed(address).destination(of_order).unwrap_err();
        refused.envelope("req_1")["details"]["field"].clone()
    }

    #[test]
    fn an_address_round_trips() {
        let sent = json!({ "address1": "Way 1", "city": "Turku", "firstName": "Ada Maria", "lastName": "Salo",
                           "stateOrProvince": "Varsinais-Suomi", "zipCodeOrPostalCode": "20100" });
        let destination = parsed(sent.clone()).destination(Some("FI")).unwrap();
        assert_eq!(destination.name.as_deref(), Some("Ada Maria Salo"));
        let stored: OrderAddress =
            serde_json::from_value(serde_json::to_value(destination).unwrap()).unwrap();
        let mut shown = serde_json::to_value(Address::of(stored)).unwrap();
        assert_eq!(shown["country"], "FI");
        shown.as_object_mut().unwrap().remove("country");
        assert_eq!(shown, sent);
    }

    #[test]
    fn invalid_parts_are_named_as_they_were_sent() {
        assert_eq!(field(json!({}), None), "updates.shippingAddress.country");
        assert_eq!(
            field(json!({ "country": "XX" }), Some("FI")),
            "updates.shippingAddress.country"
        );
        let long = "x".repeat(150);
        let street = json!({ "address1": long, "address2": long });
        assert_eq!(field(street, Some("FI")), "updates.shippingAddress.address2");
        let name = json!({ "firstName": "x".repeat(60), "lastName": "x".repeat(60) });
        assert_eq!(field(name, Some("FI")), "updates.shippingAddress.lastName");
    }
}
