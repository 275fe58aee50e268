//! The whole application in process: the wiring of production on its own database, with a fixed clock and
//! seeded randomness.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use checkout::PaymentGateway;
use database::{Database, RandomSource, Work};
use identity::{Actor, IssuedKey, NewAgentKey, NewPerson, NewStoreKey, Role, Secret, StoreScope};
use limits::{AdmissionControl, Limiter};
use merchants::StoreCache;
use outbound::{Client, Policy};
use payments::TestProvider;
use primitives::{ClientAddress, MerchantId, Plan, Scope, UserId};
use rest::{CheckState, Health};
use search::{Search, SearchSettings};
use serde_json::{Value, json};
use server::{App, AppSettings};
use testkit::{Template, TestDatabase};
use tokio::sync::watch;
use tower::ServiceExt;
use trust::MethodologyVersion;

/// The site URL of the application under test.
pub(crate) const SITE_URL: &str = "http://souk.test";

/// The password of every account.
pub(crate) const PASSWORD: &str = "correct horse battery";

/// The secret that protects credentials.
pub(crate) fn secret() -> Secret {
    Secret::new("a secret for tests, of 32 bytes and more").unwrap()
}

/// Vets URLs for all applications. It connects to nothing, so that tests can share it.
static VETTING: LazyLock<Client> = LazyLock::new(outbound_client);

/// Creates a client that permits receivers on this machine without TLS, and 203.0.113.0/24, a network of documentation.
pub(crate) fn outbound_client() -> Client {
    let networks = ["203.0.113.0/24", "127.0.0.0/8"];
    let allowed_networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    let policy = Policy { allow_http: true, allowed_networks };
    Client::new(outbound::Settings { policy, ..outbound::Settings::default() }).unwrap()
}

/// Issues a key of a store.
pub(crate) async fn store_key(database: &Database, merchant: MerchantId) -> String {
    let mut work = Work::for_platform(database).await.unwrap();
    let (secret, operator) = (secret(), Actor::Operator);
    let new = NewStoreKey::new("test").with_all_scopes();
    let issued = identity::issue_store_key(&mut work, &secret, operator, merchant, &new).await;
    work.commit().await.unwrap();
    issued.unwrap().0.key
}

/// The application, with methods to call it.
pub(crate) struct TestApp {
    pub(crate) test: TestDatabase,
    pub(crate) router: Router,
    // Keeps the channels open.
    _channels: (watch::Sender<Health>, watch::Sender<bool>),
}

