//! A merchant imports a catalog over HTTP (docs/contract/merchant-api.md#products), the worker applies it, and agents see
//! it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use catalog::{ApplyFeedRun, FeedFormat, ProductDraft, PurgeFeedRuns, RefreshCatalogStats};
use jobs::{Runner, RunnerSettings};
use primitives::Currency;
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase};

use crate::app::{TestApp, TestResponse};

/// A single store in an empty database, with a store key.
struct TestStore {
    app: TestApp,
    key: String,
}

impl TestStore {
    async fn open(currency: Currency) -> Self {
        let test = TestDatabase::new().await;
        let key = register_store(&test, currency).await;
        let app =
            TestApp::with_settings(test, |settings| settings.upload_bytes_max = 2 * 1024 * 1024);
        Self { app, key }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        kind: &str,
        body: impl Into<Body>,
    ) -> TestResponse {
        let request = Request::builder()
            .method(method)
            .uri(format!("/api/v1/merchant{path}"))
            .header("host", "souk.test")
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", kind);
        self.app.send(request.body(body.into()).unwrap()).await
    }

    async fn read(&self, path: &str) -> Value {
        let answer = self.send(Method::GET, path, "", Body::empty()).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["data"].clone()
    }

    /// Uploads a file and returns the path of its job, below `/merchant`.
    async fn upload(&self, method: Method, path: &str, kind: &str, file: Vec<u8>) -> String {
        self.app.test.clock().advance(Duration::from_secs(1));
        let answer = self.send(method, path, kind, file).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        let job = answer.json()["data"]["job_id"].as_str().unwrap().to_owned();
        format!("/jobs/{job}")
    }

    /// Replaces the catalog and returns the finished job.
    async fn replace(&self, query: &str, lines: &[String]) -> Value {
        let file = lines.join("\n").into_bytes();
        let path = format!("/products{query}");
        let job = self.upload(Method::PUT, &path, "application/x-ndjson", file).await;
        self.run_jobs().await;
        self.read(&job).await
    }

    /// Runs the catalog jobs until the queue is empty.
    async fn run_jobs(&self) {
        let runner = Runner::new(self.app.test.database().clone(), RunnerSettings::default())
            .register::<ApplyFeedRun>(connectors::read_feed)
            .register::<RefreshCatalogStats>(())
            .register::<PurgeFeedRuns>(());
        runner.run_until_idle().await.unwrap();
    }

    async fn product_count(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM product WHERE retired_at IS NULL")
            .fetch_one(&mut self.app.test.raw().await)
            .await
            .unwrap()
    }
}

async fn register_store(test: &TestDatabase, currency: Currency) -> String {
    let store = StoreBuilder::new("stall").currency(currency).score(0.9);
    let merchant = store.build(test.database()).await.merchant;
    crate::app::store_key(test.database(), merchant).await
}

fn mug(external_id: &str, price: &str) -> Value {
    json!({
        "external_id": external_id,
        "name": format!("Mug {external_id}"),
        "price": price,
        "stock_quantity": 9,
        "images": [{ "url": "https://stall.example/mug.jpg" }],
    })
}

fn mugs(count: usize) -> Vec<String> {
    (0..count).map(|number| mug(&format!("m{number:03}"), "10").to_string()).collect()
}

#[tokio::test]
async fn a_catalog_is_replaced_and_agents_see_it() {
    let store = TestStore::open(Currency::EUR).await;
    let job = store.replace("", &mugs(20)).await;
    assert_eq!((&job["status"], &job["complete"]), (&json!("completed"), &json!(true)), "{job}");
    assert_eq!((&job["created"], &job["rows_total"]), (&json!(20), &json!(20)));
    assert_eq!((&job["progress"], &job["mode"]), (&json!(1.0), &json!("replace")));
    let again = store.replace("", &mugs(20)).await;
    assert_eq!((&again["unchanged"], &again["retired"]), (&json!(20), &json!(0)));
    let fewer = store.replace("", &mugs(15)).await;
    assert_eq!((&fewer["retired"], &fewer["complete"]), (&json!(5), &json!(true)));

    let refused = store.replace("", &mugs(7)).await;
    assert_eq!((&refused["status"], store.product_count().await), (&json!("refused"), 15));
    assert!(refused["reason"].as_str().unwrap().contains("8 of 15"), "{refused}");
    let dry = store.replace("?dry_run=true&force=true", &mugs(7)).await;
    assert_eq!((&dry["status"], &dry["absent"]), (&json!("completed"), &json!(8)));
    assert_eq!((&dry["complete"], store.product_count().await), (&json!(false), 15));
    let forced = store.replace("?force=true", &mugs(7)).await;
    assert_eq!((&forced["retired"], store.product_count().await), (&json!(8), 7));

    store.app.test.clock().advance(Duration::from_secs(10));
    store.run_jobs().await;
    let quality = store.read("/quality").await;
    assert_eq!(quality["catalog_freshness"], 1.0);
    assert_eq!((&quality["counted"]["products"], &quality["updating"]), (&json!(7), &json!(false)));
    assert_eq!(quality["counted"]["missing_gtin"], 7);
    let profile = store.app.get("/api/v1/stores/stall").await.json();
    assert_eq!(profile["data"]["product_count"], 7, "{profile}");
    let newest = store.app.get("/api/v1/stores/stall/new-arrivals").await.json();
    assert_eq!(newest["meta"]["total"], 7);
}

