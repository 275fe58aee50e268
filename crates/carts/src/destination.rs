//! Shipping destinations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CartError, text};

/// A shipping destination. The country alone is enough for a price; shipping needs the full address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// ISO 3166-1 alpha-2 country code.
    #[schemars(regex(pattern = Self::COUNTRY_PATTERN))]
    pub country: String,
    /// State, province or region.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Postal code.
    #[schemars(length(min = 1, max = Self::POSTAL_CODE_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// City.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Street and house number.
    #[schemars(length(min = 1, max = Self::STREET_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// Name of the recipient.
    #[schemars(length(min = 1, max = Self::TEXT_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    pub(crate) fn validated(self) -> Result<Self, CartError> {
        let country = self.country.to_ascii_uppercase();
        if country.len() != 2 || !country.bytes().all(|letter| letter.is_ascii_uppercase()) {
            return Err(CartError::InvalidCountry);
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
