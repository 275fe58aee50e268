//! The approval page (docs/contract/confirmation.md#confirm-page) and the payment page
//! (docs/contract/payments.md#hosted-page).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use carts::{CartOwner, Destination, Item, NewCart, Quantity};
use checkout::{
    CheckoutCaller, CheckoutContext, Complete, ConfirmationRequest, PayRequest, PaymentGateway,
    SessionSnapshot, Status, Visitor,
};
use database::Work;
use merchants::{Standing, Store, StoreCache};
use payments::{ChargeFuture, ChargeRequest, Provider, ProviderUnavailable, TestProvider};
use primitives::{ClientAddress, Id, KeyId, Money, OrderId, ProductId};

use crate::app::{SITE_URL, TestApp, TestResponse};

struct Purchase {
    app: TestApp,
    gateway: PaymentGateway,
    store: Arc<Store>,
    owner: CartOwner,
    cart: carts::PricedCart,
}

impl Purchase {
    /// Prepares a sandbox cart that is ready for checkout; the name of the key contains HTML.
    async fn prepared() -> Self {
        Self::new(true).await
    }

    /// Prepares a sandbox cart without a destination.
    async fn without_destination() -> Self {
        Self::new(false).await
    }

    async fn new(has_destination: bool) -> Self {
        let app = TestApp::start().await;
        let stores = StoreCache::new(app.test.database().clone(), Duration::ZERO);
        let store = stores.find(&"demo-store".parse().unwrap()).await.unwrap();
        let name = String::from("<script>alert(1)</script>");
        let owner = CartOwner { key: KeyId::from_random(1), name, is_sandbox: true };
        let any = "SELECT product.product_id FROM product LEFT JOIN variant USING (product_id)
                   WHERE product.merchant_id = $1 AND product.stock_quantity > 3 AND variant_id IS NULL
                   ORDER BY external_id LIMIT 1";
        let product: ProductId = sqlx::query_scalar(any)
            .bind(store.merchant)
            .fetch_one(&mut app.test.raw().await)
            .await
            .unwrap();
        let quantity = Quantity::new(2).unwrap();
        let to = Destination {
            country: store.country.clone(),
            region: None,
            postal_code: Some(String::from("10115")),
            city: Some(String::from("Berlin")),
            street: Some(String::from("Way 1")),
            name: None,
        };
        let new = NewCart {
            items: vec![Item { product, variant: None, quantity }],
            destination: has_destination.then_some(to),
            ..NewCart::default()
        };
        let database = app.test.database();
        let cart = carts::create(database, &store, &owner, new, None).await.unwrap();
        let gateway = PaymentGateway::new(Arc::new(TestProvider), true);
        Self { app, gateway, store, owner, cart }
    }

    fn context(&self) -> CheckoutContext<'_> {
        CheckoutContext {
            database: self.app.test.database(),
            store: &self.store,
            site_url: SITE_URL,
            gateway: &self.gateway,
            caller: CheckoutCaller::default(),
        }
    }

    async fn request_confirmation(&self) -> ConfirmationRequest {
        checkout::request(&self.context(), &self.owner, self.cart.cart.id).await.unwrap()
    }

    async fn complete(&self) -> SessionSnapshot {
        let asked = Complete::cart(self.cart.cart.id);
        checkout::complete(&self.context(), &self.owner, &asked, None).await.unwrap()
    }

    /// Submits a form; without headers, as a browser does from our own page.
    async fn send(&self, path: &str, form: &str, headers: &[(&str, &str)]) -> TestResponse {
        let mut request = Request::post(path)
            .header("host", "souk.test")
            .header("content-type", "application/x-www-form-urlencoded");
        let own = [("origin", SITE_URL), ("sec-fetch-site", "same-origin")];
        let headers = if headers.is_empty() { &own[..] } else { headers };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.app.send(request.body(Body::from(form.to_owned())).unwrap()).await
    }

    async fn set_score(&self, score: f64) {
        let mut work = Work::for_platform(self.app.test.database()).await.unwrap();
        let standing = Standing { score: Some(score), provisional: false, computed_at: work.now() };
        merchants::set_standing(&mut work, self.store.merchant, &standing).await.unwrap();
        work.commit().await.unwrap();
    }

    async fn status(&self, asked: &ConfirmationRequest) -> &'static str {
        let found =
            checkout::confirmation(&self.context(), asked.confirmation.id, None).await.unwrap();
        found.confirmation.status(found.now).as_str()
    }
}

fn path(url: &str) -> &str {
    url.strip_prefix(SITE_URL).unwrap()
}

