//! The pages on a copy of the demo data, without the layers of the server.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use axum::{Extension, Router};
use checkout::PaymentGateway;
use database::Database;
use http_body_util::BodyExt;
use identity::{OrderLinks, Secret};
use limits::AdmissionControl;
use merchants::StoreCache;
use payments::TestProvider;
use primitives::ClientAddress;
use testkit::{Template, TestDatabase};
use tower::ServiceExt;
use web::Web;

/// The site URL of the pages under test.
pub(crate) const SITE_URL: &str = "http://souk.test";

/// The secret from which the links to orders are derived.
pub(crate) fn secret() -> Secret {
    Secret::new("a secret for tests, of 32 bytes and more").unwrap()
}

/// The pages, with methods to open them.
pub(crate) struct TestApp {
    pub(crate) test: TestDatabase,
    router: Router,
}

/// A response, read to its end.
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl TestApp {
    /// Starts on a copy of the demo data.
    pub(crate) async fn start() -> Self {
        let world = demo::world();
        let template = Template { name: "world", fingerprint: demo::fingerprint() };
        let seed = async |database: Database| {
            demo::seed(&database, &world, |_| {}).await.unwrap();
        };
        let test = TestDatabase::copy_of(&template, "cell-1", seed).await;
        // With one connection, a request that opened a transaction inside another one would wait for itself.
        let database = test.database().with_connections(1);
        let web = Web {
            site_url: Arc::from(SITE_URL),
            stores: StoreCache::new(database.clone(), Duration::ZERO),
            database,
            admission: AdmissionControl::unlimited(),
            payment_gateway: PaymentGateway::new(Arc::new(TestProvider), true),
            order_links: OrderLinks::new(&secret(), Arc::from(SITE_URL)),
        };
        let from = ClientAddress([192, 0, 2, 1].into());
        Self { test, router: web::router(web).layer(Extension(from)) }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> TestResponse {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        TestResponse { status: parts.status, headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> TestResponse {
        let request = Request::builder().uri(path).header("host", "souk.test");
        self.send(request.body(Body::empty()).unwrap()).await
    }
}
