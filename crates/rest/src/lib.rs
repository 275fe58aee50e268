#![doc = include_str!("../README.md")]

mod action;
mod admin_checkouts;
mod admin_disputes;
mod admin_jobs;
mod admin_keys;
mod admin_orders;
mod admin_people;
mod admin_quotas;
mod admin_stores;
mod admission;
mod agent_carts;
mod agent_checkouts;
mod agent_disputes;
mod agent_history;
mod agent_keys;
mod agent_orders;
mod agent_payments;
mod agent_products;
mod agent_returns;
mod auth;
mod basket;
mod caller;
mod deals;
mod envelope;
mod error_response;
mod health;
mod idempotency;
mod large_reads;
mod mcp;
mod merchant_agents;
mod merchant_checkouts;
mod merchant_disputes;
mod merchant_export;
mod merchant_jobs;
mod merchant_keys;
mod merchant_notices;
mod merchant_offers;
mod merchant_orders;
mod merchant_own_products;
mod merchant_products;
mod merchant_pushed_orders;
mod merchant_quality;
mod merchant_refunds;
mod merchant_retire;
mod merchant_returns;
mod merchant_searches;
mod merchant_settings;
mod merchant_store;
mod merchant_trust;
mod merchant_webhook_deliveries;
mod merchant_webhooks;
mod merge_patch;
mod nearest_path;
mod openapi;
mod openapi_endpoint;
mod order_access;
mod paging;
mod request;
mod routes;
mod sandbox;
mod search;
mod store_access;
mod stores;
mod trust;
mod uploads;
mod well_known;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::FromRef;
use axum::middleware::from_fn;
use axum::routing::any;
use axum::{Extension, Router};
use catalog::UploadGate;
use checkout::PaymentGateway;
use database::Database;
use identity::CredentialStore;
use limits::AdmissionControl;
use merchants::StoreCache;
use serde_json::Value;
use tokio::sync::watch;
use webhooks::Webhooks;

pub use caller::{AdminCaller, AgentCaller, OwnerCaller, PersonCaller, StoreCaller};
pub use envelope::{Envelope, PageEnvelope};
pub use error_response::{ErrorResponse, render, respond};
pub use health::{CheckState, Health};
pub use nearest_path::nearest_path;
pub use request::{
    InvalidInput, InvalidPathParameter, Json, LARGE_JSON_BYTES_MAX, LargeJson, Path, PathId,
    PathParameter, Query,
};
pub use routes::{Access, Endpoint, Routes};
pub use uploads::{BodyKind, body_kind};

use error_response::unknown_path;
use large_reads::LargeReads;
use openapi_endpoint::OpenApiDocument;

/// The dependencies of the REST door.
pub struct Rest {
    pub database: Database,
    pub stores: StoreCache,
    pub search: ::search::Search,
    pub credentials: CredentialStore,
    pub admission: AdmissionControl,
    /// The public base URL, without a trailing slash.
    pub site_url: Arc<str>,
    /// Accepts payments on the hosted payment page.
    pub payment_gateway: PaymentGateway,
    pub uploads: UploadGate,
    /// Writes exports of products.
    pub write_feed: catalog::WriteFeed,
    pub webhooks: Webhooks,
    /// The methodology whose trust scores are in force.
    pub trust_methodology: ::trust::MethodologyVersion,
    /// Published by the server; the door only reads it.
    pub health: watch::Receiver<Health>,
}

/// The state of the router: `Rest`, and what is fixed once the router is built.
#[derive(Clone)]
struct RestState {
    rest: Arc<Rest>,
    started_at: Instant,
    openapi: OpenApiDocument,
    large_reads: LargeReads,
}

impl FromRef<RestState> for Arc<Rest> {
    fn from_ref(state: &RestState) -> Self {
        Self::clone(&state.rest)
    }
}

impl FromRef<RestState> for Instant {
    fn from_ref(state: &RestState) -> Self {
        state.started_at
    }
}

impl FromRef<RestState> for LargeReads {
    fn from_ref(state: &RestState) -> Self {
        state.large_reads.clone()
    }
}

impl FromRef<RestState> for OpenApiDocument {
    fn from_ref(state: &RestState) -> Self {
        state.openapi.clone()
    }
}

/// Returns the router of all paths under `/api/v1`, and of the health paths at the root.
pub fn router(rest: Rest) -> Router {
    let openapi = OpenApiDocument::new(&openapi(&rest.site_url));
    let (started_at, large_reads) = (Instant::now(), LargeReads::default());
    let state = RestState { rest: Arc::new(rest), started_at, openapi, large_reads };
    let versioned = endpoints().into_router().fallback(unknown_path);
    Router::new()
        .nest("/api/v1", versioned)
        // The one path under the prefix that the nested fallback does not match.
        .route("/api/v1/", any(unknown_path))
        .merge(health::endpoints().into_router())
        .merge(well_known::endpoints().into_router())
        .merge(well_known::payment_discovery().into_router())
        .merge(well_known::merchant_index().into_router())
        .layer(Extension(Arc::clone(&state.rest)))
        .with_state(state)
        .layer(from_fn(render))
}

/// Returns the OpenAPI 3.0 document of the API.
#[must_use]
pub fn openapi(site_url: &str) -> Value {
    endpoints().openapi(site_url)
}

fn endpoints() -> Routes<RestState> {
    Routes::new()
        .merge(stores::endpoints())
        .merge(search::endpoints())
        .merge(trust::endpoints())
        .merge(agent_products::endpoints())
        .merge(agent_history::endpoints())
        .merge(agent_carts::endpoints())
        .merge(agent_checkouts::endpoints())
        .merge(agent_orders::endpoints())
        .merge(agent_returns::endpoints())
        .merge(agent_disputes::endpoints())
        .merge(agent_payments::endpoints())
        .merge(basket::endpoints())
        .merge(deals::endpoints())
        .merge(auth::endpoints())
        .merge(agent_keys::endpoints())
        .merge(sandbox::endpoints())
        .merge(merchant_keys::endpoints())
        .merge(merchant_checkouts::endpoints())
        .merge(merchant_orders::endpoints())
        .merge(merchant_pushed_orders::endpoints())
        .merge(merchant_refunds::endpoints())
        .merge(merchant_returns::endpoints())
        .merge(merchant_disputes::endpoints())
        .merge(merchant_products::endpoints())
        .merge(merchant_own_products::endpoints())
        .merge(merchant_export::endpoints())
        .merge(merchant_retire::endpoints())
        .merge(merchant_offers::endpoints())
        .merge(merchant_jobs::endpoints())
        .merge(merchant_quality::endpoints())
        .merge(merchant_searches::endpoints())
        .merge(merchant_settings::endpoints())
        .merge(merchant_store::endpoints())
        .merge(merchant_trust::endpoints())
        .merge(merchant_agents::endpoints())
        .merge(merchant_notices::endpoints())
        .merge(merchant_webhooks::endpoints())
        .merge(merchant_webhook_deliveries::endpoints())
        .merge(admin_stores::endpoints())
        .merge(admin_quotas::endpoints())
        .merge(admin_people::endpoints())
        .merge(admin_keys::endpoints())
        .merge(admin_checkouts::endpoints())
        .merge(admin_disputes::endpoints())
        .merge(admin_orders::endpoints())
        .merge(admin_jobs::endpoints())
        .merge(mcp::endpoints())
        .merge(health::endpoints())
        .merge(well_known::payment_discovery())
        .merge(well_known::merchant_index())
        .merge(openapi_endpoint::endpoints())
}
