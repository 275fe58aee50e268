//! Checks of imports. `broken-files`: files as merchants send them, each with the result that its job has to report.
//! `sales-end`: prices change by themselves when a sale begins or ends. `foreign-currency-import`: a product in another
//! currency is kept, reported and not sold. `stock-unknown`: a product without stock can be bought and is not in stock.
//! `retired-categories`: a category without products is not shown.

mod broken_files;
mod sales;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::catalog::merchant::Merchant;
use crate::checkout::store::settings_without_hold_limits;
use crate::hardening::shop::{Shop, call, expect_error, tool};
use crate::report::{Failure, Trial, Verdict, ensure};

pub(crate) use broken_files::prove as broken_files;
pub(crate) use sales::prove as sales_end;

/// How long the profile may take to follow a change of the catalog.
const FOLLOW_MAX: Duration = Duration::from_secs(30);

/// A store that imports files.
pub(super) struct Importer {
    pub(super) shop: Shop,
    merchant: Merchant,
    key: String,
}

impl Importer {
    pub(super) async fn open(trial: &Trial) -> Result<Self, Failure> {
        let shop = Shop::with(trial, &[], settings_without_hold_limits()).await?;
        let key = shop.key().await?;
        shop.deployment.start_worker().await?;
        Ok(Self { merchant: Merchant::new(key.clone()), key, shop })
    }

    /// Sends a file and returns the job when it has ended.
    pub(super) async fn import(&self, query: &str, file: &[u8]) -> Result<Value, Failure> {
        let path = format!("/api/v1/merchant/imports?{query}");
        let port = self.shop.port();
        let job = self.merchant.send(port, "POST", &path, file).await?;
        let job = job.ok_or("the upload failed: no response, or a 5xx status")?;
        self.merchant.wait_for_job(|| port, &job, |_| {}).await
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns a product of the store as it is stored: its id, its price in minor units and its currency.
    pub(super) async fn stored(&self, external_id: &str) -> Result<(String, i64, String), Failure> {
        let mut raw = self.shop.deployment.test.raw().await;
        let row: (primitives::ProductId, i64, String) = sqlx::query_as(
            "SELECT product_id, price_minor, currency FROM product
             WHERE merchant_id = $1 AND external_id = $2 AND retired_at IS NULL",
        )
        .bind(self.shop.merchant)
        .bind(external_id)
        .fetch_one(&mut raw)
        .await?;
        Ok((row.0.to_string(), row.1, row.2))
    }
}

/// Fails unless a job has this status and these counts: created, failed, skipped, warnings.
pub(super) fn expect_job(
    what: &str,
    job: &Value,
    status: &str,
    counts: [i64; 4],
) -> Result<(), Failure> {
    let found =
        ["created", "failed", "skipped", "warnings"].map(|field| job[field].as_i64().unwrap_or(-1));
    ensure(job["status"] == status && found == counts, || {
        format!("{what}: expected {status} {counts:?}, got {job}")
    })
}

pub(crate) async fn foreign_currency_import(trial: Trial) -> Verdict {
    let importer = Importer::open(&trial).await?;
    let feed = b"id\ttitle\tprice\tavailability\nEUR-1\tCup\t5.00 EUR\tin_stock\nUSD-1\tCup\t5.00 USD\tin_stock\n\
                 JPY-1\tCup\t500 JPY\tin_stock\n";
    let job = importer.import("format=google_tsv", feed).await?;
    expect_job("a feed with three currencies", &job, "completed", [3, 0, 0, 2])?;
    let issues = job["issues"].as_array().ok_or("no issues")?;
    ensure(issues.iter().all(|issue| issue["code"] == "foreign_currency"), || {
        format!("unexpected issues: {issues:?}")
    })?;
    let (dollars, minor, currency) = importer.stored("USD-1").await?;
    ensure((minor, currency.as_str()) == (500, "USD"), || {
        format!("relabelled: {minor} {currency}")
    })?;
    let (shop, agent) = (&importer.shop, importer.shop.agent().await?);
    let items = json!({ "items": [{ "product_id": dollars, "quantity": 1 }] });
    let cart = tool(shop.port(), &agent.key, &shop.slug, "create_cart", &items).await?;
    expect_error("create_cart", &cart, 422, "unsupported_currency")?;
    Ok(String::from(
        "three products in EUR, USD and JPY are kept in their currencies, with a warning for each foreign one; a cart \
         refuses the one in USD with 422",
    ))
}

pub(crate) async fn stock_unknown(trial: Trial) -> Verdict {
    let importer = Importer::open(&trial).await?;
    let feed = "{\"external_id\":\"u\",\"name\":\"Wistful lantern\",\"price\":\"10.00\"}\n\
                {\"external_id\":\"s\",\"name\":\"Wistful candle\",\"price\":\"10.00\",\"stock_quantity\":9}\n";
    let job = importer.import("format=ndjson", feed.as_bytes()).await?;
    expect_job("two products", &job, "completed", [2, 0, 0, 0])?;
    let (shop, agent) = (&importer.shop, importer.shop.agent().await?);
    let call = async |name: &'static str, arguments: Value| {
        tool(shop.port(), &agent.key, &shop.slug, name, &arguments).await
    };
    let unknown = importer.stored("u").await?.0;
    let shown = call("get_product_details", json!({ "product_id": unknown })).await?;
    ensure(shown.1["stock_status"] == "unknown", || format!("the product: {shown:?}"))?;
    for (in_stock_only, expected) in [(false, 2), (true, 1)] {
        let arguments = json!({ "query": "wistful", "in_stock_only": in_stock_only });
        // Search learns of a new store and of its products within a few seconds.
        let since = Instant::now();
        let mut found = call("search_products", arguments.clone()).await?;
        while found.1["data"].as_array().is_none_or(|it| it.len() < expected)
            && since.elapsed() < FOLLOW_MAX
        {
            tokio::time::sleep(Duration::from_millis(200)).await;
            found = call("search_products", arguments.clone()).await?;
        }
        let count = found.1["data"].as_array().map(Vec::len);
        ensure(count == Some(expected), || format!("in_stock_only {in_stock_only}: {found:?}"))?;
    }
    let cart =
        call("create_cart", json!({ "items": [{ "product_id": unknown, "quantity": 3 }] })).await?;
    ensure(cart.0 == 200 && cart.1["items"][0]["stock_status"] == "unknown", || {
        format!("a cart with it: {cart:?}")
    })?;
    let id = cart.1["cart_id"].as_str().ok_or("no cart_id")?;
    let session = call("complete_checkout", json!({ "cart_id": id })).await?;
    ensure(session.0 == 200 && session.1["checkout_id"].is_string(), || {
        format!("a checkout with it: {session:?}")
    })?;
    Ok(String::from(
        "a product without stock is `unknown`: found by a search, not by one for products in stock; three units of it are \
         put into a cart and a checkout",
    ))
}

