//! Card and wallet payments on the pages of payment processors, from the account of the store to the order, at test doubles
//! (docs/contract/payments.md#hosted-page).

mod double;

use std::io::{Result as IoResult, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::body::Body;
use axum::http::{Method, Request};
use checkout::{ObservePayment, ReconcilePayments, RefundRequest};
use database::Reading;
use identity::Role;
use jobs::{Runner, RunnerSettings};
use orders::{RefundReason, Viewer};
use payments::ProviderName;
use primitives::{CheckoutId, MerchantId, Money, OrderId};
use processors::{CertificateAuthorities, Endpoints, Processors};
use serde_json::{Value, json};
use testkit::START;

use crate::app::{SITE_URL, TestApp, TestResponse};
use crate::carts::in_stock_products;
use crate::order_tools::shop::Shopper;
use double::{Double, Webhook, client, is_skipped};

const STORE: &str = "kivikiri";
const WEBHOOK_ID: &str = "9XL90610J3647323C";

/// A store with an account at each processor, of which the doubles run.
struct Market {
    app: TestApp,
    stripe: Double,
    paypal: Double,
    owner: String,
    merchant: MerchantId,
}

/// The time of the machine, which the doubles use.
#[expect(clippy::disallowed_methods, reason = "the doubles are other processes with the real time")]
fn micros() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()
}

impl Market {
    async fn open() -> Option<Self> {
        if is_skipped() {
            return None;
        }
        let stripe = Double::start("stripe-double.mjs", &["--api-key", "sk_live_double"]).await;
        let paypal = Double::start("paypal-double.mjs", &[]).await;
        let authorities = CertificateAuthorities::from_pem(&paypal.get("/control/authority").await);
        let endpoints = Endpoints {
            stripe: stripe.address.clone(),
            paypal_live: paypal.address.clone(),
            paypal_live_certificates: vec![paypal.address.clone()],
            ..Endpoints::default()
        };
        let processors = Processors::new(&client(), &endpoints, authorities).unwrap();
        let app = TestApp::with_processors(TestApp::start().await.test, processors);
        let since = micros().saturating_sub(u128::try_from(START).unwrap());
        app.test.clock().advance(Duration::from_micros(u64::try_from(since).unwrap()));
        app.person("owner@example.com", &[(STORE, Role::Owner)]).await;
        let owner = app.log_in("owner@example.com").await;
        let merchant = app.merchant(STORE).await;
        let market = Self { app, stripe, paypal, owner, merchant };
        market.connect().await;
        Some(market)
    }

    async fn as_owner(&self, method: Method, path: &str, body: &Value) -> TestResponse {
        let headers = [("authorization", self.owner.as_str())];
        self.app.request(method, &format!("/merchant/payment-methods{path}"), &headers, body).await
    }

    async fn connect(&self) {
        let stripe = json!({ "api_key": "sk_live_double", "webhook_secrets": ["whsec_double"] });
        let paypal = json!({ "environment": "live", "client_id": "client-double",
                             "client_secret": "secret-double", "webhook_id": WEBHOOK_ID });
        for (path, body) in [("/stripe", stripe), ("/paypal", paypal)] {
            let connected = self.as_owner(Method::PUT, path, &body).await;
            assert_eq!(connected.status, 200, "{}", connected.text);
        }
    }

    fn double(&mut self, provider: ProviderName) -> &mut Double {
        if provider == ProviderName::Stripe { &mut self.stripe } else { &mut self.paypal }
    }