#[tokio::test]
async fn each_format_imports_the_demo_stores_products() {
    let world = demo::world();
    let store = world.store("demo-store").unwrap();
    let currency: Currency = store.currency.parse().unwrap();
    let drafts: Vec<ProductDraft> =
        store.products.iter().map(|product| demo::draft(store, product)).collect();
    for (format, kind) in [
        (FeedFormat::Ndjson, "application/x-ndjson"),
        (FeedFormat::GoogleXml, "application/xml"),
        (FeedFormat::GoogleTsv, "text/tab-separated-values"),
        (FeedFormat::ShopifyCsv, "text/csv; charset=utf-8"),
        (FeedFormat::AcpJson, "application/json"),
    ] {
        let store = TestStore::open(currency).await;
        let file = connectors::write::write(format, &drafts, currency);
        let carried =
            drafts.iter().filter(|draft| connectors::write::can_represent(format, draft, currency));
        let carried = carried.count();
        let job = store.upload(Method::POST, "/imports", kind, file.clone()).await;
        store.run_jobs().await;
        let done = store.read(&job).await;
        let counts = (&done["status"], &done["created"], &done["failed"]);
        assert_eq!(counts, (&json!("completed"), &json!(carried), &json!(0)), "{done}");
        assert_eq!((&done["format"], &done["complete"]), (&json!(format), &json!(false)));
        let named = format!("/imports?format={format}&mode=replace");
        let job = store.upload(Method::POST, &named, "application/octet-stream", file).await;
        store.run_jobs().await;
        let again = store.read(&job).await;
        assert_eq!((&again["unchanged"], &again["complete"]), (&json!(carried), &json!(true)));
    }
}

#[tokio::test]
async fn row_errors_are_listed_by_line() {
    let store = TestStore::open(Currency::EUR).await;
    let mut lines = mugs(2);
    let mut two_errors = mug("both", "ignore");
    two_errors["gtin"] = json!("ignore");
    lines.push(two_errors.to_string());
    lines.push(String::from("{ignore"));
    lines.push(mug("nul\u{0}", "1").to_string());
    lines.push(mug("m000", "1").to_string());
    let job = store.upload(
        Method::POST,
        "/imports?file_name=mugs.ndjson",
        "application/x-ndjson",
        lines.join("\n").into_bytes(),
    );
    let job = job.await;
    store.run_jobs().await;
    let done = store.read(&job).await;
    assert_eq!((&done["created"], &done["failed"]), (&json!(2), &json!(4)), "{done}");
    assert_eq!(done["file_name"], "mugs.ndjson");
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = store.read(&format!("{job}/faults?limit=1&after_line={after}")).await;
        assert_eq!(page["failed"], 4);
        assert!(!page.to_string().contains("ignore"), "{page}");
        for error in page["faults"].as_array().unwrap() {
            let line = error["line"].as_i64().unwrap();
            seen.push((line, error["field"].as_str().unwrap().to_owned()));
        }
        let Some(next) = page["next_after_line"].as_i64() else { break };
        after = next;
    }
    let fields: Vec<(i64, &str)> = seen.iter().map(|(line, field)| (*line, &**field)).collect();
    let expected = [(3, "price"), (4, "row"), (5, "external_id"), (6, "external_id")];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_push_after_the_feed_takes_precedence() {
    let store = TestStore::open(Currency::EUR).await;
    store.replace("", &mugs(3)).await;
    let file = mugs(2).join("\n").into_bytes();
    let job = store.upload(Method::PUT, "/products", "application/x-ndjson", file).await;
    store.app.test.clock().advance(Duration::from_secs(1));
    let push = json!({ "products": [mug("m001", "99"), mug("m002", "98")] });
    let pushed = store.send(Method::PATCH, "/products", "application/json", push.to_string()).await;
    assert_eq!(pushed.json()["data"]["updated"], 2, "{}", pushed.text);
    store.run_jobs().await;
    let done = store.read(&job).await;
    assert_eq!((&done["outdated"], &done["unchanged"]), (&json!(1), &json!(1)), "{done}");
    assert_eq!(
        (&done["retired"], store.product_count().await),
        (&json!(0), 3),
        "m002 was pushed since"
    );
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_and_its_job_fails() {
    let store = TestStore::open(Currency::EUR).await;
    let large = vec![b' '; 3 * 1024 * 1024];
    let answer = store.send(Method::PUT, "/products", "application/x-ndjson", large).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (413, "payload_too_large"));
    assert!(answer.json()["details"]["hint"].is_string(), "{}", answer.text);
    let jobs = store.read("/jobs").await;
    assert_eq!(jobs[0]["status"], "failed", "{jobs}");
    let empty = store.replace("", &[]).await;
    assert_eq!((&empty["status"], &empty["complete"]), (&json!("failed"), &json!(false)));
    assert!(empty["reason"].as_str().is_some(), "{empty}");
}