pub(crate) async fn retired_categories(trial: Trial) -> Verdict {
    let importer = Importer::open(&trial).await?;
    let (shop, port) = (&importer.shop, importer.shop.port());
    let feed = "{\"external_id\":\"l\",\"name\":\"Lamp\",\"price\":\"10.00\",\"category\":[\"Lamps\"]}\n\
                {\"external_id\":\"v\",\"name\":\"Vase\",\"price\":\"10.00\",\"category\":[\"Vases\"]}\n";
    let job = importer.import("format=ndjson", feed.as_bytes()).await?;
    expect_job("two products", &job, "completed", [2, 0, 0, 0])?;
    wait_for_categories(shop, &["Lamps", "Vases"]).await?;
    let path = "/merchant/products/l";
    let retired = call(port, importer.key(), "DELETE", path, &Value::Null).await?;
    ensure(retired.0 < 300, || format!("DELETE {path}: {retired:?}"))?;
    wait_for_categories(shop, &["Vases"]).await?;
    let agent = shop.agent().await?;
    let listed = tool(port, &agent.key, &shop.slug, "browse_categories", &json!({})).await?;
    let is_gone = listed.0 == 200 && !listed.1.to_string().contains("Lamps");
    ensure(is_gone, || format!("browse_categories: {listed:?}"))?;
    Ok(String::from("the category of the only product retired is in no profile and no listing"))
}

/// Waits until the public profile has these categories: a job counts them.
async fn wait_for_categories(shop: &Shop, expected: &[&str]) -> Result<(), Failure> {
    let path = format!("/stores/{}", shop.slug);
    let since = Instant::now();
    loop {
        let (_, profile) = call(shop.port(), "", "GET", &path, &Value::Null).await?;
        let categories = &profile["data"]["categories"];
        if *categories == json!(expected) {
            return Ok(());
        }
        ensure(since.elapsed() < FOLLOW_MAX, || {
            format!("the categories are {categories} instead of {expected:?}")
        })?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
