//! Permissions of store keys.

use std::collections::BTreeSet;

use crate::IdentityError;

primitives::text_enum! {
    /// A permission of a store key (docs/contract/authentication.md#store-key-scopes).
    #[strum(serialize_all = "lowercase")]
    pub enum StoreScope {
        /// Products, inventory, prices, imports, data quality and search analytics.
        Catalog,
        /// Checkouts, stock holds, payment reports and orders.
        Orders,
        /// Webhook endpoints.
        Webhooks,
        /// Settings, except those that only owners change, and notices.
        Settings,
    }
}

impl StoreScope {
    /// The scopes of a key for which none are requested.
    pub const DEFAULT: &'static [Self] = &[Self::Catalog, Self::Orders];

    /// Parses a list of names. Returns `InvalidStoreScopes` for an unknown name and for an empty list.
    pub fn parse_list<'a>(
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeSet<Self>, IdentityError> {
        let scopes: Option<BTreeSet<Self>> = names.into_iter().map(Self::parse).collect();
        scopes.filter(|scopes| !scopes.is_empty()).ok_or(IdentityError::InvalidStoreScopes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_at_least_one_known_scope() {
        let scopes = StoreScope::parse_list(["orders", "catalog", "orders"]).unwrap();
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), StoreScope::DEFAULT);
        for wrong in [&[][..], &["catalog", "agent:read"], &["Catalog"]] {
            let parsed = StoreScope::parse_list(wrong.iter().copied());
            assert!(matches!(parsed, Err(IdentityError::InvalidStoreScopes)), "{wrong:?}");
        }
    }
}
