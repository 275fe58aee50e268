//! Stores in API responses, the same for REST and MCP.

use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::standing::{AGENT_THRESHOLD, SUSPENSION_THRESHOLD};
use crate::{Band, IdentityStatus, PolicyRecord, Store};

/// Profile of a store: identity, trust and policies.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreRecord {
    /// Store slug, as in URLs.
    pub slug: String,
    /// Store name.
    pub name: String,
    /// Legal name of the company.
    pub legal_name: String,
    /// Description by the merchant.
    pub description: String,
    /// Website of the merchant.
    pub website_url: String,
    /// URL of the logo; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo_url: Option<String>,
    /// Home country, ISO 3166, two letters.
    pub country: String,
    /// Currencies of the prices.
    pub currencies: Vec<String>,
    /// Languages of the store.
    pub languages: Vec<String>,
    /// Countries to which the store ships, ISO 3166.
    pub ships_to: Vec<String>,
    /// Names of the top-level categories.
    pub categories: Vec<String>,
    /// Number of listed products.
    pub product_count: i64,
    /// Platform from which the catalog is synchronized.
    pub platform: String,
    /// Trust score, 0 to 1; null while the store has no score.
    pub trust_score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    pub verification_level: Option<Band>,
    /// Details of the trust score.
    pub trust: TrustRecord,
    /// Identity verification of the merchant.
    pub identity_verification: IdentityRecord,
    /// Return, shipping and warranty policies.
    pub policies: PolicyRecord,
    /// Customer support.
    pub support: SupportRecord,
    /// Endpoints for agents.
    pub endpoints: EndpointsRecord,
    /// When the store was registered.
    pub member_since: Timestamp,
    /// Last complete import of the catalog; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sync_at: Option<Timestamp>,
}

/// Trust score of a store and what follows from it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TrustRecord {
    /// Trust score, 0 to 1; null while the store has no score.
    pub score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    pub label: Option<Band>,
    /// True while the score is based on fewer than twenty delivered orders.
    pub provisional: bool,
    /// When the score was computed.
    pub computed_at: Timestamp,
    /// Whether the trust score and standing of the store allow agents to check out. `list_payment_methods` says whether a
    /// person can pay.
    pub agent_checkout: bool,
    /// Minimum score for agent checkout.
    pub agent_threshold: f64,
    /// Stores with a lower score are suspended.
    pub suspension_threshold: f64,
}

/// Identity verification of a merchant.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct IdentityRecord {
    /// Status of the verification.
    pub status: IdentityStatus,
    /// Level of the verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Method of the verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// When the identity was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Timestamp>,
}

/// Customer support of a store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SupportRecord {
    /// Email address.
    pub email: String,
    /// URL of the support page; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Endpoints of a store for agents.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EndpointsRecord {
    /// URL of the store's MCP endpoint.
    pub mcp: String,
}

/// A store in the directory.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreSummary {
    /// Store slug, as in URLs.
    pub slug: String,
    /// Store name.
    pub name: String,
    /// Description by the merchant.
    pub description: String,
    /// Home country, ISO 3166, two letters.
    pub country: String,
    /// Names of the top-level categories.
    pub categories: Vec<String>,
    /// Number of listed products.
    pub product_count: i64,
    /// Platform from which the catalog is synchronized.
    pub platform: String,
    /// Trust score, 0 to 1; null while the store has no score.
    pub trust_score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    pub verification_level: Option<Band>,
    /// True while the score is based on fewer than twenty delivered orders.
    pub provisional: bool,
    /// Status of the merchant's identity verification.
    pub identity_verification: IdentityStatus,
    /// Endpoints for agents.
    pub endpoints: EndpointsRecord,
}

impl Store {
    /// Whether agents may check out here: the store is active and neither suspended, paused nor closed, and its trust score
    /// is high enough. Whether a person can pay is not considered.
    #[must_use]
    pub fn allows_agent_checkout(&self) -> bool {
        self.is_listed() && self.standing.allows_agent_checkout()
    }

    /// Returns the profile. `site_url` is the public URL of this service.
    #[must_use]
    pub fn record(&self, site_url: &str) -> StoreRecord {
        StoreRecord {
            slug: self.slug.to_string(),
            name: self.name.clone(),
            legal_name: self.legal_name.clone(),
            description: self.description.clone(),
            website_url: self.website_url.clone(),
            logo_url: stated(&self.logo_url),
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
            support: SupportRecord {
                email: self.support_email.clone(),
                url: stated(&self.support_url),
            },
            endpoints: self.endpoints(site_url),
            member_since: self.member_since,
            last_sync_at: self.last_sync_at,
        }
    }

    /// Returns the entry of the directory.
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

    /// Returns the policies as agents see them.
    #[must_use]
    pub fn policy_record(&self) -> PolicyRecord {
        self.policies.record(self.currency)
    }

    fn trust_record(&self) -> TrustRecord {
        TrustRecord {
            score: self.standing.score,
            label: self.standing.band(),
            provisional: self.standing.provisional,
            computed_at: self.standing.computed_at,
            agent_checkout: self.allows_agent_checkout(),
            agent_threshold: AGENT_THRESHOLD,
            suspension_threshold: SUSPENSION_THRESHOLD,
        }
    }

    fn endpoints(&self, site_url: &str) -> EndpointsRecord {
        EndpointsRecord { mcp: format!("{site_url}/{}/mcp", self.slug) }
    }
}

fn stated(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
