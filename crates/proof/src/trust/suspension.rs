//! `suspension`: a store is suspended by its score and reinstated by it, end to end.
//!
//! The store has a poor catalog: of five products one has an image and a GTIN, no policy is stated, and nothing was pushed for
//! nine days. With that alone its score is 0.228. Then it cancels the orders of eighty-one buyers as out of stock, over HTTP.
//! Workers count the cancellations, and the score falls to 0.195: the store is suspended, everywhere within five seconds of the
//! score, and its merchant is told why, by a notice and by the event `trust.score_changed`. What was bought there stays readable.
//! Once the merchant completes the catalog and states its policies, over HTTP as well, the next score reinstates the store.
//!
//! Days count when they have ended, and no API makes the past. So one order is bought over HTTP and copied by SQL for eighty
//! other buyers; after all of them were canceled, times of orders, checkouts, cancellations and pushes are moved into the past by
//! SQL. Only then a worker starts, and reads the events of these cancellations. The standing before the first score is given.

mod doors;
mod past;

use std::time::{Duration, Instant};

use catalog::{Amount, ImageDraft, ProductDraft};
use database::Work;
use primitives::{Id, MerchantId, OrderId, ProductId};
use serde_json::{Value, json};
use testkit::{StoreBuilder, TestStore};
use trust::{Cause, MethodologyVersion};

use self::doors::{Doors, Shown};
use self::past::{copy_for_others, move_into_the_past};
use crate::checkout::store::{Agent, report_paid, settings_without_hold_limits};
use crate::hardening::shop::{call, expect};
use crate::http::Client;
use crate::identity::{Account, agent_key_for};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::search::{Deployment, post_search};
use crate::souk::{Souk, store_key_with};
use crate::webhooks::{Registered, Site, Worker, body_of, check_request};

/// The slug of the store.
const SLUG: &str = "attic";
/// A word that only the products of this store have.
const WORD: &str = "zorb";
/// Other buyers whose orders are canceled: a component has its whole weight from 75 units on.
const BUYERS: usize = 80;
const PRODUCTS: usize = 5;
/// How long workers and the index may take for anything that has no bound here.
const PATIENCE: Duration = Duration::from_mins(1);
/// The path of the receiver.
const HOOK: &str = "/ok/trust";

/// Scores computed by hand. Of the weights, completeness has 0.11, freshness 0.11, policies 0.08 and consistency 0.06; those of
/// availability, checkouts, fulfillment and satisfaction sum to 0.35, and disputes have 0.07, with the value 1.
const POOR: f64 = (0.11 / 5.0 + 0.06) / 0.36;
const AFTER_CANCELLATIONS: f64 = (0.11 / 5.0 + 0.06 + 0.07) / 0.78;
const MENDED: f64 = (0.11 + 0.11 + 0.08 + 0.06 + 0.07) / 0.78;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let shop = Shop::open().await?;
    let orders = shop.sell_and_cancel().await?;
    let since = shop.score(POOR).await?;
    shop.doors.until(Shown::Listed, POOR, since).await?;

    let _worker: Worker = shop.site.worker(&[])?;
    shop.until_counted(orders.len()).await?;
    let since = shop.score(AFTER_CANCELLATIONS).await?;
    let suspended = shop.doors.until(Shown::Suspended, AFTER_CANCELLATIONS, since).await?;
    shop.doors.read_order(orders[0]).await?;
    let notice = shop.doors.newest_notice("trust_suspended").await?;
    ensure(notice["details"]["ends"].is_object(), || format!("no end is stated: {notice}"))?;
    shop.until_told(true).await?;

    shop.mend().await?;
    let since = shop.score(MENDED).await?;
    let reinstated = shop.doors.until(Shown::Listed, MENDED, since).await?;
    shop.doors.newest_notice("trust_reinstated").await?;
    shop.until_told(false).await?;
    Ok(format!(
        "{} orders canceled as out of stock: score {POOR:.3}, then {AFTER_CANCELLATIONS:.3}; suspended in search, directory, \
         MCP, checkout and the merchant's view after at most {:.2} s, orders readable, merchant told; with a complete catalog \
         {MENDED:.3}: reinstated after at most {:.2} s",
        orders.len(),
        suspended.as_secs_f64(),
        reinstated.as_secs_f64(),
    ))
}

/// The store, with a server, an index and a receiver of its events.
struct Shop {
    doors: Doors,
    products: Vec<ProductId>,
    store: TestStore,
    endpoint: Registered,
    // The processes, and what they use after them.
    _server: Souk,
    _writer: Souk,
    _deployment: Deployment,
    site: Site,
}

