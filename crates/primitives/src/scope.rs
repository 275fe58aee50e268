//! What a key may do.

use std::collections::BTreeSet;

/// A permission of an agent key (spec §2.5, decisions §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub enum Scope {
    /// Catalog browsing.
    #[serde(rename = "agent:read")]
    AgentRead,
    /// Cart creation.
    #[serde(rename = "agent:cart")]
    AgentCart,
    /// Checkout initiation.
    #[serde(rename = "agent:checkout")]
    AgentCheckout,
    /// Reading and returning orders.
    #[serde(rename = "agent:orders")]
    AgentOrders,
}

/// The text names no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scope is not known")]
pub struct UnknownScope;

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] =
        [Self::AgentRead, Self::AgentCart, Self::AgentCheckout, Self::AgentOrders];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AgentRead => "agent:read",
            Self::AgentCart => "agent:cart",
            Self::AgentCheckout => "agent:checkout",
            Self::AgentOrders => "agent:orders",
        }
    }

    /// Reads a list of names. The second naming set of spec §2.5 is accepted: `search`, `checkout`
    /// and `orders` stand for the scopes of decisions §5.
    pub fn parse_list<'a>(
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeSet<Self>, UnknownScope> {
        let mut scopes = BTreeSet::new();
        for name in names {
            match name {
                "search" => scopes.extend([Self::AgentRead]),
                "checkout" => scopes.extend([Self::AgentCart, Self::AgentCheckout]),
                "orders" => scopes.extend([Self::AgentOrders]),
                _ => {
                    let found = Self::ALL.into_iter().find(|scope| scope.name() == name);
                    scopes.insert(found.ok_or(UnknownScope)?);
                }
            }
        }
        Ok(scopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_naming_sets_are_read() {
        let scopes = Scope::parse_list(["search", "checkout", "agent:orders"]).unwrap();
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), Scope::ALL);
        assert_eq!(Scope::parse_list(["agent:admin"]), Err(UnknownScope));
    }
}