    /// An agent prepares a purchase. Returns its checkout session.
    async fn purchase(&self) -> Purchase {
        let email = format!("buyer{}@example.com", micros());
        let shopper = Shopper::at(&self.app, STORE, self.app.buyer_key(&email).await).await;
        let item = json!({ "product_id": in_stock_products(STORE)[0], "quantity": 2 });
        let to = json!({ "country": shopper.store.country, "postal_code": "20100",
                         "city": "Turku", "street": "Way 1", "name": "Ada Salo" });
        let new = json!({ "items": [item], "destination": to, "buyer": { "email": email } });
        let cart = shopper.ok("create_cart", new).await;
        let cart = json!({ "cart_id": cart["cart_id"] });
        let session = shopper.ok("complete_checkout", cart).await;
        let url = session["checkout_url"].as_str().unwrap();
        let path = url.strip_prefix(SITE_URL).unwrap().to_owned();
        let id = session["checkout_id"].as_str().unwrap().parse().unwrap();
        Purchase { path, id, cookie: None }
    }

    async fn get(&self, purchase: &Purchase, path: &str) -> TestResponse {
        let uri = format!("{}{path}", purchase.path);
        let mut request = Request::builder().uri(uri).header("host", "souk.test");
        if let Some(cookie) = &purchase.cookie {
            request = request.header("cookie", cookie);
        }
        self.app.send(request.body(Body::empty()).unwrap()).await
    }

    /// Submits a form of the page as a browser does.
    async fn post(&self, purchase: &Purchase, path: &str, form: &str) -> TestResponse {
        let request = Request::post(format!("{}{path}", purchase.path))
            .header("host", "souk.test")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("origin", SITE_URL)
            .header("sec-fetch-site", "same-origin");
        self.app.send(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    /// The person chooses a processor and presses Pay. Returns the address of its page.
    async fn pay(&self, purchase: &mut Purchase, provider: ProviderName) -> String {
        let page = self.get(purchase, "").await.text;
        let (token, hash) = (hidden(&page, "form_token"), hidden(&page, "quote_hash"));
        let form = format!("instrument={provider}&form_token={token}&quote_hash={hash}");
        let answer = self.post(purchase, "/pay", &form).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly; SameSite=Lax"), "{cookie}");
        purchase.cookie = Some(cookie.split_once(';').unwrap().0.to_owned());
        answer.headers["location"].to_str().unwrap().to_owned()
    }

    async fn deliver(&self, provider: ProviderName, webhook: &Webhook) -> TestResponse {
        let uri = format!("/api/v1/webhooks/payments/{provider}/{STORE}");
        let mut request = Request::post(uri).header("host", "souk.test");
        for (name, value) in &webhook.headers {
            if !["host", "connection", "content-length"].contains(&name.as_str()) {
                request = request.header(name, value);
            }
        }
        self.app.send(request.body(Body::from(webhook.body.clone())).unwrap()).await
    }

    /// Runs the jobs that webhooks have enqueued.
    async fn run_jobs(&self) {
        let database = self.app.test.database().clone();
        let gateway = self.app.payments.gateway.clone();
        let runner = Runner::new(database, RunnerSettings::default());
        runner.register::<ObservePayment>(gateway).run_until_idle().await.unwrap();
    }

    /// Runs the schedule that asks processors.
    async fn reconcile(&self) {
        let database = self.app.test.database().clone();
        let gateway = self.app.payments.gateway.clone();
        let runner = Runner::new(database, RunnerSettings::default());
        let runner = runner.sweep::<ReconcilePayments>(Duration::from_hours(9_999), gateway);
        runner.run_until_idle().await.unwrap();
    }

    /// Returns the order of a session, if it is paid.
    async fn order(&self, id: CheckoutId) -> Option<OrderId> {
        let reading = Reading::for_store(self.app.test.database(), self.merchant).unwrap();
        let found = checkout::session(&reading, self.merchant, id, None).await.unwrap();
        found.session.order
    }

    async fn count(&self, table: &str) -> i64 {
        let count = format!("SELECT count(*) FROM {table} WHERE merchant_id = $1");
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(count)).bind(self.merchant);
        query.fetch_one(&mut self.app.test.raw().await).await.unwrap()
    }
}

struct Purchase {
    path: String,
    id: CheckoutId,
    /// That of the browser.
    cookie: Option<String>,
}

/// Returns the value of a hidden form field.
fn hidden<'page>(page: &'page str, name: &str) -> &'page str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

