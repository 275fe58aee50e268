//! `sales-end`: a sale ends and another one begins while a server, a worker and an index run. The price of the product,
//! of a cart and of a search result changes by itself.

use std::time::{Duration, Instant};

use merchants::Settings;
use primitives::Timestamp;
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestDatabase};

use crate::catalog::merchant::Merchant;
use crate::checkout::store::settings_without_hold_limits;
use crate::hardening::shop::tool;
use crate::identity::{Account, agent_key_for};
use crate::mcp::{IndexDirectory, wait_for_search};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, store_key};

const SLUG: &str = "sales";
/// How long the index may take to follow.
const FOLLOW_MAX: Duration = Duration::from_secs(30);

struct Case {
    server: Souk,
    agent_key: String,
    merchant: Merchant,
    _worker: Souk,
    _index: Souk,
    _directory: IndexDirectory,
    // Last, because it can be dropped only once the processes have ended.
    test: TestDatabase,
}

impl Case {
    async fn start() -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let settings: Settings = settings_without_hold_limits();
        StoreBuilder::new(SLUG).settings(settings).score(0.9).build(test.database()).await;
        let directory = IndexDirectory::new();
        let index = Souk::index(&test.url(), &directory.settings("writer"))?;
        let worker = Souk::work(&test.url(), 30)?;
        let server = Souk::serve_with(&test.url(), &[], &directory.settings("reader")).await?;
        wait_for_search(server.port).await?;
        let account = Account::create(&test.url(), "sales@example.com", "ENTERPRISE").await?;
        let token = account.log_in(server.port).await?;
        let scopes = ["agent:read", "agent:cart"];
        let agent_key = agent_key_for(server.port, &token, &scopes).await?.1;
        let merchant = Merchant::new(store_key(&test.url(), SLUG).await?);
        Ok(Self {
            server,
            agent_key,
            merchant,
            _worker: worker,
            _index: index,
            _directory: directory,
            test,
        })
    }

    async fn tool(&self, name: &str, arguments: &Value) -> Result<Value, Failure> {
        let port = self.server.port;
        let (status, answer) = tool(port, &self.agent_key, SLUG, name, arguments).await?;
        ensure(status == 200, || format!("{name}: {status} {answer}"))?;
        Ok(answer)
    }

    async fn product_of(&self, external_id: &str) -> Result<String, Failure> {
        let mut raw = self.test.raw().await;
        let id: primitives::ProductId =
            sqlx::query_scalar("SELECT product_id FROM product WHERE external_id = $1")
                .bind(external_id)
                .fetch_one(&mut raw)
                .await?;
        Ok(id.to_string())
    }

    /// Returns the price of a product in its record.
    async fn price(&self, product: &str) -> Result<(f64, Option<f64>), Failure> {
        let shown = self.tool("get_product_details", &json!({ "product_id": product })).await?;
        Ok((shown["price"].as_f64().unwrap_or(-1.0), shown["list_price"].as_f64()))
    }

    /// Returns the price of the search result with a name; `None` while the index does not know the product or the store.
    async fn found_price(&self, query: &str) -> Result<Option<f64>, Failure> {
        let (port, arguments) = (self.server.port, json!({ "query": query }));
        let (status, found) =
            tool(port, &self.agent_key, SLUG, "search_products", &arguments).await?;
        if status == 404 {
            return Ok(None);
        }
        ensure(status == 200, || format!("a search: {status} {found}"))?;
        ensure(found["meta"]["source"] != "database", || format!("no index: {}", found["meta"]))?;
        Ok(found["data"][0]["price"].as_f64())
    }

    /// Waits until a search shows a price, and returns how long it took.
    async fn wait_for_price(&self, query: &str, price: f64) -> Result<Duration, Failure> {
        let since = Instant::now();
        loop {
            let found = self.found_price(query).await?;
            if found == Some(price) {
                return Ok(since.elapsed());
            }
            ensure(since.elapsed() < FOLLOW_MAX, || {
                format!("{query}: {found:?} instead of {price} after {FOLLOW_MAX:?}")
            })?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn now(&self) -> Result<Timestamp, Failure> {
        let mut raw = self.test.raw().await;
        Ok(sqlx::query_scalar("SELECT clock_timestamp()").fetch_one(&mut raw).await?)
    }
}

fn is(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 0.001
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let case = Case::start().await?;
    // How long the import and the index may take before the sale ends.
    let before = Duration::from_secs(trial.by_tier(15, 40));
    // A feed states whole seconds.
    let change = case.now().await?.plus(before).unix_seconds() * 1_000_000;
    let change = Timestamp::from_unix_micros(change);
    let (past, future) = ("2020-01-01T00:00Z", "2099-01-01T00:00Z");
    let feed = format!(
        "id\ttitle\tprice\tsale_price\tsale_price_effective_date\tavailability\n\
         ends\tVelvet trumpet\t10.00 EUR\t8.00 EUR\t{past}/{change}\tin_stock\n\
         begins\tCopper whistle\t20.00 EUR\t15.00 EUR\t{change}/{future}\tin_stock\n\
         ended\tTin accordion\t30.00 EUR\t5.00 EUR\t{past}/2020-02-01T00:00Z\tin_stock\n"
    );
    let port = case.server.port;
    let path = "/api/v1/merchant/imports?format=google_tsv";
    let job = case.merchant.send(port, "POST", path, feed.as_bytes()).await?;
    let job = job.ok_or("the upload failed")?;
    let ended = case.merchant.wait_for_job(|| port, &job, |_| {}).await?;
    ensure(ended["created"] == 3, || format!("the import: {ended}"))?;
    let (ends, begins) = (case.product_of("ends").await?, case.product_of("begins").await?);
    let expired = case.product_of("ended").await?;
    case.wait_for_price("velvet trumpet", 8.0).await?;
    case.wait_for_price("copper whistle", 20.0).await?;
    let items = json!({ "items": [
        { "product_id": ends, "quantity": 1 }, { "product_id": begins, "quantity": 1 },
        { "product_id": expired, "quantity": 1 },
    ] });
    let cart = case.tool("create_cart", &items).await?;
    let before =
        [case.price(&ends).await?, case.price(&begins).await?, case.price(&expired).await?];
    let left = change.since(case.now().await?);
    ensure(!left.is_zero(), || String::from("too slow: the sale ended before the first reads"))?;
    let expected = [(8.0, Some(10.0)), (20.0, None), (30.0, None)];
    ensure(before == expected, || format!("before the change: {before:?}"))?;
    let prices = |cart: &Value| -> Vec<f64> {
        let lines = cart["items"].as_array().into_iter().flatten();
        lines.map(|line| line["unit_price"].as_f64().unwrap_or(-1.0)).collect()
    };
    ensure(prices(&cart) == [8.0, 20.0, 30.0], || format!("the cart before: {cart}"))?;
    let searchable = wait_for_searchable(&case, &job).await?;
    tokio::time::sleep(change.since(case.now().await?) + Duration::from_millis(50)).await;
    // From this moment on the price of the sale is not sold, whether or not a job has run.
    let after = [case.price(&ends).await?, case.price(&begins).await?];
    ensure(is(after[0].0, 10.0) && is(after[1].0, 15.0), || {
        format!("after the change: {after:?}")
    })?;
    let cart_id = cart["cart_id"].as_str().ok_or("no cart_id")?;
    let cart = case.tool("preview_checkout", &json!({ "cart_id": cart_id })).await?;
    ensure(prices(&cart) == [10.0, 15.0, 30.0], || format!("the cart after: {cart}"))?;
    let took = case.wait_for_price("velvet trumpet", 10.0).await?;
    let other = case.wait_for_price("copper whistle", 15.0).await?;
    let mut raw = case.test.raw().await;
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM product WHERE price_due_at <= clock_timestamp()")
            .fetch_one(&mut raw)
            .await?;
    ensure(left == 0, || format!("{left} prices are still due"))?;
    Ok(format!(
        "a sale that ends and one that begins: product and cart show the new price at once, search after {:.1} s; a sale that \
         ended long ago is never sold; the import was searchable after {searchable:.1} s",
        took.max(other).as_secs_f64()
    ))
}

/// Waits until the job states since when its result is searchable; returns the seconds after its end.
async fn wait_for_searchable(case: &Case, job: &str) -> Result<f64, Failure> {
    let since = Instant::now();
    while since.elapsed() < FOLLOW_MAX {
        if let Some(state) = case.merchant.job(case.server.port, job).await
            && let (Some(finished), Some(searchable)) =
                (state["finished_at"].as_str(), state["searchable_at"].as_str())
        {
            let (finished, searchable): (Timestamp, Timestamp) =
                (finished.parse()?, searchable.parse()?);
            return Ok(searchable.since(finished).as_secs_f64());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err(format!("the job is not searchable after {FOLLOW_MAX:?}").into())
}
