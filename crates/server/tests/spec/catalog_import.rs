//! Decisions §9: a merchant brings a catalog in, over HTTP and through the worker, and agents see it.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use catalog::{ApplyRun, FeedFormat, ProductDraft, SweepRuns, TakeStock};
use database::Work;
use jobs::{Runner, RunnerSettings};
use merchants::{NewStore, Standing};
use primitives::{Currency, MerchantId};
use serde_json::{Value, json};
use testkit::TestDatabase;

use crate::app::{Answer, TestApp};

/// A store on an empty site, with its merchant's key.
struct Shop {
    app: TestApp,
    key: String,
}

impl Shop {
    async fn open(currency: Currency) -> Self {
        let test = TestDatabase::new().await;
        let key = register(&test, currency).await;
        let app = TestApp::around(test, |settings| settings.upload_bytes_max = 2 * 1024 * 1024);
        Self { app, key }
    }

    async fn send(&self, method: Method, path: &str, kind: &str, body: impl Into<Body>) -> Answer {
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

    /// Hands a file over; the answer is the address of its job, below `/merchant`.
    async fn hand_over(&self, method: Method, path: &str, kind: &str, file: Vec<u8>) -> String {
        self.app.test.clock().advance(Duration::from_secs(1));
        let answer = self.send(method, path, kind, file).await;
        assert_eq!(answer.status, 202, "{}", answer.text);
        let job = answer.json()["data"]["job_id"].as_str().unwrap().to_owned();
        format!("/jobs/{job}")
    }

    /// Replaces the catalog and answers the job, done.
    async fn replace(&self, query: &str, lines: &[String]) -> Value {
        let file = lines.join("\n").into_bytes();
        let path = format!("/products{query}");
        let job = self.hand_over(Method::PUT, &path, "application/x-ndjson", file).await;
        self.work_off().await;
        self.read(&job).await
    }

    /// What production registers, until nothing is left to do.
    async fn work_off(&self) {
        let runner = Runner::new(self.app.test.database().clone(), RunnerSettings::default())
            .register::<ApplyRun>(connectors::read_feed)
            .register::<TakeStock>(())
            .register::<SweepRuns>(());
        runner.run_until_idle().await.unwrap();
    }

    async fn listed(&self) -> i64 {
        sqlx::query_scalar("SELECT count(*) FROM product WHERE retired_at IS NULL")
            .fetch_one(&mut self.app.test.raw().await)
            .await
            .unwrap()
    }
}

async fn register(test: &TestDatabase, currency: Currency) -> String {
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let merchant: MerchantId = work.new_id();
    let owned = |text: &str| text.to_owned();
    let store = NewStore {
        merchant,
        slug: "stall".parse().unwrap(),
        name: owned("The stall"),
        legal_name: owned("Stall Ltd"),
        description: owned("All sorts."),
        website_url: owned("https://stall.example"),
        platform: owned("api"),
        active: true,
        country: owned("IE"),
        currency,
        languages: vec![owned("en")],
        ships_to: vec![owned("IE")],
        support_email: owned("help@stall.example"),
        member_since: work.now(),
        last_sync_at: None,
    };
    merchants::register(&mut work, &store).await.unwrap();
    let standing = Standing { score: Some(0.9), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
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
    let shop = Shop::open(Currency::EUR).await;
    let job = shop.replace("", &mugs(20)).await;
    assert_eq!((&job["status"], &job["complete"]), (&json!("completed"), &json!(true)), "{job}");
    assert_eq!((&job["created"], &job["rows_total"]), (&json!(20), &json!(20)));
    assert_eq!((&job["progress"], &job["mode"]), (&json!(1.0), &json!("replace")));
    let again = shop.replace("", &mugs(20)).await;
    assert_eq!((&again["unchanged"], &again["retired"]), (&json!(20), &json!(0)));
    let fewer = shop.replace("", &mugs(15)).await;
    assert_eq!((&fewer["retired"], &fewer["complete"]), (&json!(5), &json!(true)));

    let refused = shop.replace("", &mugs(7)).await;
    assert_eq!((&refused["status"], shop.listed().await), (&json!("refused"), 15));
    assert!(refused["reason"].as_str().unwrap().contains("8 of 15"), "{refused}");
    let dry = shop.replace("?dry_run=true&force=true", &mugs(7)).await;
    assert_eq!((&dry["status"], &dry["absent"]), (&json!("completed"), &json!(8)));
    assert_eq!((&dry["complete"], shop.listed().await), (&json!(false), 15));
    let forced = shop.replace("?force=true", &mugs(7)).await;
    assert_eq!((&forced["retired"], shop.listed().await), (&json!(8), 7));

    shop.app.test.clock().advance(Duration::from_secs(10));
    shop.work_off().await;
    let quality = shop.read("/quality").await;
    assert_eq!(quality["catalog_freshness"], 1.0);
    assert_eq!((&quality["counted"]["products"], &quality["updating"]), (&json!(7), &json!(false)));
    assert_eq!(quality["counted"]["missing_gtin"], 7);
    let store = shop.app.get("/api/v1/stores/stall").await.json();
    assert_eq!(store["data"]["product_count"], 7, "{store}");
    let newest = shop.app.get("/api/v1/stores/stall/new-arrivals").await.json();
    assert_eq!(newest["meta"]["total"], 7);
}

#[tokio::test]
async fn each_format_brings_the_demo_stores_products_in() {
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
        let shop = Shop::open(currency).await;
        let file = connectors::write::write(format, &drafts, currency);
        let carried =
            drafts.iter().filter(|draft| connectors::write::carries(format, draft, currency));
        let carried = carried.count();
        let job = shop.hand_over(Method::POST, "/imports", kind, file.clone()).await;
        shop.work_off().await;
        let done = shop.read(&job).await;
        let counts = (&done["status"], &done["created"], &done["failed"]);
        assert_eq!(counts, (&json!("completed"), &json!(carried), &json!(0)), "{done}");
        assert_eq!((&done["format"], &done["complete"]), (&json!(format.name()), &json!(false)));
        let named = format!("/imports?format={}&mode=replace", format.name());
        let job = shop.hand_over(Method::POST, &named, "application/octet-stream", file).await;
        shop.work_off().await;
        let again = shop.read(&job).await;
        assert_eq!((&again["unchanged"], &again["complete"]), (&json!(carried), &json!(true)));
    }
}

#[tokio::test]
async fn rows_that_were_not_taken_are_told_line_by_line() {
    let shop = Shop::open(Currency::EUR).await;
    let mut lines = mugs(2);
    let mut two_faults = mug("both", "ignore");
    two_faults["gtin"] = json!("ignore");
    lines.push(two_faults.to_string());
    lines.push(String::from("{ignore"));
    lines.push(mug("nul\u{0}", "1").to_string());
    lines.push(mug("m000", "1").to_string());
    let job = shop.hand_over(
        Method::POST,
        "/imports?file_name=mugs.ndjson",
        "application/x-ndjson",
        lines.join("\n").into_bytes(),
    );
    let job = job.await;
    shop.work_off().await;
    let done = shop.read(&job).await;
    assert_eq!((&done["created"], &done["failed"]), (&json!(2), &json!(4)), "{done}");
    assert_eq!(done["file_name"], "mugs.ndjson");
    let (mut seen, mut after) = (Vec::new(), 0);
    loop {
        let page = shop.read(&format!("{job}/faults?limit=1&after_line={after}")).await;
        assert_eq!(page["failed"], 4);
        assert!(!page.to_string().contains("ignore"), "{page}");
        for fault in page["faults"].as_array().unwrap() {
            let line = fault["line"].as_i64().unwrap();
            seen.push((line, fault["field"].as_str().unwrap().to_owned()));
        }
        let Some(next) = page["next_after_line"].as_i64() else { break };
        after = next;
    }
    let fields: Vec<(i64, &str)> = seen.iter().map(|(line, field)| (*line, &**field)).collect();
    let expected = [(3, "price"), (3, "gtin"), (4, "row"), (5, "external_id"), (6, "external_id")];
    assert_eq!(fields, expected);
}

#[tokio::test]
async fn a_push_that_came_after_the_feed_is_newer() {
    let shop = Shop::open(Currency::EUR).await;
    shop.replace("", &mugs(3)).await;
    let file = mugs(2).join("\n").into_bytes();
    let job = shop.hand_over(Method::PUT, "/products", "application/x-ndjson", file).await;
    shop.app.test.clock().advance(Duration::from_secs(1));
    let push = json!({ "products": [mug("m001", "99"), mug("m002", "98")] });
    let pushed = shop.send(Method::PATCH, "/products", "application/json", push.to_string()).await;
    assert_eq!(pushed.json()["data"]["updated"], 2, "{}", pushed.text);
    shop.work_off().await;
    let done = shop.read(&job).await;
    assert_eq!((&done["outdated"], &done["unchanged"]), (&json!(1), &json!(1)), "{done}");
    assert_eq!((&done["retired"], shop.listed().await), (&json!(0), 3), "m002 was pushed since");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_and_its_job_says_so() {
    let shop = Shop::open(Currency::EUR).await;
    let large = vec![b' '; 3 * 1024 * 1024];
    let answer = shop.send(Method::PUT, "/products", "application/x-ndjson", large).await;
    assert_eq!((answer.status.as_u16(), answer.code().as_str()), (413, "payload_too_large"));
    assert!(answer.json()["details"]["hint"].is_string(), "{}", answer.text);
    let jobs = shop.read("/jobs").await;
    assert_eq!(jobs[0]["status"], "failed", "{jobs}");
    let empty = shop.replace("", &[]).await;
    assert_eq!((&empty["status"], &empty["complete"]), (&json!("completed"), &json!(false)));
    assert!(empty["reason"].as_str().is_some(), "{empty}");
}