const BOTH: [ProviderName; 2] = [ProviderName::Stripe, ProviderName::Paypal];

#[tokio::test]
async fn a_person_pays_on_the_page_of_a_processor_and_comes_back_to_an_order() {
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        let mut purchase = market.purchase().await;
        let page = market.get(&purchase, "").await;
        for choice in ["value=\"stripe\"", "value=\"paypal\""] {
            assert!(page.text.contains(choice), "{choice}: {}", page.text);
        }
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("form-action 'self' https://checkout.stripe.com"), "{policy}");
        let url = market.pay(&mut purchase, provider).await;
        // The tab was closed: the page leads there again, and so does the form.
        let waiting = market.get(&purchase, "").await.text;
        assert!(waiting.contains("Continue to payment") && waiting.contains("Cancel this payment"));
        // Coming back marks nothing as paid.
        assert_eq!(market.get(&purchase, "/return").await.status, 303);
        assert_eq!(market.order(purchase.id).await, None);
        market.double(provider).press(&url, "pay").await;
        assert_eq!(market.get(&purchase, "/return?token=EC-1&PayerID=P1").await.status, 303);
        let order = market.order(purchase.id).await.unwrap();
        let paid = market.get(&purchase, "").await.text;
        assert!(paid.contains("Paid. Thank you."), "{paid}");
        assert!(paid.contains(&format!("/orders/{order}?token=")), "the browser that paid");
        let stranger = Purchase { cookie: None, ..purchase };
        assert!(!market.get(&stranger, "").await.text.contains("/orders/"));
        let link = Purchase { cookie: Some("souk_payer=AAAA".to_owned()), ..stranger };
        assert!(!market.get(&link, "").await.text.contains("/orders/"));
    }
    assert_eq!(market.count("ledger_transfer").await, 4, "a charge and a fee each");
}

#[tokio::test]
async fn a_webhook_counts_once_in_any_order_and_only_if_it_is_signed() {
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        let mut purchase = market.purchase().await;
        let url = market.pay(&mut purchase, provider).await;
        market.double(provider).press(&url, "pay").await;
        let webhook = market.double(provider).webhook().await;
        let webhooks = market.count("payment_webhook").await;
        // Forged, or changed on the way.
        let mut forged = webhook.clone();
        let mut changed = forged.body.to_vec();
        changed.push(b' ');
        forged.body = changed.into();
        let refused = market.deliver(provider, &forged).await;
        assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
        let unsigned = Webhook { headers: axum::http::HeaderMap::new(), ..webhook.clone() };
        assert_eq!(market.deliver(provider, &unsigned).await.status, 400);
        assert_eq!(market.count("payment_webhook").await, webhooks, "nothing is recorded");
        // Delivered twice, and processed once.
        let asked = market.double(provider).requests("fetch").await;
        for _ in 0..2 {
            let accepted = market.deliver(provider, &webhook).await;
            assert_eq!(accepted.status, 200, "{}", accepted.text);
        }
        assert_eq!(market.count("payment_webhook").await, webhooks + 1);
        assert_eq!(market.order(purchase.id).await, None, "the processor is asked afterwards");
        market.run_jobs().await;
        assert!(market.order(purchase.id).await.is_some());
        assert_eq!(market.double(provider).requests("fetch").await, asked + 1);
        // Late, after everything is known.
        assert_eq!(market.deliver(provider, &webhook).await.status, 200);
        market.run_jobs().await;
        assert_eq!(market.count("payment_webhook").await, webhooks + 1);
    }
    let webhook = Webhook { headers: axum::http::HeaderMap::new(), body: "{}".into() };
    let uri = "/api/v1/webhooks/payments/test/kivikiri";
    let request = Request::post(uri).header("host", "souk.test").body(Body::from(webhook.body));
    assert_eq!(market.app.send(request.unwrap()).await.status, 404);
}

