//! Whose cart it is, and who buys.

use catalog::Shelf;
use primitives::KeyId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CartError, text};

/// An agent, by the key its carts are made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The key.
    pub key: KeyId,
    /// What the key's owner calls it: the person who is asked to approve reads it.
    pub name: String,
    /// Whether it plays in a sandbox: what it buys is no sale.
    pub is_sandbox: bool,
}

impl Owner {
    /// The shelf it buys from.
    #[must_use]
    pub const fn shelf(&self) -> Shelf {
        if self.is_sandbox { Shelf::Sandbox(self.key) } else { Shelf::Store }
    }
}

/// Who buys, as far as the agent says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buyer {
    /// Where the receipt goes.
    #[schemars(length(min = 1, max = 254))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The first name.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[schemars(length(min = 1, max = 100))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// A telephone number.
    #[schemars(length(min = 1, max = 40))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
}

impl Buyer {
    /// As it is kept: every text one plain line, and an email that could be one.
    pub(crate) fn checked(self) -> Result<Self, CartError> {
        let email = text::optional("email", self.email, 254)?;
        let is_address = |email: &String| email.contains('@') && !email.contains(' ');
        if email.as_ref().is_some_and(|email| !is_address(email)) {
            return Err(CartError::InvalidEmail);
        }
        Ok(Self {
            email,
            first_name: text::optional("first_name", self.first_name, 100)?,
            last_name: text::optional("last_name", self.last_name, 100)?,
            phone_number: text::optional("phone_number", self.phone_number, 40)?,
        })
    }
}
