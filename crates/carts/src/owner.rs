//! The agent that owns a cart, and the buyer.

use catalog::StockPool;
use primitives::KeyId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CartError, text};

/// The agent that owns a cart, identified by the key that created it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CartOwner {
    pub key: KeyId,
    /// The name given to the key; shown to the person who approves the purchase. Untrusted text.
    pub name: String,
    /// Whether the key is a sandbox key; its orders are not sales.
    pub is_sandbox: bool,
}

impl CartOwner {
    /// Returns the stock pool the agent buys from.
    #[must_use]
    pub const fn stock_pool(&self) -> StockPool {
        if self.is_sandbox { StockPool::Sandbox(self.key) } else { StockPool::Store }
    }
}

/// The buyer, as far as the agent states it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buyer {
    /// Email address for the receipt.
    #[schemars(length(min = 1, max = Self::EMAIL_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Given name.
    #[schemars(length(min = 1, max = Self::NAME_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// Family name.
    #[schemars(length(min = 1, max = Self::NAME_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// Telephone number.
    #[schemars(length(min = 1, max = Self::PHONE_LENGTH_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
}

impl Buyer {
    const EMAIL_LENGTH_MAX: usize = 254;
    const NAME_LENGTH_MAX: usize = 100;
    const PHONE_LENGTH_MAX: usize = 40;

    /// Returns the buyer with every text normalized to one line, or an error if a text or the email is invalid.
    pub(crate) fn validated(self) -> Result<Self, CartError> {
        let email = text::optional("buyer.email", self.email, Self::EMAIL_LENGTH_MAX)?;
        let is_address = |email: &String| email.contains('@') && !email.contains(' ');
        if email.as_ref().is_some_and(|email| !is_address(email)) {
            return Err(CartError::InvalidEmail);
        }
        Ok(Self {
            email,
            first_name: text::optional("buyer.first_name", self.first_name, Self::NAME_LENGTH_MAX)?,
            last_name: text::optional("buyer.last_name", self.last_name, Self::NAME_LENGTH_MAX)?,
            phone_number: text::optional(
                "buyer.phone_number",
                self.phone_number,
                Self::PHONE_LENGTH_MAX,
            )?,
        })
    }
}