#[tokio::test]
async fn a_lost_webhook_is_covered_by_the_schedule() {
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        market.double(provider).control("webhooks", json!({ "mode": "lose" })).await;
        let mut purchase = market.purchase().await;
        let url = market.pay(&mut purchase, provider).await;
        market.double(provider).press(&url, "pay").await;
        market.reconcile().await;
        assert_eq!(market.order(purchase.id).await, None, "not due yet");
        market.app.test.clock().advance(Duration::from_secs(31));
        market.reconcile().await;
        assert!(market.order(purchase.id).await.is_some(), "{provider}");
    }
}

#[tokio::test]
async fn a_person_cancels_a_payment_and_pays_in_another_way() {
    let Some(market) = Market::open().await else { return };
    let mut purchase = market.purchase().await;
    let first = market.pay(&mut purchase, ProviderName::Stripe).await;
    let page = market.get(&purchase, "").await.text;
    let form = format!("form_token={}", hidden(&page, "form_token"));
    let canceled = market.post(&purchase, "/cancel-payment", &form).await;
    assert_eq!(canceled.status, 303, "{}", canceled.text);
    let page = market.get(&purchase, "").await.text;
    assert!(page.contains("value=\"paypal\"") && !page.contains("was declined"), "{page}");
    // The page that was canceled takes no money.
    market.stripe.press(&first, "pay").await;
    let second = market.pay(&mut purchase, ProviderName::Paypal).await;
    market.paypal.press(&second, "pay").await;
    market.get(&purchase, "/return").await;
    assert!(market.order(purchase.id).await.is_some());
    let session = &market.stripe.state().await["sessions"][0];
    assert_eq!(session["payment_status"], "unpaid", "{session}");
}

#[tokio::test]
async fn a_payment_that_nobody_makes_ends_with_the_session() {
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        let mut purchase = market.purchase().await;
        let url = market.pay(&mut purchase, provider).await;
        market.app.test.clock().advance(Duration::from_mins(31));
        market.reconcile().await;
        market.double(provider).press(&url, "pay").await;
        market.get(&purchase, "/return").await;
        assert_eq!(market.order(purchase.id).await, None, "{provider}");
        let paid = if provider == ProviderName::Paypal { "captures" } else { "intents" };
        let taken = market.double(provider).state().await[paid].as_array().map_or(0, Vec::len);
        assert_eq!(taken, 0, "{provider}");
    }
}

#[tokio::test]
async fn an_order_is_refunded_in_parts_at_its_processor() {
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        let mut purchase = market.purchase().await;
        let url = market.pay(&mut purchase, provider).await;
        market.double(provider).press(&url, "pay").await;
        market.get(&purchase, "/return").await;
        let order = market.order(purchase.id).await.unwrap();
        let reading = Reading::for_store(market.app.test.database(), market.merchant).unwrap();
        let read =
            async || orders::order(&reading, market.merchant, order, &Viewer::All).await.unwrap();
        let total = read().await.total;
        let (database, gateway) = (market.app.test.database(), &market.app.payments.gateway);
        let refund = async |amount| {
            let reason = RefundReason::Other;
            let request = RefundRequest { order, amount, reason, note: None };
            checkout::refund_payment(database, gateway, market.merchant, &request).await
        };
        refund(Some(Money::new(100, total.currency()))).await.unwrap();
        assert_eq!(read().await.refunded_minor, 100);
        refund(None).await.unwrap();
        assert_eq!(read().await.refunded_minor, total.minor());
        assert!(refund(Some(Money::new(1, total.currency()))).await.is_err());
        let double = if provider == ProviderName::Stripe { &market.stripe } else { &market.paypal };
        assert_eq!(double.state().await["refunds"].as_array().unwrap().len(), 2);
    }
}

