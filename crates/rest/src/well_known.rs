//! Well-known URIs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CACHE_CONTROL;
use axum::response::IntoResponse;
use merchants::{Band, Store};
use primitives::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Access, Endpoint, ErrorResponse, Rest, RestState, Routes};

pub(crate) fn endpoints() -> Routes<RestState> {
    Routes::new().with(Endpoint::get("/.well-known/jwks.json", Access::Public, jwks).unmetered())
}

/// Returns the routes of the payment discovery document, which is served at the root and under `/api/v1`
/// (docs/contract/payments.md#discovery-document).
pub(crate) fn payment_discovery() -> Routes<RestState> {
    let x402 = Endpoint::get("/.well-known/x402", Access::Public, x402)
        .operation_id("getPaymentDiscovery")
        .tag("service")
        .summary("Get the x402 discovery document")
        .description("Lists the resources that can be paid with x402. There are none yet. The same document is served at the site root.")
        .response::<PaymentDiscovery>(200);
    Routes::new().with(x402)
}

/// Returns the routes of the registry of stores, which is served at the root and under `/api/v1`
/// (docs/contract/stores.md#merchant-index).
pub(crate) fn merchant_index() -> Routes<RestState> {
    let index = Endpoint::get("/.well-known/merchant-index.json", Access::Public, index)
        .operation_id("getMerchantIndex")
        .tag("stores")
        .summary("Get the registry of stores")
        .description("Lists all stores of the directory, highest trust score first (a provisional score counts as 0.84 at most), with their MCP endpoints. Caches may keep it for five minutes. The same document is served at the site root.")
        .response::<MerchantIndex>(200);
    Routes::new().with(index)
}

/// Returns the public keys that verify access tokens. Caches may keep them for less time than passes between the
/// publication of a new key and its first use.
async fn jwks(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, ErrorResponse> {
    let keys = rest.credentials.tokens.jwks().await?;
    Ok(([(CACHE_CONTROL, "public, max-age=30")], axum::Json(keys)))
}

/// The x402 discovery document, in the form that indexers read.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentDiscovery {
    /// Version of the document.
    version: i64,
    /// Version of x402.
    #[serde(rename = "x402Version")]
    x402_version: i64,
    /// URLs of the resources that can be paid with x402.
    resources: Vec<String>,
}

async fn x402() -> axum::Json<PaymentDiscovery> {
    axum::Json(PaymentDiscovery { version: 1, x402_version: 2, resources: Vec::new() })
}

/// The registry of stores.
#[derive(Debug, Serialize, JsonSchema)]
struct MerchantIndex {
    /// Version of the document.
    version: i64,
    /// Number of stores.
    total: usize,
    /// The stores, highest trust score first (a provisional score counts as 0.84 at most).
    merchants: Vec<IndexedMerchant>,
}

/// A store in the registry.
#[derive(Debug, Serialize, JsonSchema)]
struct IndexedMerchant {
    /// Store slug, as in URLs.
    slug: String,
    /// Store name.
    name: String,
    /// Home country, ISO 3166, two letters.
    country: String,
    /// Names of the top-level categories.
    categories: Vec<String>,
    /// Number of listed products.
    product_count: i64,
    /// Trust score, 0 to 1; null while the store has no score.
    trust_score: Option<f64>,
    /// Trust band of the score; null while the store has no score.
    verification_level: Option<Band>,
    /// Whether the trust score and standing of the store allow agents to check out.
    agent_checkout: bool,
    /// Last complete import of the catalog; omitted if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_at: Option<Timestamp>,
    /// URL of the store's MCP endpoint.
    mcp_endpoint: String,
    /// URL of the store's profile.
    profile: String,
}

impl IndexedMerchant {
    fn of(store: &Store, site_url: &str) -> Self {
        Self {
            slug: store.slug.to_string(),
            name: store.name.clone(),
            country: store.country.clone(),
            categories: store.departments.clone(),
            product_count: store.product_count,
            trust_score: store.standing.score,
            verification_level: store.standing.band(),
            agent_checkout: store.allows_agent_checkout(),
            last_sync_at: store.last_sync_at,
            mcp_endpoint: format!("{site_url}/{}/mcp", store.slug),
            profile: format!("{site_url}/api/v1/stores/{}", store.slug),
        }
    }
}

async fn index(State(rest): State<Arc<Rest>>) -> Result<impl IntoResponse, ErrorResponse> {
    let stores = rest.stores.listed().await?;
    let merchants: Vec<IndexedMerchant> =
        stores.iter().map(|store| IndexedMerchant::of(store, &rest.site_url)).collect();
    let index = MerchantIndex { version: 1, total: merchants.len(), merchants };
    Ok(([(CACHE_CONTROL, "public, max-age=300")], axum::Json(index)))
}