impl Shop {
    async fn open() -> Result<Self, Failure> {
        let site = Site::open().await?;
        // It is scored on request in this epoch before a worker starts, so that the schedule does not interfere.
        let merchant = MerchantId::from_random(u128::MAX - 1);
        let builder = StoreBuilder::new(SLUG).merchant(merchant).score(0.9);
        let store = builder.settings(settings_without_hold_limits()).build(&site.database).await;
        let drafts: Vec<ProductDraft> =
            (0..PRODUCTS).map(|number| draft(number, number == 0)).collect();
        let products = store.put_products(&site.database, &drafts).await;
        let endpoint = site.endpoint(merchant, HOOK).await?;
        let url = site.test.url();
        let deployment = Deployment::new(&url, "suspension").await?;
        let writer = deployment.writer()?;
        let server = deployment.ready_reader("readers").await?;
        let doors = doors(&url, server.port, products[1]).await?;
        until_found(server.port).await?;
        Ok(Self {
            doors,
            products,
            store,
            endpoint,
            _server: server,
            _writer: writer,
            _deployment: deployment,
            site,
        })
    }

    /// Sells to many buyers and cancels all orders as out of stock. Afterwards all of it lies in the past.
    async fn sell_and_cancel(&self) -> Result<Vec<OrderId>, Failure> {
        let (agent, port) = (&self.doors.agent, self.doors.port);
        let mut client = agent.client(port);
        let cart = agent.cart(&mut client, &[(self.products[0], 1)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.success()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let paid = report_paid(port, &self.doors.store_key, checkout, checkout).await.success()?;
        let bought = paid["order"]["order_id"].as_str().ok_or("a payment without an order")?;
        let mut orders: Vec<OrderId> = vec![bought.parse()?];
        let mut sql = self.site.raw().await;
        orders.extend(copy_for_others(&mut sql, orders[0], BUYERS).await?);
        let cancel = json!({ "action": "cancel", "reason": "out_of_stock" });
        for order in &orders {
            let path = format!("/merchant/orders/{order}");
            let canceled = call(port, &self.doors.store_key, "PATCH", &path, &cancel).await?;
            expect("a cancellation", &canceled, 200, None)?;
        }
        move_into_the_past(&mut sql, &orders).await?;
        catalog::refresh_quality(&self.site.database, self.store.merchant).await?;
        Ok(orders)
    }

    /// Waits until a query that counts has a result.
    async fn until_count(
        &self,
        what: &str,
        query: &'static str,
        expected: i64,
    ) -> Result<(), Failure> {
        let (mut sql, since) = (self.site.raw().await, Instant::now());
        loop {
            let count: i64 = sqlx::query_scalar(query).fetch_one(&mut sql).await?;
            if count == expected {
                return Ok(());
            }
            ensure(since.elapsed() < PATIENCE, || {
                format!("{what}: {count} instead of {expected}")
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Waits until workers have counted the cancellations.
    async fn until_counted(&self, orders: usize) -> Result<(), Failure> {
        let counted = "SELECT coalesce(sum(out_of_stock), 0) FROM trust_agent_day WHERE started > 0 AND kept = 0 AND late > 0";
        self.until_count("counted cancellations", counted, i64::try_from(orders)?).await
    }

    /// Computes the score as an operator requests it, and compares it with the one computed by hand. Returns its time.
    async fn score(&self, expected: f64) -> Result<Instant, Failure> {
        let mut work = Work::for_platform(&self.site.database).await?;
        let (merchant, in_force) = (self.store.merchant, MethodologyVersion::V20);
        let computed = trust::recompute(&mut work, merchant, Cause::Requested, in_force).await?;
        work.commit().await?;
        let since = Instant::now();
        let is_right = computed.score.is_some_and(|score| (score - expected).abs() < 1e-9);
        ensure(is_right, || format!("the score should be {expected}: {computed:?}"))?;
        Ok(since)
    }

    /// Completes the catalog and states the policies, as the merchant does.
    async fn mend(&self) -> Result<(), Failure> {
        let (port, key) = (self.doors.port, &self.doors.store_key);
        let products: Vec<Value> = (0..PRODUCTS).map(mended).collect();
        let pushed =
            call(port, key, "PATCH", "/merchant/products", &json!({ "products": products }))
                .await?;
        expect("a push of products", &pushed, 200, None)?;
        ensure(pushed.1["data"]["failed"] == 0, || format!("products were refused: {}", pushed.1))?;
        let policies = json!({ "policies": {
            "return_window_days": 30, "shipping_days_min": 2, "shipping_days_max": 4,
            "privacy_url": "https://attic.example/privacy",
        } });
        let stated = call(port, key, "PATCH", "/merchant/settings", &policies).await?;
        expect("a change of settings", &stated, 200, None)?;
        let complete = "SELECT coalesce(sum(complete), 0)::bigint FROM catalog_quality
                        WHERE pushed_since > now() - interval '1 hour'";
        self.until_count("complete products", complete, i64::try_from(PRODUCTS)?).await
    }

    /// Waits until the merchant's endpoint has received the event of a suspension, or of its end.
    async fn until_told(&self, is_suspended: bool) -> Result<(), Failure> {
        let is_it = |body: &Value| {
            body["event"] == "trust.score_changed"
                && body["merchantSlug"] == SLUG
                && (&body["suspended"], &body["previouslySuspended"])
                    == (&json!(is_suspended), &json!(!is_suspended))
        };
        let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let receiver = &self.site.receiver;
        let what = "the event of a changed score";
        let requests = receiver
            .until(what, PATIENCE, |all| all.iter().any(|request| is_it(&parsed(&request.body))))
            .await?;
        for request in requests.iter().filter(|request| is_it(&parsed(&request.body))) {
            check_request(request, &self.endpoint.secret)?;
            let body = body_of(request)?;
            let reasons = body["reasons"].as_array().map_or(0, Vec::len);
            ensure(reasons > 0, || format!("an event without reasons: {body}"))?;
            ensure(body["ends"].is_object() == is_suspended, || {
                format!("a suspended store is told what would end it, and no other: {body}")
            })?;
        }
        Ok(())
    }
}

/// Creates an agent with a cart, and a key of the store.
async fn doors(url: &str, port: u16, product: ProductId) -> Result<Doors, Failure> {
    let account = Account::create(url, "ada@example.com", "ENTERPRISE").await?;
    let token = account.log_in(port).await?;
    let scopes = ["agent:read", "agent:cart", "agent:checkout"];
    let (_, key) = agent_key_for(port, &token, &scopes).await?;
    let agent = Agent::at(SLUG, &key);
    let scopes = ["--scope", "catalog", "--scope", "orders", "--scope", "settings"];
    let store_key = store_key_with(url, SLUG, &scopes).await?;
    let cart = agent.cart(&mut agent.client(port), &[(product, 1)]).await?;
    Ok(Doors { port, agent, store_key, cart })
}

/// Waits until the index has the products.
async fn until_found(port: u16) -> Result<(), Failure> {
    let (mut client, since) = (Client::new(port), Instant::now());
    loop {
        let found = post_search(&mut client, &json!({ "query": WORD })).await?;
        if found["data"].as_array().is_some_and(|hits| hits.len() >= PRODUCTS) {
            return Ok(());
        }
        ensure(since.elapsed() < PATIENCE, || format!("the products are not found: {found}"))?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns a product; a complete one has an image and a GTIN.
fn draft(number: usize, is_complete: bool) -> ProductDraft {
    let image = ImageDraft { url: format!("https://attic.example/{number}.jpg"), alt: None };
    ProductDraft {
        external_id: format!("{WORD}-{number}"),
        name: Some(format!("A {WORD} of size {number}")),
        price: Some(Amount::new("10.00")),
        stock_quantity: Some(1_000),
        gtin: is_complete.then(|| gtin(number)),
        images: if is_complete { vec![image] } else { Vec::new() },
        ..ProductDraft::default()
    }
}

/// Returns a product as the merchant completes it. Each of them changes.
fn mended(number: usize) -> Value {
    json!({
        "external_id": format!("{WORD}-{number}"),
        "name": format!("A better {WORD} of size {number}"),
        "price": "10.00",
        "stock_quantity": 1_000,
        "gtin": gtin(number),
        "images": [{ "url": format!("https://attic.example/{number}.jpg") }],
    })
}

/// Returns a GTIN with a valid check digit.
fn gtin(number: usize) -> String {
    let digits = format!("952{number:09}");
    let weighted = digits.bytes().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtins_have_valid_check_digits() {
        assert_eq!(gtin(0), "9520000000004");
        for number in 0..PRODUCTS {
            assert!(gtin(number).parse::<catalog::Gtin>().is_ok(), "{}", gtin(number));
        }
    }

    #[test]
    fn the_scores_are_on_both_sides_of_the_threshold() {
        let range = merchants::SUSPENSION_THRESHOLD..merchants::AGENT_THRESHOLD;
        assert!(range.contains(&POOR) && range.contains(&MENDED));
        const { assert!(AFTER_CANCELLATIONS < merchants::SUSPENSION_THRESHOLD) };
    }
}
