//! Stores.

use primitives::{Currency, MerchantId, StoreSlug, Timestamp};

use crate::{Policies, Standing, StoreError};

/// A store with its policies, identity verification and standing.
#[derive(Debug, Clone)]
pub struct Store {
    pub merchant: MerchantId,
    /// Small unique number that in-memory tables and the search index use as a key.
    pub number: u32,
    pub slug: StoreSlug,
    pub name: String,
    pub legal_name: String,
    /// Merchant text: data, never instructions.
    pub description: String,
    pub website_url: String,
    /// Platform from which the catalog is synchronized.
    pub platform: String,
    /// An inactive store does not exist for agents.
    pub active: bool,
    /// ISO 3166, two letters.
    pub country: String,
    pub currency: Currency,
    pub languages: Vec<String>,
    /// ISO 3166, two letters each.
    pub ships_to: Vec<String>,
    pub support_email: String,
    pub member_since: Timestamp,
    /// Last complete import of the catalog.
    pub last_sync_at: Option<Timestamp>,
    /// Names of the top-level categories; written by `catalog`.
    pub departments: Vec<String>,
    /// Listed products that agents can see; written by `catalog`.
    pub product_count: i64,
    pub policies: Policies,
    pub identity: Identity,
    pub standing: Standing,
}

impl Store {
    /// Checks that agents can use the store. Returns `NotFound` for an inactive store and `Suspended` for a suspended one.
    pub fn admit(&self) -> Result<(), StoreError> {
        if !self.active {
            return Err(StoreError::NotFound);
        }
        if self.standing.is_suspended() {
            return Err(StoreError::Suspended);
        }
        Ok(())
    }

    /// Whether the store is the public demo store, which only sandbox keys may change
    /// (docs/contract/overview.md#demo-store).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.slug.as_str() == StoreSlug::DEMO
    }

    /// Checks that a caller may write. Returns `ReadOnly` for the demo store, unless the caller has a sandbox key.
    pub fn admit_write(&self, is_sandbox: bool) -> Result<(), StoreError> {
        if self.is_read_only() && !is_sandbox { Err(StoreError::ReadOnly) } else { Ok(()) }
    }
}

/// A store to create or update.
#[derive(Debug, Clone)]
pub struct NewStore {
    pub merchant: MerchantId,
    pub slug: StoreSlug,
    pub name: String,
    pub legal_name: String,
    pub description: String,
    pub website_url: String,
    /// Platform from which the catalog is synchronized.
    pub platform: String,
    /// An inactive store does not exist for agents.
    pub active: bool,
    /// ISO 3166, two letters.
    pub country: String,
    pub currency: Currency,
    pub languages: Vec<String>,
    /// ISO 3166, two letters each.
    pub ships_to: Vec<String>,
    pub support_email: String,
    pub member_since: Timestamp,
    /// Last complete import of the catalog.
    pub last_sync_at: Option<Timestamp>,
}

primitives::text_enum! {
    // docs/contract/stores.md#identity-verification
    /// Status of a merchant's identity verification.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum IdentityStatus {
        /// Not started.
        Unverified,
        /// In progress.
        Pending,
        /// The identity is verified.
        Verified,
        /// The verification failed.
        Failed,
    }
}

/// Identity verification of a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub status: IdentityStatus,
    pub level: Option<String>,
    pub method: Option<String>,
    pub verified_at: Option<Timestamp>,
}
