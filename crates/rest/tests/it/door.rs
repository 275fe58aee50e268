//! The door under test, with or without a database.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request};
use catalog::{FeedFormat, ProductDraft};
use checkout::PaymentGateway;
use database::{Clock, Database, RandomSource, Settings};
use http_body_util::BodyExt;
use identity::{CredentialStore, Secret};
use merchants::StoreCache;
use outbound::{Client, Policy};
use payments::TestProvider;
use primitives::{Currency, RequestId, Timestamp};
use rest::{CheckState, Health, Rest};
use search::{Search, SearchSettings};
use serde_json::Value;
use testkit::{START, TestDatabase};
use tokio::sync::watch;
use tower::ServiceExt;
use trust::MethodologyVersion;
use webhooks::{SealingKey, Webhooks};

pub(crate) const SITE_URL: &str = "https://souk.example";

/// All dependencies work.
pub(crate) const HEALTHY: Health = Health {
    database: CheckState::Ok,
    redis: CheckState::Ok,
    search: CheckState::NotConfigured,
    jobs: CheckState::Ok,
    ready: true,
};

pub(crate) struct Door {
    pub(crate) router: Router,
    pub(crate) health: watch::Sender<Health>,
    /// Sent with requests to agent endpoints.
    pub(crate) agent_key: Option<String>,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns status and code of an error, after checking that its envelope is complete.
    pub(crate) fn error(&self) -> (u16, &str) {
        assert_eq!(self.header("content-type"), "application/json");
        assert_eq!(self.header("cache-control"), "no-store");
        assert!(self.body["message"].is_string(), "{}", self.body);
        assert!(self.body["details"]["retryable"].is_boolean(), "{}", self.body);
        assert_eq!(self.body["details"]["request_id"], "req_of_this_test");
        (self.status, self.body["error"].as_str().unwrap())
    }
}

impl Door {
    pub(crate) fn on(test: &TestDatabase) -> Self {
        Self::to(test.database().clone())
    }

    /// A door whose database is unreachable.
    pub(crate) fn without_database() -> Self {
        let database = Database::connect_lazy(Settings {
            url: String::from("postgres://souk@127.0.0.1:1/nothing"),
            connections_max: 1,
            acquire_timeout: Duration::from_millis(100),
            cell: "cell-1".parse().unwrap(),
            clock: Clock::fixed(Timestamp::from_unix_micros(START)),
            random_source: RandomSource::seeded(1),
        });
        Self::to(database.unwrap())
    }

    fn to(database: Database) -> Self {
        let (health, seen) = watch::channel(HEALTHY);
        let stores = StoreCache::new(database.clone(), Duration::ZERO);
        let site_url: Arc<str> = SITE_URL.into();
        let (url, age) = (Arc::clone(&site_url), Duration::ZERO);
        let credentials = CredentialStore::new(&database, &secret(), url, age, 1);
        let search = Search::without_index(
            database.clone(),
            stores.clone(),
            SearchSettings::new("http://souk.test"),
        );
        let admission = limits::AdmissionControl::unlimited();
        let sealing = SealingKey::new(secret().derived_key(SealingKey::PURPOSE));
        let webhooks = Webhooks::new(database.clone(), sealing, outbound_client());
        let router = rest::router(Rest {
            database,
            stores,
            search,
            credentials,
            admission,
            site_url,
            payment_gateway: PaymentGateway::new(Arc::new(TestProvider), true),
            uploads: catalog::UploadGate::without_disk(),
            write_feed: ndjson,
            webhooks,
            trust_methodology: MethodologyVersion::V20,
            health: seen,
        });
        Self { router, health, agent_key: None }
    }

    pub(crate) async fn get(&self, uri: &str) -> Answer {
        self.call(Method::GET, uri).await
    }

    /// Sends a request, with the agent key if it goes to an agent endpoint.
    pub(crate) async fn send(&self, mut request: Request<Body>) -> Answer {
        let for_agents = request.uri().path().starts_with("/api/v1/agent/");
        if let Some(key) = self.agent_key.as_ref().filter(|_| for_agents) {
            request.headers_mut().insert("x-agent-api-key", key.parse().unwrap());
        }
        send(&self.router, request).await
    }

    pub(crate) async fn call(&self, method: Method, uri: &str) -> Answer {
        let request = Request::builder().method(method).uri(uri);
        self.send(request.body(Body::empty()).unwrap()).await
    }
}

/// A client that permits 203.0.113.0/24, a network of documentation. The tests send nothing.
fn outbound_client() -> Client {
    static CLIENT: LazyLock<Client> = LazyLock::new(|| {
        let allowed_networks = vec!["203.0.113.0/24".parse().unwrap()];
        let policy = Policy { allowed_networks, ..Policy::default() };
        Client::new(outbound::Settings { policy, ..outbound::Settings::default() }).unwrap()
    });
    CLIENT.clone()
}

/// Writes one product per line, whatever the format: the writers are in `connectors`, which this door does not know.
fn ndjson(_: FeedFormat, drafts: &[ProductDraft], _: Currency) -> Vec<u8> {
    let line = |draft| format!("{}\n", serde_json::to_string(draft).unwrap());
    drafts.iter().map(line).collect::<String>().into_bytes()
}

/// The secret that protects credentials.
pub(crate) fn secret() -> Secret {
    Secret::new("a secret for tests, of 32 bytes and more").unwrap()
}

/// Sends a request as the server does: with request id and client address in the extensions.
pub(crate) async fn send(router: &Router, mut request: Request<Body>) -> Answer {
    let id = RequestId::from_caller("req_of_this_test").unwrap();
    request.extensions_mut().insert(id);
    let from = primitives::ClientAddress(std::net::IpAddr::from([127, 0, 0, 1]));
    request.extensions_mut().insert(from);
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}
