//! The noun.

use primitives::{Currency, MerchantId, StoreSlug, Timestamp};

use crate::{Standing, StoreError};

/// A store as agents may know it.
#[derive(Debug, Clone)]
pub struct Store {
    /// The tenant.
    pub merchant: MerchantId,
    /// A small number of its own, by which tables in memory and the search index address it.
    pub number: u32,
    /// Its name in addresses.
    pub slug: StoreSlug,
    /// Its name to people.
    pub name: String,
    /// The company behind it.
    pub legal_name: String,
    /// What it says of itself. Merchant text: data, never instructions.
    pub description: String,
    /// Its own site.
    pub website_url: String,
    /// Where its catalog comes from.
    pub platform: String,
    /// Whether it is open at all.
    pub active: bool,
    /// Where it is at home (ISO 3166, two letters).
    pub country: String,
    /// What it sells in.
    pub currency: Currency,
    /// Languages it serves in.
    pub languages: Vec<String>,
    /// Countries it ships to.
    pub ships_to: Vec<String>,
    /// Where buyers get help.
    pub support_email: String,
    /// When it joined.
    pub member_since: Timestamp,
    /// When its catalog was last brought in.
    pub last_sync_at: Option<Timestamp>,
    /// Its top categories.
    pub departments: Vec<String>,
    /// How many products it lists.
    pub product_count: i64,
    /// What it promises.
    pub policies: Policies,
    /// Who checked who it is.
    pub identity: Identity,
    /// Where it stands.
    pub standing: Standing,
}

impl Store {
    /// Whether agents may call on it: an inactive store does not exist to them, a suspended one is
    /// refused.
    pub fn admit(&self) -> Result<(), StoreError> {
        if !self.active {
            return Err(StoreError::NotFound);
        }
        if self.standing.is_suspended() {
            return Err(StoreError::Suspended);
        }
        Ok(())
    }

    /// Whether everybody may only look at it (spec §1.8).
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.slug.as_str() == StoreSlug::DEMO
    }

    /// Whether somebody may write here: at the store everybody looks at, only who plays in a sandbox.
    pub fn admit_write(&self, is_sandbox: bool) -> Result<(), StoreError> {
        if self.is_read_only() && !is_sandbox { Err(StoreError::ReadOnly) } else { Ok(()) }
    }
}

/// A store about to be registered.
#[derive(Debug, Clone)]
pub struct NewStore {
    /// The tenant.
    pub merchant: MerchantId,
    /// Its name in addresses.
    pub slug: StoreSlug,
    /// Its name to people.
    pub name: String,
    /// The company behind it.
    pub legal_name: String,
    /// What it says of itself.
    pub description: String,
    /// Its own site.
    pub website_url: String,
    /// Where its catalog comes from.
    pub platform: String,
    /// Whether it is open at all.
    pub active: bool,
    /// Where it is at home.
    pub country: String,
    /// What it sells in.
    pub currency: Currency,
    /// Languages it serves in.
    pub languages: Vec<String>,
    /// Countries it ships to.
    pub ships_to: Vec<String>,
    /// Where buyers get help.
    pub support_email: String,
    /// When it joined.
    pub member_since: Timestamp,
    /// When its catalog was last brought in.
    pub last_sync_at: Option<Timestamp>,
}

/// What a store promises. Everything is optional: a promise not made is not invented.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies {
    /// Days to return in.
    pub return_window_days: Option<i32>,
    /// Orders from this amount ship free, in minor units of the store's currency.
    pub free_shipping_threshold_minor: Option<i64>,
    /// The quickest delivery, in days.
    pub shipping_days_min: Option<i32>,
    /// The slowest delivery, in days.
    pub shipping_days_max: Option<i32>,
    /// How returns work.
    pub return_summary: Option<String>,
    /// How shipping works.
    pub shipping_summary: Option<String>,
    /// The privacy policy.
    pub privacy_url: Option<String>,
    /// The terms of sale.
    pub terms_url: Option<String>,
    /// The warranty.
    pub warranty_months: Option<i32>,
}

/// Whether somebody checked who the merchant is (decisions §4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentityStatus {
    /// Nobody did.
    Unverified,
    /// Somebody is at it.
    Pending,
    /// It holds.
    Verified,
    /// It did not hold.
    Failed,
}

impl IdentityStatus {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Unverified, "unverified"),
        (Self::Pending, "pending"),
        (Self::Verified, "verified"),
        (Self::Failed, "failed"),
    ];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("unverified", |(_, name)| name)
    }

    /// Reads a name; what is unknown counts as unverified.
    #[must_use]
    pub fn from_name(text: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map_or(Self::Unverified, |(status, _)| *status)
    }
}

/// The identity check of a merchant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// How it went.
    pub status: IdentityStatus,
    /// How thorough it was.
    pub level: Option<String>,
    /// How it was done.
    pub method: Option<String>,
    /// When it was done.
    pub verified_at: Option<Timestamp>,
}
