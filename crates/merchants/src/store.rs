//! Stores.

use primitives::{Currency, MerchantId, StoreSlug, Timestamp};

use crate::settings::check::{Checked, country, ensure, text, web_url};
use crate::{Policies, Standing, StoreError};

/// Longest name of a store.
const NAME_CHARACTERS_MAX: usize = 200;

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
    /// What operators or owners decided about the store.
    pub status: StoreStatus,
    /// Whether an owner paused or closed the store, who may then reopen it.
    pub status_by_owner: bool,
    /// What an owner decided; an operator's decision is in force before it.
    pub owner_status: StoreStatus,
    /// ISO 3166, two letters.
    pub country: String,
    pub currency: Currency,
    pub languages: Vec<String>,
    /// ISO 3166, two letters each.
    pub ships_to: Vec<String>,
    pub support_email: String,
    /// Empty if not stated.
    pub support_url: String,
    /// Empty if not stated.
    pub logo_url: String,
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
    /// Checks that agents can use the store. Returns `NotFound` for an inactive store and `Suspended` for one that is
    /// suspended, paused or closed. Not for what somebody already has there (docs/contract/stores.md#unavailable-exceptions).
    pub fn admit(&self) -> Result<(), StoreError> {
        if !self.active {
            return Err(StoreError::NotFound);
        }
        match self.unavailability() {
            Some(reason) => Err(StoreError::Suspended(reason)),
            None => Ok(()),
        }
    }

    /// Whether agents discover the store: it is active and neither suspended, paused nor closed.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        self.active && self.unavailability().is_none()
    }

    /// Returns why the store is suspended, if it is: by an operator, or else by its trust score.
    fn unavailability(&self) -> Option<Unavailability> {
        match self.status {
            StoreStatus::Suspended => Some(Unavailability::Suspended),
            StoreStatus::Paused => Some(Unavailability::Paused),
            StoreStatus::Closed => Some(Unavailability::Closed),
            StoreStatus::Open if self.standing.is_suspended() => {
                Some(Unavailability::LowTrustScore)
            }
            StoreStatus::Open => None,
        }
    }

    /// Whether the store is the public demo store, which only sandbox keys may change
    /// (docs/contract/overview.md#demo-store).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.slug.as_str() == StoreSlug::DEMO
    }

    /// Whether only sandbox keys can buy at the store, so that nothing is sold there.
    #[must_use]
    pub fn sells_to_sandboxes_only(&self) -> bool {
        self.is_read_only()
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

impl NewStore {
    /// Creates an active store that is described no further.
    #[must_use]
    pub fn new(
        merchant: MerchantId,
        slug: StoreSlug,
        name: String,
        country: String,
        currency: Currency,
        member_since: Timestamp,
    ) -> Self {
        Self {
            merchant,
            slug,
            legal_name: name.clone(),
            name,
            description: String::new(),
            website_url: String::new(),
            platform: String::from("api"),
            active: true,
            country,
            currency,
            languages: Vec::new(),
            ships_to: Vec::new(),
            support_email: String::new(),
            member_since,
            last_sync_at: None,
        }
    }

    /// Returns the first error of what an operator enters, if any.
    pub(crate) fn check(&self) -> Checked {
        let allowed = "no reserved word, such as api or stores";
        ensure(!self.slug.is_reserved(), "slug", allowed)?;
        text("name", &self.name, NAME_CHARACTERS_MAX)?;
        text("legal_name", &self.legal_name, NAME_CHARACTERS_MAX)?;
        country("country", &self.country)?;
        ensure(self.currency.is_supported(), "currency", Currency::SUPPORTED_CODES)?;
        if !self.website_url.is_empty() {
            web_url("website_url", &self.website_url)?;
        }
        let is_address = self.support_email.parse::<identity::Email>().is_ok();
        let is_right = self.support_email.is_empty() || is_address;
        ensure(is_right, "support_email", "an email address")
    }
}

primitives::text_enum! {
    // docs/contract/stores.md#availability
    /// What operators or owners decided about a store. All but `open` have the effects of a suspension.
    #[derive(Default, schemars::JsonSchema)]
    #[schemars(rename_all = "lowercase")]
    #[strum(serialize_all = "lowercase")]
    pub enum StoreStatus {
        /// Agents can use the store, unless its trust score suspends it.
        #[default]
        Open,
        /// Suspended by an operator.
        Suspended,
        /// Closed for a while.
        Paused,
        /// Closed for good.
        Closed,
    }
}

primitives::text_enum! {
    // docs/contract/stores.md#availability
    /// Why a store is suspended; `details.reason` of `store_suspended`.
    #[strum(serialize_all = "snake_case")]
    pub enum Unavailability {
        /// The trust score is below 0.20.
        LowTrustScore,
        /// An operator suspended the store.
        Suspended,
        /// The store is closed for a while.
        Paused,
        /// The store is closed for good.
        Closed,
    }
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