/// Returns a time as the pages show it.
fn shown_time(time: primitives::Timestamp) -> String {
    let text = time.to_string();
    let (date, time) = text.split_once('T').unwrap();
    format!("{date}, {} UTC", &time[..5])
}

/// Returns the value of a hidden form field.
fn hidden<'page>(page: &'page str, name: &str) -> &'page str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

#[tokio::test]
async fn a_person_reviews_a_purchase_and_approves_it_once() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.request_confirmation().await;
    let address = path(&asked.confirm_url);
    let page = purchase.app.get(address).await;
    assert_eq!(page.status, 200);
    let total =
        &primitives::Money::new(purchase.cart.quote.total_minor, purchase.cart.cart.currency);
    for expected in [
        purchase.store.name.as_str(),
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        &total.to_string(),
        "Berlin",
        "Sandbox.",
    ] {
        assert!(page.text.contains(expected), "{expected} is not on the page: {}", page.text);
    }
    assert!(!page.text.contains("<script"));
    let expiry = shown_time(asked.confirmation.expires_at);
    assert!(page.text.contains(&format!("Valid until {expiry}.")), "{}", page.text);
    assert_eq!(purchase.status(&asked).await, "pending", "reading the page changes nothing");
    let form = format!(
        "decision=approve&form_token={}&quote_hash={}",
        hidden(&page.text, "form_token"),
        hidden(&page.text, "quote_hash"),
    );
    let done = purchase.send(address, &form, &[]).await;
    assert_eq!((done.status.as_u16(), done.headers["location"].to_str().unwrap()), (303, address));
    assert_eq!(purchase.status(&asked).await, "confirmed");
    let no = form.replace("approve", "reject");
    assert_eq!(purchase.send(address, &no, &[]).await.status, 303);
    assert_eq!(purchase.status(&asked).await, "confirmed", "a decision is final");
    assert!(purchase.app.get(address).await.text.contains("You approved this purchase."));
}

#[tokio::test]
async fn forms_are_accepted_only_from_our_own_pages() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.request_confirmation().await;
    let address = path(&asked.confirm_url);
    let page = purchase.app.get(address).await.text;
    let (token, hash) = (hidden(&page, "form_token"), hidden(&page, "quote_hash"));
    let form = format!("decision=approve&form_token={token}&quote_hash={hash}");
    let foreign: [&[(&str, &str)]; 8] = [
        &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null")],
        &[("origin", SITE_URL)],
        &[("sec-fetch-site", "same-origin")],
        &[("accept", "*/*")],
        &[("origin", SITE_URL), ("sec-fetch-site", "same-origin"), ("x-agent-api-key", "agnt_1")],
        &[
            ("origin", SITE_URL),
            ("sec-fetch-site", "same-origin"),
            ("authorization", "Bearer mrch_1"),
        ],
    ];
    for headers in foreign {
        let refused = purchase.send(address, &form, headers).await;
        assert_eq!(refused.status, 403, "{headers:?}");
    }
    for wrong in [
        format!("decision=approve&quote_hash={hash}"),
        format!("decision=approve&form_token={}&quote_hash={hash}", "0".repeat(32)),
        format!("decision=approve&form_token={token}&quote_hash={}", "0".repeat(64)),
        format!("decision=perhaps&form_token={token}&quote_hash={hash}"),
        String::new(),
    ] {
        assert_eq!(purchase.send(address, &wrong, &[]).await.status, 403, "{wrong}");
    }
    assert_eq!(purchase.status(&asked).await, "pending");
}

#[tokio::test]
async fn purchase_pages_are_not_framed_cached_or_leaked() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.request_confirmation().await;
    let at = purchase.complete().await;
    let hosted = at.session.checkout_url.clone().unwrap();
    for address in [path(&asked.confirm_url), path(&hosted), "/demo-store/confirm/cnf_nothing"] {
        let page = purchase.app.get(address).await;
        let header = |name: &str| page.headers[name].to_str().unwrap().to_owned();
        assert_eq!(header("x-frame-options"), "DENY", "{address}");
        assert_eq!(header("cache-control"), "no-store", "{address}");
        assert_eq!(header("referrer-policy"), "no-referrer", "{address}");
        let policy = header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.starts_with("default-src 'none'")
        );
        assert!(policy.contains("form-action 'self'") && !policy.contains("script"));
    }
}

