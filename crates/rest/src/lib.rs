#![doc = include_str!("../README.md")]

mod admission;
mod agent_carts;
mod agent_checkouts;
mod agent_history;
mod agent_keys;
mod agent_products;
mod answer;
mod auth;
mod basket;
mod caller;
mod deals;
mod description;
mod document;
mod health;
mod mcp_endpoint;
mod merchant_checkouts;
mod merchant_jobs;
mod merchant_keys;
mod merchant_offers;
mod merchant_products;
mod merchant_quality;
mod merchant_searches;
mod merchant_settings;
mod once;
mod refusal;
mod request;
mod routes;
mod sandbox;
mod search;
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
use database::Database;
use identity::Callers;
use limits::Gate;
use merchants::StoreCache;
use serde_json::Value;
use tokio::sync::watch;

pub use answer::{Many, One};
pub use caller::{AgentCaller, OwnerCaller, PersonCaller, StoreCaller};
pub use health::{CheckState, Health};
pub use refusal::{Refusal, render, respond};
pub use request::{Json, Large, Malformed, Path, PathPart, Query, WrongPart};
pub use routes::{Access, Endpoint, Routes};
pub use uploads::is_upload;

use description::Description;
use refusal::unknown_address;

/// What the REST door stands on.
pub struct Rest {
    /// The way to PostgreSQL.
    pub database: Database,
    /// Stores by slug and by merchant.
    pub stores: StoreCache,
    /// Products by words.
    pub search: ::search::Search,
    /// Who calls.
    pub callers: Callers,
    /// How often they may.
    pub gate: Gate,
    /// Where this service is reached, without a slash at the end.
    pub site_url: Arc<str>,
    /// What the server last saw of its engines.
    pub health: watch::Receiver<Health>,
}

/// What handlers take their state from: `Rest`, and what is known once the door is open.
#[derive(Clone)]
struct Opened {
    rest: Arc<Rest>,
    since: Instant,
    description: Description,
}

impl FromRef<Opened> for Arc<Rest> {
    fn from_ref(opened: &Opened) -> Self {
        Self::clone(&opened.rest)
    }
}

impl FromRef<Opened> for Instant {
    fn from_ref(opened: &Opened) -> Self {
        opened.since
    }
}

impl FromRef<Opened> for Description {
    fn from_ref(opened: &Opened) -> Self {
        opened.description.clone()
    }
}

/// All paths under `/api/v1`, and the health paths at the root as well.
pub fn router(rest: Rest) -> Router {
    let description = Description::of(&openapi(&rest.site_url));
    let opened = Opened { rest: Arc::new(rest), since: Instant::now(), description };
    let versioned = endpoints().into_router().fallback(unknown_address);
    Router::new()
        .nest("/api/v1", versioned)
        // The one address under the prefix that a nested fallback does not see.
        .route("/api/v1/", any(unknown_address))
        .merge(health::endpoints().into_router())
        .merge(well_known::endpoints().into_router())
        .layer(Extension(Arc::clone(&opened.rest)))
        .with_state(opened)
        .layer(from_fn(render))
}

/// The machine-readable description of the API (OpenAPI 3.0).
#[must_use]
pub fn openapi(site_url: &str) -> Value {
    endpoints().describe(site_url)
}

fn endpoints() -> Routes<Opened> {
    Routes::new()
        .merge(stores::endpoints())
        .merge(search::endpoints())
        .merge(trust::endpoints())
        .merge(agent_products::endpoints())
        .merge(agent_history::endpoints())
        .merge(agent_carts::endpoints())
        .merge(agent_checkouts::endpoints())
        .merge(basket::endpoints())
        .merge(deals::endpoints())
        .merge(auth::endpoints())
        .merge(agent_keys::endpoints())
        .merge(sandbox::endpoints())
        .merge(merchant_keys::endpoints())
        .merge(merchant_checkouts::endpoints())
        .merge(merchant_products::endpoints())
        .merge(merchant_offers::endpoints())
        .merge(merchant_jobs::endpoints())
        .merge(merchant_quality::endpoints())
        .merge(merchant_searches::endpoints())
        .merge(merchant_settings::endpoints())
        .merge(mcp_endpoint::endpoints())
        .merge(health::endpoints())
        .merge(description::endpoints())
}
