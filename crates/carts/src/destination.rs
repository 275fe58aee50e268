//! Shipping destinations.

use primitives::country;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CartError, text};

/// A shipping destination. The country alone is enough for a price; shipping needs the full address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-former-names" = ["ship_to", "shipping_address"]))]
pub struct Destination {
    /// ISO 3166-1 alpha-2 country code.
    #[schemars(regex(pattern = Self::COUNTRY_PATTERN))]
    #[schemars(extend("x-former-names" = ["../ship_to", "../country"]))]
    pub country: String,
    /// State, province or region.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-former-names" = ["../region"]))]
    pub region: Option<String>,
    /// Postal code.
    #[schemars(length(min = 1, max = Self::POSTAL_CODE_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-former-names" = ["../postal_code"]))]
    pub postal_code: Option<String>,
    /// City.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-former-names" = ["../city"]))]
    pub city: Option<String>,
    /// Street and house number.
    #[schemars(length(min = 1, max = Self::STREET_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-former-names" = ["../street"]))]
    pub street: Option<String>,
    /// Name of the recipient.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-former-names" = ["../name"]))]
    pub name: Option<String>,
}

impl Destination {
    /// The pattern of a country code. Doors advertise it.
    pub const COUNTRY_PATTERN: &str = "^[A-Za-z]{2}$";
    /// Most characters of region, city and recipient.
    pub const TEXT_LENGTH_MAX: usize = 100;
    /// Most characters of a postal code.
    pub const POSTAL_CODE_LENGTH_MAX: usize = 20;
    /// Most characters of street and house number.
    pub const STREET_LENGTH_MAX: usize = 200;

    /// Returns the destination with an upper-case country and every text normalized to one line, or an error if one is
    /// invalid.
    pub fn validated(self) -> Result<Self, CartError> {
        let country = self.country.to_ascii_uppercase();
        if !country::is_country(&country) {
            return Err(CartError::InvalidCountry { nearest: country::nearest(&country) });
        }
        Ok(Self {
            country,
            region: text::optional("destination.region", self.region, Self::TEXT_LENGTH_MAX)?,
            postal_code: text::optional(
                "destination.postal_code",
                self.postal_code,
                Self::POSTAL_CODE_LENGTH_MAX,
            )?,
            city: text::optional("destination.city", self.city, Self::TEXT_LENGTH_MAX)?,
            street: text::optional("destination.street", self.street, Self::STREET_LENGTH_MAX)?,
            name: text::optional("destination.name", self.name, Self::TEXT_LENGTH_MAX)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use primitives::{Failure, Problem as _};

    use super::*;

    fn to(country: &str) -> Result<Destination, CartError> {
        Destination { country: country.to_owned(), ..Destination::default() }.validated()
    }

    #[test]
    fn a_code_that_is_no_country_is_refused_with_the_one_that_is_meant() {
        assert_eq!(to("gb").unwrap().country, "GB");
        for (sent, nearest) in [("UK", Some("GB")), ("el", Some("GR")), ("XX", None), ("", None)] {
            let error = to(sent).unwrap_err();
            assert_eq!(error.code().status(), 400);
            let details = Failure::from(error).envelope("req_1")["details"].clone();
            assert_eq!(details["field"], "destination.country");
            assert_eq!(details["did_you_mean"].as_str(), nearest, "{sent}");
            assert_eq!(details["allowed"], country::ALLOWED);
        }
    }
}