#[tokio::test]
async fn unknown_ids_show_a_not_found_page() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.request_confirmation().await;
    for address in [
        "/demo-store/confirm/cnf_nothing",
        "/demo-store/checkout/chk_nothing",
        "/no-such-store/confirm/cnf_nothing",
        &path(&asked.confirm_url).replace("demo-store", "harbour-outdoor"),
    ] {
        let page = purchase.app.get(address).await;
        assert_eq!(page.status, 404, "{address}");
        assert!(page.text.contains("Page not found"), "{address}: {}", page.text);
    }
}

/// Records the requests it receives, and returns no outcome.
#[derive(Debug, Default)]
struct UnavailableProvider(Mutex<Vec<ChargeRequest>>);

impl Provider for UnavailableProvider {
    fn name(&self) -> &'static str {
        "test"
    }

    fn is_live(&self) -> bool {
        false
    }

    fn charge<'request>(
        &'request self,
        request: &'request ChargeRequest,
    ) -> ChargeFuture<'request> {
        self.0.lock().unwrap().push(request.clone());
        Box::pin(async { Err(ProviderUnavailable) })
    }

    fn find<'request>(&'request self, _: &'request ChargeRequest) -> ChargeFuture<'request> {
        Box::pin(async { Err(ProviderUnavailable) })
    }
}

#[tokio::test]
async fn the_total_of_the_quote_is_charged_once_even_if_the_provider_is_unavailable() {
    let purchase = Purchase::prepared().await;
    let at = purchase.complete().await;
    let provider = Arc::new(UnavailableProvider::default());
    let gateway = PaymentGateway::new(provider.clone(), true);
    let context = CheckoutContext { gateway: &gateway, ..purchase.context() };
    let session = &at.session;
    let pay = async || {
        let request = PayRequest {
            instrument: "test_approves",
            form_token: &session.form_token,
            quote_hash: session.quote_hash,
            visitor: Visitor::new(ClientAddress([192, 0, 2, 7].into()), "Browser/1.0"),
        };
        checkout::pay(&context, session.id, request).await.map(|it| it.snapshot)
    };
    assert_eq!(pay().await.unwrap().status(), Status::CompleteInProgress);
    assert!(pay().await.is_err(), "the first charge may have succeeded");
    let requests = provider.0.lock().unwrap().clone();
    let [request] = &requests[..] else { panic!("{requests:?}") };
    let quote = &purchase.cart.quote;
    assert_eq!(request.amount, Money::new(quote.total_minor, purchase.cart.cart.currency));
    assert!(quote.total_minor > 0);
}

#[tokio::test]
async fn a_person_pays_or_declines() {
    let purchase = Purchase::prepared().await;
    let at = purchase.complete().await;
    let hosted = at.session.checkout_url.clone().unwrap();
    let address = path(&hosted);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Test payment.") && page.contains("Review and pay"));
    let token = hidden(&page, "form_token").to_owned();
    let hash = hidden(&page, "quote_hash").to_owned();
    let pay = format!("{address}/pay");
    let evil = [("origin", "https://evil.example")];
    let form = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
    assert_eq!(purchase.send(&pay, &form, &evil).await.status, 403);
    let other = form.replace(&hash, &"0".repeat(64));
    assert_eq!(purchase.send(&pay, &other, &[]).await.status, 409, "not what the page shows");
    let declined = form.replace("approves", "declines");
    assert_eq!(purchase.send(&pay, &declined, &[]).await.status, 303);
    assert!(purchase.app.get(address).await.text.contains("The payment was declined."));
    let back = format!("{address}/decline");
    assert_eq!(purchase.send(&back, &format!("form_token={token}"), &[]).await.status, 303);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("There is nothing to pay now."), "{page}");
    let until = shown_time(at.now.plus(checkout::DECLINE_LIFETIME));
    assert!(page.contains(&format!("cannot ask for them again until {until}.")), "{page}");
    assert!(!page.contains("ask your agent") && !page.contains("You can try again"), "{page}");
    assert_eq!(purchase.send(&pay, &form, &[]).await.status, 409);
    purchase.app.test.clock().advance(checkout::DECLINE_LIFETIME + Duration::from_secs(1));
    assert!(purchase.app.get(address).await.text.contains("ask your agent to prepare it again"));
}

#[tokio::test]
async fn the_approval_page_names_what_is_open_and_until_when_a_decline_counts() {
    let purchase = Purchase::without_destination().await;
    let asked = purchase.request_confirmation().await;
    let address = path(&asked.confirm_url);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Still open: address, shipping, tax and contact data."), "{page}");
    let (token, hash) = (hidden(&page, "form_token"), hidden(&page, "quote_hash"));
    let form = format!("decision=reject&form_token={token}&quote_hash={hash}");
    assert_eq!(purchase.send(address, &form, &[]).await.status, 303);
    let until = shown_time(asked.now.plus(checkout::DECLINE_LIFETIME));
    let page = purchase.app.get(address).await.text;
    assert!(
        page.contains(&format!("cannot ask for the same items again until {until}.")),
        "{page}"
    );
    assert!(!page.contains("Valid until"), "{page}");
}

