//! The store's name in URLs. Its only constructor validates, so that `invalid_slug` has exactly one source.

use std::fmt;
use std::str::FromStr;

use crate::{Details, ErrorCode, Problem};

/// A store slug: 1 to 63 letters, digits and hyphens (docs/contract/stores.md#slug), stored in lower case.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoreSlug(String);

/// Error returned when a text is not a store slug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a store slug is 1 to {} letters, digits and hyphens", StoreSlug::LENGTH_MAX)]
pub struct InvalidSlug;

impl StoreSlug {
    /// Length of a DNS label, so that a slug can become a subdomain.
    pub const LENGTH_MAX: usize = 63;
    /// Slug of the public demo store (docs/contract/overview.md#demo-store).
    pub const DEMO: &str = "demo-store";

    /// Words that are no slugs of stores: paths of the service begin with them, or may.
    const RESERVED: &[&str] = &[
        "about",
        "account",
        "admin",
        "api",
        "assets",
        "dashboard",
        "demo",
        "docs",
        "health",
        "help",
        "login",
        "logout",
        "mcp",
        "merchant",
        "merchants",
        "metrics",
        "oauth",
        "orders",
        "privacy",
        "products",
        "search",
        "settings",
        "sign-up",
        "signup",
        "static",
        "store",
        "stores",
        "support",
        "terms",
        "well-known",
        "www",
    ];

    /// Whether no new store may have this slug (docs/contract/stores.md#reserved-slugs).
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        Self::RESERVED.contains(&self.as_str())
    }

    /// Returns the slug as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StoreSlug {
    type Err = InvalidSlug;
    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let fits = (1..=Self::LENGTH_MAX).contains(&text.len());
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if fits && text.bytes().all(allowed) {
            Ok(Self(text.to_ascii_lowercase()))
        } else {
            Err(InvalidSlug)
        }
    }
}

impl fmt::Display for StoreSlug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for StoreSlug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Problem for InvalidSlug {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidSlug
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "slug");
        details.insert("hint", "GET /api/v1/stores/directory lists the stores and their slugs");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_digits_and_hyphens_only() {
        assert_eq!("Demo-Store".parse::<StoreSlug>().unwrap().as_str(), "demo-store");
        for wrong in ["", "demo store", "demo_store", "démo", "a/b", "..", &"a".repeat(64)] {
            assert_eq!(wrong.parse::<StoreSlug>(), Err(InvalidSlug), "{wrong} was accepted");
        }
    }

    #[test]
    fn words_that_begin_paths_are_reserved() {
        for word in ["stores", "Stores", "api", "assets", "demo", "health", "mcp"] {
            assert!(word.parse::<StoreSlug>().unwrap().is_reserved(), "{word}");
        }
        assert!(!StoreSlug::DEMO.parse::<StoreSlug>().unwrap().is_reserved());
        assert!(!"stores-of-ada".parse::<StoreSlug>().unwrap().is_reserved());
    }
}
