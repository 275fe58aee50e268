//! The wire form of a store, served by both doors.

use primitives::{Money, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::standing::{AGENT_THRESHOLD, SUSPENSION_THRESHOLD};
use crate::{Band, IdentityStatus, Policies, Store};

/// A merchant's profile: who it is, how far it can be trusted, what it promises.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreRecord {
    /// The store's name in addresses.
    pub slug: String,
    /// The store's name.
    pub name: String,
    /// The company behind it.
    pub legal_name: String,
    /// What the merchant says of itself.
    pub description: String,
    /// The merchant's own site.
    pub website_url: String,
    /// Home country, ISO 3166.
    pub country: String,
    /// Currencies prices are in.
    pub currencies: Vec<String>,
    /// Languages the merchant serves in.
    pub languages: Vec<String>,
    /// Countries the merchant ships to.
    pub ships_to: Vec<String>,
    /// Top categories.
    pub categories: Vec<String>,
    /// How many products are listed.
    pub product_count: i64,
    /// Where the catalog is synchronised from.
    pub platform: String,
    /// Trust score, 0 to 1; null while the store is unscored.
    pub trust_score: Option<f64>,
    /// The trust label.
    pub verification_level: Option<Band>,
    /// More about trust.
    pub trust: TrustRecord,
    /// Whether somebody checked who the merchant is.
    pub identity_verification: IdentityRecord,
    /// What the merchant promises.
    pub policies: PolicyRecord,
    /// Where buyers get help.
    pub support: SupportRecord,
    /// Where agents connect.
    pub endpoints: EndpointsRecord,
    /// When the store joined.
    pub member_since: Timestamp,
    /// When the catalog was last brought in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_at: Option<Timestamp>,
}

/// Trust, and what follows from it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrustRecord {
    /// Trust score, 0 to 1; null while the store is unscored.
    pub score: Option<f64>,
    /// The label.
    pub label: Option<Band>,
    /// True below twenty completed orders.
    pub provisional: bool,
    /// When it was computed.
    pub computed_at: Timestamp,
    /// Whether agents may check out here.
    pub agent_checkout: bool,
    /// Least score for agent checkout.
    pub agent_threshold: f64,
    /// Below it a store is suspended.
    pub suspension_threshold: f64,
}

/// The identity check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IdentityRecord {
    /// How it went.
    pub status: IdentityStatus,
    /// How thorough it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// How it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// When it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Timestamp>,
}

/// What a store promises (spec §2.2). What it does not promise is left out.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PolicyRecord {
    /// Days to return in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_window_days: Option<i64>,
    /// Order amount above which shipping is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_shipping_threshold: Option<f64>,
    /// A range of days, `<min>-<max>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_estimate_days: Option<String>,
    /// How returns work, in the merchant's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_summary: Option<String>,
    /// How shipping works, in the merchant's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shipping_summary: Option<String>,
    /// The privacy policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub privacy_url: Option<String>,
    /// The terms of sale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terms_url: Option<String>,
    /// The warranty, in months.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warranty_months: Option<i64>,
}

/// Help for buyers.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SupportRecord {
    /// A mail address.
    pub email: String,
}

/// Where agents connect.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndpointsRecord {
    /// The store's MCP endpoint.
    pub mcp: String,
}

/// A line of the directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreSummary {
    /// The store's name in addresses.
    pub slug: String,
    /// The store's name.
    pub name: String,
    /// What the merchant says of itself.
    pub description: String,
    /// Home country, ISO 3166.
    pub country: String,
    /// Top categories.
    pub categories: Vec<String>,
    /// How many products are listed.
    pub product_count: i64,
    /// Where the catalog is synchronised from.
    pub platform: String,
    /// Trust score, 0 to 1; null while the store is unscored.
    pub trust_score: Option<f64>,
    /// The trust label.
    pub verification_level: Option<Band>,
    /// True below twenty completed orders.
    pub provisional: bool,
    /// Whether somebody checked who the merchant is.
    pub identity_verification: IdentityStatus,
    /// Where agents connect.
    pub endpoints: EndpointsRecord,
}

impl Store {
    /// The profile. `site_url` is where this service is reached.
    #[must_use]
    pub fn record(&self, site_url: &str) -> StoreRecord {
        StoreRecord {
            slug: self.slug.to_string(),
            name: self.name.clone(),
            legal_name: self.legal_name.clone(),
            description: self.description.clone(),
            website_url: self.website_url.clone(),
            country: self.country.clone(),
            currencies: vec![self.currency.to_string()],
            languages: self.languages.clone(),
            ships_to: self.ships_to.clone(),
            categories: self.departments.clone(),
            product_count: self.product_count,
            platform: self.platform.clone(),
            trust_score: self.standing.score,
            verification_level: self.standing.band(),
            trust: self.trust_record(),
            identity_verification: IdentityRecord {
                status: self.identity.status,
                level: self.identity.level.clone(),
                method: self.identity.method.clone(),
                verified_at: self.identity.verified_at,
            },
            policies: self.policy_record(),
            support: SupportRecord { email: self.support_email.clone() },
            endpoints: self.endpoints(site_url),
            member_since: self.member_since,
            last_sync_at: self.last_sync_at,
        }
    }

    /// The line of the directory.
    #[must_use]
    pub fn summary(&self, site_url: &str) -> StoreSummary {
        StoreSummary {
            slug: self.slug.to_string(),
            name: self.name.clone(),
            description: self.description.clone(),
            country: self.country.clone(),
            categories: self.departments.clone(),
            product_count: self.product_count,
            platform: self.platform.clone(),
            trust_score: self.standing.score,
            verification_level: self.standing.band(),
            provisional: self.standing.provisional,
            identity_verification: self.identity.status,
            endpoints: self.endpoints(site_url),
        }
    }

    /// What it promises, as a product shows it.
    #[must_use]
    pub fn policy_record(&self) -> PolicyRecord {
        let Policies { shipping_days_min, shipping_days_max, .. } = &self.policies;
        let threshold = self.policies.free_shipping_threshold_minor;
        PolicyRecord {
            return_window_days: self.policies.return_window_days.map(i64::from),
            free_shipping_threshold: threshold
                .map(|minor| Money::new(minor, self.currency).to_decimal()),
            shipping_estimate_days: shipping_days_min
                .zip(*shipping_days_max)
                .map(|(min, max)| format!("{min}-{max}")),
            return_summary: self.policies.return_summary.clone(),
            shipping_summary: self.policies.shipping_summary.clone(),
            privacy_url: self.policies.privacy_url.clone(),
            terms_url: self.policies.terms_url.clone(),
            warranty_months: self.policies.warranty_months.map(i64::from),
        }
    }

    fn trust_record(&self) -> TrustRecord {
        TrustRecord {
            score: self.standing.score,
            label: self.standing.band(),
            provisional: self.standing.provisional,
            computed_at: self.standing.computed_at,
            agent_checkout: self.standing.takes_checkout(),
            agent_threshold: AGENT_THRESHOLD,
            suspension_threshold: SUSPENSION_THRESHOLD,
        }
    }

    fn endpoints(&self, site_url: &str) -> EndpointsRecord {
        EndpointsRecord { mcp: format!("{site_url}/{}/mcp", self.slug) }
    }
}
