//! What a call counts against.

use primitives::{Plan, StoreSlug};

/// Calls a minute of each plan (spec §8).
#[must_use]
pub const fn tier_limit(plan: Plan) -> u32 {
    match plan {
        Plan::Free | Plan::Starter => 30,
        Plan::Growth => 200,
        Plan::Pro => 1_000,
        Plan::Enterprise => 5_000,
    }
}

/// What kind of call it is: what becomes of it while Redis is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Looking.
    Read,
    /// Carts and checkout.
    Write,
    /// Logins, keys, and credentials that were wrong.
    Credential,
    /// Money.
    Payment,
}

impl Class {
    /// The share of one process while Redis is away.
    pub(crate) fn alone(self, limit: u32) -> u32 {
        match self {
            Self::Read => limit,
            Self::Write => (limit / 2).max(1),
            Self::Credential => limit.min(5),
            Self::Payment => limit.min(2),
        }
    }
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// All calls of a caller.
    Tier,
    /// Calls of one tool at one store.
    Tool,
}

impl Bucket {
    /// Its name in errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tier => "tier",
            Self::Tool => "tool",
        }
    }
}

/// What a call counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charge {
    pub(crate) class: Class,
    /// Bucket, name among the caller's counts, calls a minute.
    pub(crate) buckets: Vec<(Bucket, String, u32)>,
}

impl Charge {
    /// Against the caller's share as a whole. Shares of different kinds are counted apart: `mcp`, `public`, `login`.
    #[must_use]
    pub fn tier(class: Class, share: &str, limit: u32) -> Self {
        Self { class, buckets: vec![(Bucket::Tier, share.to_owned(), limit)] }
    }

    /// And against that of a tool at a store; at none, if it acts on all of them.
    #[must_use]
    pub fn and_tool(mut self, store: Option<&StoreSlug>, tool: &str, limit: u32) -> Self {
        // No slug has this sign.
        let store = store.map_or("*", StoreSlug::as_str);
        self.buckets.push((Bucket::Tool, format!("{store}/{tool}"), limit));
        self
    }
}
