//! The whole application in process: production's wiring on a database of its own, with a clock that
//! stands still and dice that replay.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use database::{Database, Dice};
use identity::Secret;
use merchants::StoreCache;
use metrics_exporter_prometheus::PrometheusBuilder;
use rest::{CheckState, Health};
use search::{Search, SearchSettings};
use serde_json::{Value, json};
use server::{App, AppSettings};
use testkit::{Template, TestDatabase};
use tokio::sync::watch;
use tower::ServiceExt;

/// Where the test's application believes to be reached.
pub(crate) const SITE_URL: &str = "http://souk.test";

/// The application, and the ways tests call it.
pub(crate) struct TestApp {
    pub(crate) test: TestDatabase,
    router: Router,
    // Kept so that readers of the channels see them open.
    _channels: (watch::Sender<Health>, watch::Sender<bool>),
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The stable code of an error, wherever it stands.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let in_result = body["result"]["content"][0]["text"].as_str();
        let envelope = match in_result {
            Some(text) => serde_json::from_str(text).unwrap(),
            None if body["error"].is_object() => body["error"]["data"].clone(),
            None => body,
        };
        envelope["error"].as_str().unwrap_or("none").to_owned()
    }
}

impl TestApp {
    /// On a copy of the demo world, in cell `cell-1`.
    pub(crate) async fn start() -> Self {
        Self::of_cell("cell-1").await
    }

    /// On a copy of the demo world, in another cell.
    pub(crate) async fn of_cell(cell: &str) -> Self {
        let world = demo::world();
        let mut hasher = DefaultHasher::new();
        format!("{world:?}").hash(&mut hasher);
        let template = Template { name: "world", fingerprint: hasher.finish() };
        let seed = async |database: Database| {
            demo::seed(&database, &world, |_| {}).await.unwrap();
        };
        let test = TestDatabase::copy_of(&template, cell, seed).await;
        Self::around(test, |_| {})
    }

    /// On a copy of the demo world, with an index of it.
    pub(crate) async fn searching() -> Self {
        let app = Self::start().await;
        let database = app.test.database().clone();
        let stores = StoreCache::new(database.clone(), Duration::ZERO);
        let settings = SearchSettings::new(SITE_URL);
        let search = Search::of_everything(&database, stores, 3, settings).await.unwrap();
        Self::with(app.test, search, |_| {})
    }

    /// The same application with other settings, while no index is there.
    pub(crate) fn around(test: TestDatabase, change: impl FnOnce(&mut AppSettings)) -> Self {
        let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
        let settings = SearchSettings::new(SITE_URL);
        let search = Search::away(test.database().clone(), stores, settings);
        Self::with(test, search, change)
    }

    fn with(test: TestDatabase, search: Search, change: impl FnOnce(&mut AppSettings)) -> Self {
        let well = CheckState::Ok;
        let (database, redis, jobs) = (well, well, well);
        let health = watch::channel(Health { database, redis, search: well, jobs, ready: true });
        let draining = watch::channel(false);
        let mut settings = AppSettings {
            site_url: Arc::from(SITE_URL),
            allowed_hosts: vec![String::from("souk.test")],
            allowed_origins: vec![String::from("http://souk.test:80")],
            body_bytes_max: 64 * 1024,
            request_max: Duration::from_secs(10),
            upload_bytes_max: 1024 * 1024,
            store_concurrency: 50,
            key_age_max: Duration::ZERO,
            secure: false,
            trusted_proxies: Arc::new([]),
        };
        change(&mut settings);
        let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
        let app = App {
            search,
            stores,
            database: test.database().clone(),
            dice: Dice::seeded(1),
            health: health.1,
            draining: draining.1,
            metrics: PrometheusBuilder::new().build_recorder().handle(),
            secret: Secret::new("a secret for tests, of 32 bytes and more").unwrap(),
            settings,
        };
        Self { test, router: app.into_router(), _channels: (health.0, draining.0) }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::builder().uri(path).header("host", "souk.test");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// A JSON-RPC call as the specification shows it: plain HTTP.
    pub(crate) async fn plain(&self, path: &str, body: &Value) -> Answer {
        let request = post(path).body(Body::from(body.to_string()));
        self.send(request.unwrap()).await
    }

    /// A JSON-RPC call as an MCP client sends it.
    pub(crate) async fn rpc(&self, path: &str, body: &Value) -> Answer {
        let request = post(path)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Body::from(body.to_string()));
        self.send(request.unwrap()).await
    }

    /// A tool call by an MCP client.
    pub(crate) async fn tool(&self, slug: &str, name: &str, arguments: Value) -> Answer {
        self.rpc(&format!("/{slug}/mcp"), &call(name, arguments)).await
    }
}

pub(crate) fn post(path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header("host", "souk.test")
        .header("content-type", "application/json")
}

#[expect(clippy::needless_pass_by_value, reason = "callers write their arguments in place")]
pub(crate) fn call(name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}
