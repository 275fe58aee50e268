//! Whose cart it is, and who buys.

use catalog::Shelf;
use primitives::KeyId;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buyer {
    /// Where the receipt goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The first name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_name: Option<String>,
    /// The last name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_name: Option<String>,
    /// A telephone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
}
