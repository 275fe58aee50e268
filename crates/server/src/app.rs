//! The application, put together from its parts. Tests build the same one with other parts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use checkout::Till;
use database::{Database, Dice};
use identity::{Callers, Secret};
use ipnet::IpNet;
use limits::Gate;
use mcp::Mcp;
use merchants::StoreCache;
use metrics_exporter_prometheus::PrometheusHandle;
use rest::{Health, Rest};
use search::Search;
use tokio::sync::watch;
use web::Web;

use crate::layers::{self, Bulkhead, Identify, Limits};

/// The parts.
pub struct App {
    /// The database.
    pub database: Database,
    /// Stores by slug and by merchant.
    pub stores: StoreCache,
    /// Products by words.
    pub search: Search,
    /// Where the ids of requests come from.
    pub dice: Dice,
    /// What the monitor last saw.
    pub health: watch::Receiver<Health>,
    /// Whether the process is about to stop.
    pub draining: watch::Receiver<bool>,
    /// The figures.
    pub metrics: PrometheusHandle,
    /// What credentials are kept under.
    pub secret: Secret,
    /// How often callers may call.
    pub gate: Gate,
    /// Who takes payments on our own page.
    pub till: Till,
    /// The rest.
    pub settings: AppSettings,
}

/// What can be set.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// Where the service is reached.
    pub site_url: Arc<str>,
    /// Host names the MCP endpoint answers to.
    pub allowed_hosts: Vec<String>,
    /// Origins whose browser pages may call.
    pub allowed_origins: Vec<String>,
    /// The largest request body.
    pub body_bytes_max: usize,
    /// The longest a request may take.
    pub request_max: Duration,
    /// The largest body of an upload.
    pub upload_bytes_max: u64,
    /// Requests for one store in flight at once.
    pub store_concurrency: usize,
    /// How old what is known of a key may be.
    pub key_age_max: Duration,
    /// Whether the service is reached over TLS.
    pub secure: bool,
    /// Proxies whose word on where a request came from is taken.
    pub trusted_proxies: Arc<[IpNet]>,
}

impl App {
    /// The whole service as one tower of layers around the doors.
    pub fn into_router(self) -> Router {
        let settings = self.settings;
        let stores = self.stores;
        let database = self.database;
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (site_url, age_max) = (Arc::clone(&settings.site_url), settings.key_age_max);
        let callers = Callers::new(&database, &self.secret, site_url, age_max, cores);
        let mcp = Mcp {
            database: database.clone(),
            stores: stores.clone(),
            search: self.search.clone(),
            callers: callers.clone(),
            gate: self.gate.clone(),
            site_url: Arc::clone(&settings.site_url),
            allowed_hosts: settings.allowed_hosts,
            allowed_origins: settings.allowed_origins,
        };
        let web = Web {
            site_url: Arc::clone(&settings.site_url),
            database: database.clone(),
            stores: stores.clone(),
            gate: self.gate.clone(),
            till: self.till,
        };
        let rest = Rest {
            database,
            stores,
            search: self.search,
            callers,
            gate: self.gate,
            site_url: Arc::clone(&settings.site_url),
            health: self.health,
        };
        let limits = Limits {
            body_bytes_max: settings.body_bytes_max,
            request_max: settings.request_max,
            upload_bytes_max: settings.upload_bytes_max,
            upload_idle_max: Limits::UPLOAD_IDLE_MAX,
            is_upload: rest::is_upload,
        };
        let metrics = self.metrics;
        let doors = Router::new()
            .merge(mcp::router(mcp))
            .merge(rest::router(rest))
            .merge(web::router(web))
            .route("/metrics", axum::routing::get(async move || metrics.render()))
            .route_layer(from_fn_with_state(
                Bulkhead::new(settings.store_concurrency, settings.body_bytes_max),
                layers::bulkhead,
            ))
            .route_layer(from_fn(layers::note_route))
            .fallback(layers::unknown_address);
        // The last layer is the outermost.
        doors
            .layer(from_fn_with_state(limits, layers::limit))
            .layer(from_fn(layers::guard_panics))
            .layer(from_fn_with_state(settings.secure, layers::secure))
            .layer(from_fn_with_state(self.draining, layers::close_when_draining))
            .layer(from_fn(layers::observe))
            .layer(from_fn_with_state(
                Identify { dice: self.dice, trusted: settings.trusted_proxies },
                layers::identify,
            ))
    }
}