#[tokio::test]
async fn an_owner_sees_whether_an_account_works_and_never_its_credentials() {
    let Some(market) = Market::open().await else { return };
    let listed = market.as_owner(Method::GET, "", &Value::Null).await;
    let methods = &listed.json()["data"]["payment_methods"];
    for (index, provider, label) in [(0, "stripe", "sk_live_…uble"), (1, "paypal", "client-double")]
    {
        let method = &methods[index];
        assert_eq!(
            (&method["payment_method"], &method["account"]["label"]),
            (&json!(provider), &json!(label))
        );
        assert_eq!(method["account"]["status"], "working");
        assert_eq!(method["account"]["is_live"], true);
        let url = format!("{SITE_URL}/api/v1/webhooks/payments/{provider}/{STORE}");
        assert_eq!(method["webhook_url"], url);
    }
    for secret in ["sk_live_double", "whsec_double", "secret-double"] {
        assert!(!listed.text.contains(secret), "{}", listed.text);
    }
    let wrong = json!({ "api_key": "sk_live_other", "webhook_secrets": ["whsec_double"] });
    let refused = market.as_owner(Method::PUT, "/stripe", &wrong).await;
    assert_eq!((refused.status.as_u16(), refused.code().as_str()), (400, "invalid_request"));
    assert_eq!(refused.json()["details"]["reason"], "credentials_refused");
    assert!(!refused.text.contains("sk_live_other"));
    let other = json!({ "api_key": "pk_live_other", "webhook_secrets": ["whsec_double"] });
    let refused = market.as_owner(Method::PUT, "/stripe", &other).await;
    assert_eq!(refused.json()["details"]["field"], "api_key", "{}", refused.text);
    // What works is told to agents.
    let listed = async || {
        let found = market.app.tool(STORE, "list_payment_methods", json!({})).await.json();
        let methods = found["result"]["structuredContent"]["methods"].clone();
        let ids = methods.as_array().unwrap().iter().map(|method| method["id"].clone());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed().await, ["stripe", "paypal"]);
    let gone = market.as_owner(Method::DELETE, "/paypal", &Value::Null).await;
    assert_eq!(gone.json()["data"]["account"], Value::Null, "{}", gone.text);
    assert_eq!(listed().await, ["stripe"]);
    assert_eq!(market.as_owner(Method::DELETE, "/paypal", &Value::Null).await.status, 404);
}

/// A log in memory.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> IoResult<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> IoResult<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_is_logged_or_stored_in_clear_text() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    // All tasks of the test run on its thread.
    let _guard = tracing::subscriber::set_default(subscriber);
    let Some(mut market) = Market::open().await else { return };
    for provider in BOTH {
        market
            .double(provider)
            .control("faults", json!({ "operation": "fetch", "fault": "malformed" }))
            .await;
        let mut purchase = market.purchase().await;
        let url = market.pay(&mut purchase, provider).await;
        market.double(provider).press(&url, "pay").await;
        market.get(&purchase, "/return").await;
        market.get(&purchase, "/return").await;
        assert!(market.order(purchase.id).await.is_some());
        let webhook = market.double(provider).webhook().await;
        let forged = Webhook { body: "{}".into(), ..webhook };
        assert_eq!(market.deliver(provider, &forged).await.status, 400);
    }
    let mut seen = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(seen.contains("has no result"), "the log has the calls");
    for table in ["payment_account", "payment", "payment_webhook", "platform.audit_entry", "job"] {
        let rows = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t");
        let query = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(rows));
        seen.push_str(&query.fetch_one(&mut market.app.test.raw().await).await.unwrap());
    }
    // The access token of the double of PayPal begins with A21AA; the last one is client and secret, as they are sent.
    let secrets =
        ["sk_live_double", "whsec_double", "secret-double", "A21AA", "Y2xpZW50LWRvdWJsZTpzZWNyZXQ"];
    for secret in secrets {
        assert!(!seen.contains(secret), "{secret}");
    }
}
