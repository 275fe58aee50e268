//! Where goods go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CartError, text};

/// A place. Country alone is enough for a price; a street is needed to send something.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// ISO 3166 code of two letters.
    #[schemars(regex(pattern = "^[A-Za-z]{2}$"))]
    pub country: String,
    /// A part of the country.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The postal code.
    #[schemars(length(min = 1, max = 20))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// The town.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Street and number.
    #[schemars(length(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// Who it is for.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl Destination {
    /// As it is kept: the country in capitals, every text one plain line.
    pub(crate) fn checked(self) -> Result<Self, CartError> {
        let country = self.country.to_ascii_uppercase();
        if country.len() != 2 || !country.bytes().all(|letter| letter.is_ascii_uppercase()) {
            return Err(CartError::InvalidCountry);
        }
        Ok(Self {
            country,
            region: text::optional("region", self.region, 100)?,
            postal_code: text::optional("postal_code", self.postal_code, 20)?,
            city: text::optional("city", self.city, 100)?,
            street: text::optional("street", self.street, 200)?,
            name: text::optional("name", self.name, 100)?,
        })
    }
}
