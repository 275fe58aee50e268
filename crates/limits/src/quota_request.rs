//! The quotas a call counts against.

use primitives::StoreSlug;

/// The class of a call, which determines its limit in degraded mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Read,
    /// Carts and checkout.
    Write,
    /// Logins, keys, and invalid credentials.
    Credential,
    Payment,
}

impl Class {
    /// Returns the limit of one process in degraded mode.
    pub(crate) fn degraded_limit(self, limit: u32) -> u32 {
        match self {
            Self::Read => limit,
            Self::Write => (limit / 2).max(1),
            Self::Credential => limit.min(5),
            Self::Payment => limit.min(2),
        }
    }
}

primitives::text_enum! {
    /// The kind of a quota.
    #[strum(serialize_all = "snake_case")]
    pub enum Bucket {
        /// All calls of a caller.
        Tier,
        /// Calls of one tool at one store.
        Tool,
    }
}

/// One quota of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) bucket: Bucket,
    /// Name of the count within the caller's window.
    pub(crate) key: String,
    /// Calls per minute.
    pub(crate) limit: u32,
}

/// The quotas a call counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaRequest {
    pub(crate) class: Class,
    pub(crate) quotas: Vec<Quota>,
}

impl QuotaRequest {
    /// Counts against a quota for all calls of the caller. Different quotas (`mcp`, `public`, `login`) are counted
    /// separately.
    #[must_use]
    pub fn tier(class: Class, quota: &str, limit: u32) -> Self {
        let tier = Quota { bucket: Bucket::Tier, key: quota.to_owned(), limit };
        Self { class, quotas: vec![tier] }
    }

    /// Also counts against the quota of a tool at a store; `None` for tools that act on all stores.
    #[must_use]
    pub fn and_tool(mut self, store: Option<&StoreSlug>, tool: &str, limit: u32) -> Self {
        // `*` cannot occur in a slug.
        let store = store.map_or("*", StoreSlug::as_str);
        let key = format!("{store}/{tool}");
        self.quotas.push(Quota { bucket: Bucket::Tool, key, limit });
        self
    }
}
