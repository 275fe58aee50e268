//! Permissions of agent keys.

use std::collections::BTreeSet;

crate::text_enum! {
    /// A permission of an agent key (docs/contract/authentication.md#scopes).
    pub enum Scope {
        /// Browse and search catalogs.
        #[strum(serialize = "agent:read")]
        AgentRead,
        /// Create and change carts.
        #[strum(serialize = "agent:cart")]
        AgentCart,
        /// Check out.
        #[strum(serialize = "agent:checkout")]
        AgentCheckout,
        /// Read and return orders.
        #[strum(serialize = "agent:orders")]
        AgentOrders,
    }
}

/// Error returned by [`Scope::parse_list`] for a name that is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope")]
pub struct UnknownScope;

impl Scope {
    /// Parses a list of names. Also accepts the aliases `search`, `checkout` and `orders`
    /// (docs/contract/authentication.md#scope-aliases).
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
                    scopes.insert(Self::parse(name).ok_or(UnknownScope)?);
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
    fn both_naming_sets_are_accepted() {
        let scopes = Scope::parse_list(["search", "checkout", "agent:orders"]).unwrap();
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), Scope::ALL);
        assert_eq!(Scope::parse_list(["agent:admin"]), Err(UnknownScope));
    }
}
