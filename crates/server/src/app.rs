//! Assembles the application from its parts. Tests assemble the same application from other parts.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use catalog::UploadGate;
use checkout::PaymentGateway;
use database::{Database, RandomSource};
use identity::{CredentialStore, Secret};
use ipnet::IpNet;
use limits::AdmissionControl;
use mcp::Mcp;
use merchants::StoreCache;
use rest::{Health, Rest};
use search::Search;
use tokio::sync::watch;
use trust::MethodologyVersion;
use web::Web;
use webhooks::{SealingKey, Webhooks};

use crate::layers::{self, BodyMemory, BodyOwners, Bulkhead, Limits, RequestInfo};

/// The parts of the application.
pub struct App {
    pub database: Database,
    pub stores: StoreCache,
    pub search: Search,
    /// Generates request ids.
    pub random_source: RandomSource,
    /// The latest result of the monitor.
    pub health: watch::Receiver<Health>,
    /// Whether the process is shutting down.
    pub draining: watch::Receiver<bool>,
    /// Protects credentials.
    pub secret: Secret,
    pub admission: AdmissionControl,
    /// Charges payments made on the hosted payment page.
    pub payment_gateway: PaymentGateway,
    /// Admits uploads of feeds.
    pub uploads: UploadGate,
    /// Vets the URLs of webhook endpoints.
    pub outbound: outbound::Client,
    pub settings: AppSettings,
}

/// The settings of the application.
#[derive(Debug, Clone)]
pub struct AppSettings {
    /// The public base URL.
    pub site_url: Arc<str>,
    /// Values of the `Host` header that the MCP endpoint accepts.
    pub allowed_hosts: Vec<String>,
    /// Values of the `Origin` header that the MCP endpoint accepts.
    pub allowed_origins: Vec<String>,
    pub body_bytes_max: usize,
    /// Timeout of a request.
    pub request_max: Duration,
    pub upload_bytes_max: u64,
    /// Maximum number of concurrent requests per store.
    pub store_concurrency: usize,
    /// Maximum age of a cached credential.
    pub key_age_max: Duration,
    /// Whether the public base URL uses TLS.
    pub secure: bool,
    /// The methodology whose trust scores are in force.
    pub trust_methodology: MethodologyVersion,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub trusted_proxies: Arc<[IpNet]>,
}

impl App {
    /// Builds the router: the doors, wrapped in the layers.
    pub fn into_router(self) -> Router {
        let (settings, stores, database) = (self.settings, self.stores, self.database);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (site_url, age_max) = (Arc::clone(&settings.site_url), settings.key_age_max);
        let credentials = CredentialStore::new(&database, &self.secret, site_url, age_max, cores);
        let mcp = Mcp {
            database: database.clone(),
            stores: stores.clone(),
            search: self.search.clone(),
            credentials: credentials.clone(),
            admission: self.admission.clone(),
            site_url: Arc::clone(&settings.site_url),
            payment_gateway: self.payment_gateway.clone(),
            trust_methodology: settings.trust_methodology,
            allowed_hosts: settings.allowed_hosts.clone(),
            allowed_origins: settings.allowed_origins.clone(),
        };
        let web = Web {
            site_url: Arc::clone(&settings.site_url),
            database: database.clone(),
            stores: stores.clone(),
            admission: self.admission.clone(),
            payment_gateway: self.payment_gateway.clone(),
            order_links: credentials.order_links.clone(),
        };
        let sealing = SealingKey::new(self.secret.derived_key(SealingKey::PURPOSE));
        let rest = Rest {
            webhooks: Webhooks::new(database.clone(), sealing, self.outbound),
            database,
            stores,
            search: self.search,
            credentials: credentials.clone(),
            admission: self.admission,
            site_url: Arc::clone(&settings.site_url),
            payment_gateway: self.payment_gateway,
            uploads: self.uploads,
            write_feed: connectors::write::write,
            trust_methodology: settings.trust_methodology,
            health: self.health,
        };
        let limits = limits(&settings, BodyOwners::new(credentials));
        let doors = Router::new()
            .merge(mcp::router(mcp))
            .merge(rest::router(rest))
            .merge(web::router(web))
            // For routes that have none of their own.
            .method_not_allowed_fallback(layers::method_not_allowed)
            .route_layer(from_fn_with_state(
                Bulkhead::new(settings.store_concurrency, settings.body_bytes_max),
                layers::bulkhead,
            ))
            .route_layer(from_fn(layers::record_route))
            .fallback(layers::not_found);
        // The last layer is the outermost.
        doors
            .layer(from_fn_with_state(limits, layers::limit))
            .layer(from_fn(layers::catch_panics))
            .layer(from_fn(layers::error_pages))
            .layer(from_fn_with_state(settings.secure, layers::security_headers))
            .layer(from_fn_with_state(self.draining, layers::close_while_draining))
            .layer(from_fn(layers::observe))
            .layer(from_fn_with_state(
                RequestInfo {
                    random_source: self.random_source,
                    trusted_proxies: settings.trusted_proxies,
                },
                layers::request_info,
            ))
    }
}

/// Returns the limits of requests.
fn limits(settings: &AppSettings, body_owners: BodyOwners) -> Limits {
    Limits {
        body_bytes_max: settings.body_bytes_max,
        request_max: settings.request_max,
        upload_bytes_max: settings.upload_bytes_max,
        upload_idle_max: Limits::UPLOAD_IDLE_MAX,
        upload_bytes_min: Limits::UPLOAD_BYTES_MIN,
        body_kind: rest::body_kind,
        body_memory: BodyMemory::new(settings.body_bytes_max, rest::LARGE_JSON_BYTES_MAX),
        body_owners,
    }
}