/// A response, read to its end.
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// Returns the error code, in whichever format the error is.
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
    /// Starts on a copy of the demo data, in cell `cell-1`.
    pub(crate) async fn start() -> Self {
        Self::in_cell("cell-1").await
    }

    /// Starts on a copy of the demo data, in the given cell.
    pub(crate) async fn in_cell(cell: &str) -> Self {
        let world = demo::world();
        let template = Template { name: "world", fingerprint: demo::fingerprint() };
        let seed = async |database: Database| {
            demo::seed(&database, &world, |_| {}).await.unwrap();
        };
        let test = TestDatabase::copy_of(&template, cell, seed).await;
        Self::with_settings(test, |_| {})
    }

    /// Starts on a copy of the demo data, with a search index.
    pub(crate) async fn with_index() -> Self {
        let app = Self::start().await;
        let database = app.test.database().clone();
        let stores = StoreCache::new(database.clone(), Duration::ZERO);
        let settings = SearchSettings::new(SITE_URL);
        let search = Search::in_memory(&database, stores, 3, settings).await.unwrap();
        Self::build(app.test, search, AdmissionControl::unlimited(), |_| {})
    }

    /// Starts on an existing database with other settings, without a search index.
    pub(crate) fn with_settings(test: TestDatabase, change: impl FnOnce(&mut AppSettings)) -> Self {
        let stores = StoreCache::new(test.database().clone(), Duration::ZERO);
        let settings = SearchSettings::new(SITE_URL);
        let search = Search::without_index(test.database().clone(), stores, settings);
        Self::build(test, search, AdmissionControl::unlimited(), change)
    }

    /// Starts on a copy of the demo data, with rate limits enforced under its own Redis key prefix.
    pub(crate) async fn with_limits() -> Self {
        let app = Self::start().await;
        let name = format!("test_{:x}", RandomState::new().hash_one(0));
        let limiter = Limiter::new(&testkit::redis_url(), &name).unwrap();
        let request = limits::QuotaRequest::tier(limits::Class::Read, "ready", 1_000);
        let caller = limits::Caller::address(ClientAddress([192, 0, 2, 1].into()));
        // Connecting takes longer than the timeout of a call.
        while limiter.take(&caller, &request).await.degraded {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let stores = StoreCache::new(app.test.database().clone(), Duration::ZERO);
        let search = Search::without_index(
            app.test.database().clone(),
            stores,
            SearchSettings::new(SITE_URL),
        );
        Self::build(app.test, search, AdmissionControl::new(limiter), |_| {})
    }

    fn build(
        test: TestDatabase,
        search: Search,
        admission: AdmissionControl,
        change: impl FnOnce(&mut AppSettings),
    ) -> Self {
        let ok = CheckState::Ok;
        let (database, redis, jobs) = (ok, ok, ok);
        let health = watch::channel(Health { database, redis, search: ok, jobs, ready: true });
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
            trust_methodology: MethodologyVersion::V20,
            trusted_proxies: Arc::new([]),
        };
        change(&mut settings);
        // With one connection, a request that opened a transaction inside another one would wait for itself.
        let database = test.database().with_connections(1);
        let app = App {
            search,
            stores: StoreCache::new(database.clone(), Duration::ZERO),
            database,
            random_source: RandomSource::seeded(1),
            health: health.1,
            draining: draining.1,
            secret: secret(),
            admission,
            payment_gateway: PaymentGateway::new(Arc::new(TestProvider), true),
            uploads: catalog::UploadGate::without_disk(),
            outbound: VETTING.clone(),
            settings,
        };
        Self { test, router: app.into_router(), _channels: (health.0, draining.0) }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> TestResponse {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        TestResponse { status: parts.status, headers: parts.headers, text }
    }

    /// Sends a REST request with the given headers.
    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> TestResponse {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/api/v1{path}"))
            .header("host", "souk.test")
            .header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        self.send(request.body(body).unwrap()).await
    }

    /// Creates an account with the given store memberships.
    pub(crate) async fn person(&self, email: &str, member_of: &[(&str, Role)]) -> UserId {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let new = NewPerson { email: email.parse().unwrap(), plan: Plan::Free, is_admin: false };
        let operator = Actor::Operator;
        let user = identity::create_person(&mut work, operator, &new, PASSWORD).await.unwrap();
        for (slug, role) in member_of {
            let merchant = self.merchant(slug).await;
            identity::add_member(&mut work, operator, user, merchant, *role).await.unwrap();
        }
        work.commit().await.unwrap();
        user
    }

    /// Creates an account that administers the platform.
    pub(crate) async fn admin(&self, email: &str) -> UserId {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let new = NewPerson { email: email.parse().unwrap(), plan: Plan::Free, is_admin: true };
        let operator = Actor::Operator;
        let user = identity::create_person(&mut work, operator, &new, PASSWORD).await.unwrap();
        work.commit().await.unwrap();
        user
    }

    /// Issues a key of a store with some scopes.
    pub(crate) async fn scoped_store_key(&self, slug: &str, scopes: &[StoreScope]) -> String {
        let merchant = self.merchant(slug).await;
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let scopes = scopes.iter().copied().collect();
        let new = NewStoreKey { scopes, ..NewStoreKey::new("test") };
        let (secret, operator) = (secret(), Actor::Operator);
        let issued = identity::issue_store_key(&mut work, &secret, operator, merchant, &new);
        let key = issued.await.unwrap().0.key;
        work.commit().await.unwrap();
        key
    }

    pub(crate) async fn merchant(&self, slug: &str) -> MerchantId {
        merchants::merchant_of(self.test.database(), &slug.parse().unwrap()).await.unwrap()
    }

    /// Logs in and returns the `Authorization` header.
    pub(crate) async fn log_in(&self, email: &str) -> String {
        let body = json!({ "email": email, "password": PASSWORD });
        let answer = self.request(Method::POST, "/auth/login", &[], &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        format!("Bearer {}", answer.json()["token"].as_str().unwrap())
    }

    /// Issues a key of a store.
    pub(crate) async fn store_key(&self, merchant: MerchantId) -> String {
        store_key(self.test.database(), merchant).await
    }

    /// Issues an agent key of an account.
    pub(crate) async fn agent_key(&self, owner: UserId, wanted: &NewAgentKey) -> IssuedKey {
        let mut work = Work::for_platform(self.test.database()).await.unwrap();
        let made = identity::issue_agent_key(&mut work, &secret(), owner, wanted).await.unwrap();
        work.commit().await.unwrap();
        made.0
    }

    /// Issues a read-only agent key of a new account.
    pub(crate) async fn reader_key(&self) -> String {
        let owner = self.person("reader@example.com", &[]).await;
        let wanted = NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
        self.agent_key(owner, &wanted).await.key
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        let request = Request::builder().uri(path).header("host", "souk.test");
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Posts JSON over plain HTTP, without the headers of an MCP client.
    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> TestResponse {
        let request = post(path).body(Body::from(body.to_string()));
        self.send(request.unwrap()).await
    }

    /// Sends a JSON-RPC call as an MCP client does.
    pub(crate) async fn rpc(&self, path: &str, body: &Value) -> TestResponse {
        let request = post(path)
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .body(Body::from(body.to_string()));
        self.send(request.unwrap()).await
    }

    /// Issues an agent key with all scopes, of a new account.
    pub(crate) async fn buyer_key(&self, email: &str) -> String {
        let owner = self.person(email, &[]).await;
        let wanted =
            NewAgentKey { scopes: Scope::ALL.iter().copied().collect(), ..NewAgentKey::default() };
        self.agent_key(owner, &wanted).await.key
    }

    /// Issues a sandbox key for the demo store.
    pub(crate) async fn sandbox_key(&self) -> String {
        let answer = self.request(Method::POST, "/sandbox/key", &[], &Value::Null).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        answer.json()["data"]["api_key"].as_str().unwrap().to_owned()
    }

    /// Calls a tool as an MCP client with an agent key.
    pub(crate) async fn tool_as(
        &self,
        key: &str,
        slug: &str,
        name: &str,
        arguments: Value,
    ) -> TestResponse {
        let request = post(&format!("/{slug}/mcp"))
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2025-11-25")
            .header("x-agent-api-key", key)
            .body(Body::from(call(name, arguments).to_string()));
        self.send(request.unwrap()).await
    }

    /// Calls a tool as an anonymous MCP client.
    pub(crate) async fn tool(&self, slug: &str, name: &str, arguments: Value) -> TestResponse {
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

/// Replaces generated ids and hashes in a record by `[id]` and `[hash]`, for snapshots. Ids of demo products stay.
pub(crate) fn redacted(mut record: Value) -> Value {
    match &mut record {
        Value::String(text) => *text = redacted_text(text),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = redacted(item.take())),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| *field = redacted(field.take()));
        }
        _ => {}
    }
    record
}

fn redacted_text(text: &str) -> String {
    let mut result = String::new();
    for part in text.split_inclusive(|char: char| !char.is_ascii_alphanumeric()) {
        let word = part.trim_end_matches(|char: char| !char.is_ascii_alphanumeric());
        let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_stable = result.ends_with("prod_") || result.ends_with("var_");
        let replacement = match word.len() {
            32 if is_hex && !is_stable => "[id]",
            64 if is_hex => "[hash]",
            _ => word,
        };
        result.push_str(replacement);
        result.push_str(&part[word.len()..]);
    }
    result
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass json! literals")]
pub(crate) fn call(name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}