#[tokio::test]
async fn a_person_enters_the_address_sees_the_total_and_pays_it() {
    let purchase = Purchase::without_destination().await;
    let at = purchase.complete().await;
    let hosted = at.session.checkout_url.clone().unwrap();
    let address = path(&hosted);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Where should it be delivered?") && !page.contains("Pay "), "{page}");
    assert!(page.contains("Total without shipping and tax"), "{page}");
    let token = hidden(&page, "form_token").to_owned();
    let delivery = format!("{address}/delivery");
    let form = |country: &str| {
        format!(
            "form_token={token}&name=Eve&street=Way+1&postal_code=10115&city=Berlin&country={country}&email=eve%40example.com"
        )
    };
    let evil = [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")];
    assert_eq!(purchase.send(&delivery, &form("DE"), &evil).await.status, 403);
    for wrong in ["XX", "Germany"] {
        let refused = purchase.send(&delivery, &form(wrong), &[]).await;
        assert_eq!(refused.status, 422, "{wrong}");
        assert!(refused.text.contains("role=\"alert\""), "{}", refused.text);
    }
    let country = purchase.store.country.clone();
    assert_eq!(purchase.send(&delivery, &form(&country), &[]).await.status, 303);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Review and pay") && page.contains("eve@example.com"), "{page}");
    let hash = hidden(&page, "quote_hash");
    assert_ne!(hash, at.session.quote_hash.to_string());
    let pay = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
    assert_eq!(purchase.send(&format!("{address}/pay"), &pay, &[]).await.status, 303);
    let paid = purchase.app.get(address).await.text;
    assert!(paid.contains("Paid. Thank you.") && !paid.contains("ord_"), "{paid}");
    // The demo stores have orders of the past.
    let placed = "SELECT order_id FROM placed_order WHERE payment_provider <> 'demo'";
    let order: OrderId =
        sqlx::query_scalar(placed).fetch_one(&mut purchase.app.test.raw().await).await.unwrap();
    let number = orders::order_number(order);
    assert!(number.len() == 10 && paid.contains(&format!("<code>{number}</code>")), "{paid}");
    let placed = "SELECT total_minor, confirmation_level FROM placed_order WHERE order_id = $1";
    let order: (i64, String) = sqlx::query_as(placed)
        .bind(order)
        .fetch_one(&mut purchase.app.test.raw().await)
        .await
        .unwrap();
    let total = Money::new(order.0, purchase.cart.cart.currency).to_string();
    assert!(page.contains(&format!("Pay {total}")), "exactly what the button showed is charged");
    assert_eq!(order.1, "hosted");
}

#[tokio::test]
async fn a_purchase_can_be_finished_until_the_store_is_suspended() {
    let purchase = Purchase::without_destination().await;
    let at = purchase.complete().await;
    let hosted = at.session.checkout_url.clone().unwrap();
    let address = path(&hosted);
    // Too low for a checkout to start.
    purchase.set_score(0.5).await;
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Where should it be delivered?"), "{page}");
    let (token, country) = (hidden(&page, "form_token").to_owned(), &purchase.store.country);
    let form = format!(
        "form_token={token}&name=Eve&street=Way+1&postal_code=10115&city=Berlin&country={country}&email=eve%40example.com"
    );
    let delivery = format!("{address}/delivery");
    assert_eq!(purchase.send(&delivery, &form, &[]).await.status, 303);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Review and pay"), "{page}");
    let hash = hidden(&page, "quote_hash");
    let pay = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
    purchase.set_score(0.1).await;
    let closed = "This store does not accept payments at the moment";
    let page = purchase.app.get(address).await.text;
    assert!(page.contains(closed) && !page.contains("/delivery") && !page.contains("/pay\""));
    for (address, form) in [(delivery, &form), (format!("{address}/pay"), &pay)] {
        let refused = purchase.send(&address, form, &[]).await;
        assert!(refused.status == 403 && refused.text.contains(closed), "{}", refused.text);
    }
    purchase.set_score(0.5).await;
    assert_eq!(purchase.send(&format!("{address}/pay"), &pay, &[]).await.status, 303);
    assert!(purchase.app.get(address).await.text.contains("Paid. Thank you."));
}
