//! Where goods go.

use serde::{Deserialize, Serialize};

/// A place. Country alone is enough for a price; a street is needed to send something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// ISO 3166 code of two letters.
    pub country: String,
    /// A part of the country.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The postal code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    /// The town.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Street and number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub street: Option<String>,
    /// Who it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
