//! The page of an order (docs/contract/orders.md#order-page).

mod forms;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use carts::{Buyer, CartOwner, Destination, Item, NewCart, Quantity};
use checkout::{
    CheckoutCaller, CheckoutContext, Complete, PayRequest, PaymentGateway, PaymentReport,
    SessionSnapshot, Visitor,
};
use database::{Reading, Work};
use identity::OrderLinks;
use merchants::{Standing, Store, StoreCache};
use orders::{Actor, NewStatement, OrderContext, OrderDetails, ReturnAction, Shipment, Viewer};
use payments::TestProvider;
use primitives::{ClientAddress, Id, KeyId, LineId, Money, OrderId, ProductId};

use crate::app::{SITE_URL, TestApp, TestResponse, secret};

/// A checkout session of two units of one product at a store.
struct Purchase {
    app: TestApp,
    gateway: PaymentGateway,
    store: Arc<Store>,
    session: SessionSnapshot,
}

impl Purchase {
    async fn at(slug: &str, is_sandbox: bool) -> Self {
        let app = TestApp::start().await;
        let stores = StoreCache::new(app.test.database().clone(), Duration::ZERO);
        let store = stores.find(&slug.parse().unwrap()).await.unwrap();
        let owner =
            CartOwner { key: KeyId::from_random(1), name: String::from("helper"), is_sandbox };
        let any = "SELECT product.product_id FROM product LEFT JOIN variant USING (product_id)
                   WHERE product.merchant_id = $1 AND product.stock_quantity > 3 AND variant_id IS NULL
                   ORDER BY external_id LIMIT 1";
        let product: ProductId = sqlx::query_scalar(any)
            .bind(store.merchant)
            .fetch_one(&mut app.test.raw().await)
            .await
            .unwrap();
        let text = |text: &str| Some(String::from(text));
        let new = NewCart {
            items: vec![Item { product, variant: None, quantity: Quantity::new(2).unwrap() }],
            destination: Some(Destination {
                country: store.country.clone(),
                region: None,
                postal_code: text("10115"),
                city: text("Springtown"),
                street: text("Hidden Way 1"),
                name: text("Eve Hidden"),
            }),
            buyer: Some(Buyer { email: text("eve@hidden.example"), ..Buyer::default() }),
            ..NewCart::default()
        };
        let cart = carts::create(app.test.database(), &store, &owner, new, None).await.unwrap();
        let gateway = PaymentGateway::new(Arc::new(TestProvider), true);
        let asked = Complete::cart(cart.cart.id);
        let context = context(&app, &store, &gateway);
        let session = checkout::complete(&context, &owner, &asked, None).await.unwrap();
        Self { app, gateway, store, session }
    }

    fn context(&self) -> CheckoutContext<'_> {
        context(&self.app, &self.store, &self.gateway)
    }

    /// Pays on the payment page.
    async fn pay(self) -> Bought {
        let session = &self.session.session;
        let request = PayRequest {
            instrument: "test_approves",
            form_token: &session.form_token,
            quote_hash: session.quote_hash,
            visitor: Visitor::new(ClientAddress([192, 0, 2, 7].into()), "Browser/1.0"),
        };
        let paid = checkout::pay(&self.context(), session.id, request).await.unwrap();
        let order = paid.placed.unwrap();
        Bought { app: self.app, store: self.store, order }
    }
}

fn context<'call>(
    app: &'call TestApp,
    store: &'call Store,
    gateway: &'call PaymentGateway,
) -> CheckoutContext<'call> {
    let caller = CheckoutCaller::default();
    CheckoutContext { database: app.test.database(), store, site_url: SITE_URL, gateway, caller }
}

fn links() -> OrderLinks {
    OrderLinks::new(&secret(), Arc::from(SITE_URL))
}

/// Submits a form as a browser does from our own page, unless other headers are given.
async fn send(app: &TestApp, path: &str, form: &str, headers: &[(&str, &str)]) -> TestResponse {
    let mut request = Request::post(path)
        .header("host", "souk.test")
        .header("content-type", "application/x-www-form-urlencoded");
    let own = [("origin", SITE_URL), ("sec-fetch-site", "same-origin")];
    for (name, value) in if headers.is_empty() { &own[..] } else { headers } {
        request = request.header(*name, *value);
    }
    app.send(request.body(Body::from(form.to_owned())).unwrap()).await
}

/// A placed order.
struct Bought {
    app: TestApp,
    store: Arc<Store>,
    order: OrderId,
}

impl Bought {
    async fn new() -> Self {
        Purchase::at("kivikiri", false).await.pay().await
    }

    fn token(&self) -> String {
        links().token(self.store.merchant, self.order)
    }

    fn address(&self) -> String {
        format!("/{}/orders/{}", self.store.slug, self.order)
    }

    async fn page(&self) -> String {
        let page = self.app.get(&format!("{}?token={}", self.address(), self.token())).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text
    }

    /// Submits a form with the fields that the page shows.
    async fn submit(&self, action: &str, fields: &str) -> TestResponse {
        let version = self.details().await.order.version;
        self.submit_at(version, action, fields).await
    }

    async fn submit_at(&self, version: i32, action: &str, fields: &str) -> TestResponse {
        let form = format!("token={}&version={version}{fields}", self.token());
        send(&self.app, &format!("{}/{action}", self.address()), &form, &[]).await
    }

    /// Submits the same form twice; both times the person is sent back to the page.
    async fn submit_twice(&self, action: &str, fields: &str) -> OrderDetails {
        let version = self.details().await.order.version;
        let link = links().path(self.store.slug.as_str(), self.store.merchant, self.order);
        for _ in 0..2 {
            let done = self.submit_at(version, action, fields).await;
            let location = done.headers.get("location").map(|it| it.to_str().unwrap());
            assert_eq!((done.status.as_u16(), location), (303, Some(&*link)), "{}", done.text);
        }
        self.details().await
    }

    async fn details(&self) -> OrderDetails {
        let merchant = self.store.merchant;
        let reading = Reading::for_store(self.app.test.database(), merchant).unwrap();
        orders::buyer_options(&reading, merchant, self.order).await.unwrap().0
    }

    fn line(details: &OrderDetails) -> LineId {
        details.order.lines[0].line
    }

    /// The merchant's side.
    fn merchant(&self) -> OrderContext<'_> {
        OrderContext {
            database: self.app.test.database(),
            merchant: self.store.merchant,
            slug: self.store.slug.as_str(),
            actor: Actor::merchant(String::from("key_1")),
            viewer: Viewer::All,
            idempotency_key: None,
        }
    }

    async fn deliver(&self) {
        let shipment = Shipment {
            carrier: Some(String::from("Carrier & Co")),
            tracking_number: Some(String::from("TRACK-77")),
            tracking_url: Some(String::from("https://carrier.example/TRACK-77")),
            ..Shipment::default()
        };
        orders::ship(&self.merchant(), self.order, None, shipment).await.unwrap();
        orders::deliver(&self.merchant(), self.order, None, Vec::new()).await.unwrap();
    }

    async fn execute(&self, sql: &'static str) {
        let done = sqlx::query(sql).execute(&mut self.app.test.raw().await).await.unwrap();
        assert!(done.rows_affected() > 0, "{sql}");
    }
}

#[tokio::test]
async fn a_wrong_token_is_like_an_unknown_order() {
    let bought = Bought::new().await;
    let (address, token, links) = (bought.address(), bought.token(), links());
    let other = OrderId::from_random(7);
    let unknown = links.path(bought.store.slug.as_str(), bought.store.merchant, other);
    let nothing = bought.app.get(&unknown).await;
    assert_eq!(nothing.status, 404);
    let foreign = address.replace("kivikiri", "demo-store");
    for path in [
        address.clone(),
        format!("{address}?token="),
        format!("{address}?token={}", links.token(bought.store.merchant, other)),
        format!("{address}?token={}", &token[1..]),
        format!("{address}?token={token}&token={token}"),
        format!("{foreign}?token={token}"),
        format!("/no-such-store/orders/{}?token={token}", bought.order),
        format!("/kivikiri/orders/ord_1?token={token}"),
    ] {
        let refused = bought.app.get(&path).await;
        assert_eq!((refused.status, &refused.text), (nothing.status, &nothing.text), "{path}");
    }
    for (form, status) in
        [("token=x&version=1", 404), ("version=1", 404), (&*format!("token={token}"), 400)]
    {
        let refused = send(&bought.app, &format!("{address}/cancel"), form, &[]).await;
        assert_eq!(refused.status, status, "{form}");
    }
    assert_eq!(bought.submit("refund", "").await.status, 404, "no such form");
    assert_eq!(bought.details().await.order.version, 1);
    assert!(bought.page().await.contains("Your order is placed."));
}

#[tokio::test]
async fn the_page_is_not_framed_cached_or_leaked_and_changes_nothing() {
    let bought = Bought::new().await;
    let before = bought.details().await;
    let page = bought.app.get(&format!("{}?token={}", bought.address(), bought.token())).await;
    let header = |name: &str| page.headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("x-frame-options"), "DENY");
    assert_eq!(header("cache-control"), "no-store");
    assert_eq!(header("referrer-policy"), "no-referrer");
    let policy = header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(policy.contains("form-action 'self'") && !policy.contains("script"));
    assert!(!page.headers.contains_key("set-cookie") && !page.text.contains("<script"));
    assert_eq!(bought.details().await, before);
}

#[tokio::test]
async fn forms_are_accepted_only_from_the_page_itself() {
    let bought = Bought::new().await;
    let form = format!("token={}&version=1&reason=other&statement=x", bought.token());
    let own = [("origin", SITE_URL), ("sec-fetch-site", "same-origin")];
    let foreign: [&[(&str, &str)]; 7] = [
        &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null")],
        &[("origin", SITE_URL)],
        &[("sec-fetch-site", "same-origin")],
        &[own[0], own[1], ("x-agent-api-key", "agnt_1")],
        &[own[0], own[1], ("authorization", "Bearer mrch_1")],
        &[own[0], own[1], ("x-ai-agent-initiated", "true")],
    ];
    for action in [
        "cancel",
        "address",
        "return",
        "cancel_return",
        "dispute",
        "statement",
        "withdraw",
        "accept",
    ] {
        let path = format!("{}/{action}", bought.address());
        for headers in foreign {
            let refused = send(&bought.app, &path, &form, headers).await;
            assert_eq!(refused.status, 403, "{action} {headers:?}");
        }
    }
    assert_eq!(bought.details().await.order.version, 1);
}

#[tokio::test]
async fn texts_of_merchants_are_escaped_and_only_https_is_linked() {
    let bought = Bought::new().await;
    bought.deliver().await;
    let line = Bought::line(&bought.details().await);
    let fields = format!("&quantity-{line}=1&reason=other");
    let returned = bought.submit_twice("return", &fields).await.returns[0].id;
    let approve = ReturnAction::Approve { instructions: Some(String::from("x")) };
    let merchant = bought.merchant();
    orders::change_return(&merchant, bought.order, returned, None, approve).await.unwrap();
    let details = bought.submit_twice("dispute", "&reason=damaged&statement=broken").await;
    let answer =
        NewStatement { text: String::from("x"), evidence: Vec::new(), proposed_refund: None };
    let dispute = details.disputes[0].id;
    orders::answer_dispute(&merchant, bought.order, dispute, answer).await.unwrap();
    let refund = orders::NewRefund {
        amount: Some(Money::new(1, details.order.currency())),
        reason: orders::RefundReason::Goodwill,
        note: Some(String::from("x")),
        reference: None,
    };
    orders::refund(&merchant, bought.order, None, refund).await.unwrap();
    // Past the verbs, which remove markup.
    for sql in [
        r#"UPDATE placed_order SET lines = jsonb_set(lines, '{0,name}', '"<script>1</script>"'),
               terms = jsonb_set(jsonb_set(terms, '{returns,summary}', '"<script>2</script>"'),
                                 '{discounts}', '[["<script>3</script>", 1]]')"#,
        "UPDATE order_fulfillment SET carrier = '<script>4</script>', tracking_number = '\"><script>5',
             tracking_url = 'javascript:alert(6)'",
        "UPDATE order_refund SET note = '<script>13</script>'",
        "UPDATE order_return SET instructions = '<script>7</script>'",
        "UPDATE dispute_statement SET statement = '<script>8</script>',
             evidence = '[\"javascript:alert(9)\", \"https://files.example/\\\"><script>10\"]'
         WHERE actor = 'merchant'",
        "UPDATE store SET name = '<script>11</script>', legal_name = '<script>12</script>' WHERE slug = 'kivikiri'",
    ] {
        bought.execute(sql).await;
    }
    let page = bought.page().await;
    assert!(!page.contains("<script"), "{page}");
    for number in [1, 2, 3, 4, 5, 7, 8, 10, 11, 12, 13] {
        let escaped = format!("&#60;script&#62;{number}");
        assert!(page.contains(&escaped), "text {number} is not on the page: {page}");
    }
    assert!(page.contains("javascript:alert(6)") && page.contains("javascript:alert(9)"));
    assert!(!page.contains("href=\"javascript"), "{page}");
}

#[tokio::test]
async fn of_the_buyer_only_city_and_country_are_shown() {
    let bought = Bought::new().await;
    bought.execute("UPDATE placed_order SET note = 'ring the hidden bell'").await;
    let page = bought.page().await;
    let place = format!("Springtown, {}", bought.store.country);
    assert!(page.contains(&place), "{page}");
    for hidden in ["Hidden Way", "10115", "Eve", "eve@", "hidden bell", "helper", "agnt_", "key_"] {
        assert!(!page.contains(hidden), "{hidden} is on the page: {page}");
    }
}

#[tokio::test]
async fn the_page_works_at_suspended_paused_and_closed_stores_and_for_sandboxes() {
    let bought = Bought::new().await;
    let mut work = Work::for_platform(bought.app.test.database()).await.unwrap();
    let standing = Standing { score: Some(0.1), provisional: false, computed_at: work.now() };
    merchants::set_standing(&mut work, bought.store.merchant, &standing).await.unwrap();
    work.commit().await.unwrap();
    assert!(bought.page().await.contains("Your order is placed."));
    let details = bought.submit_twice("dispute", "&reason=other&statement=closed").await;
    assert_eq!(details.disputes.len(), 1);
    assert_eq!(bought.submit("cancel", "").await.status, 303);

    for status in [
        "UPDATE store SET status = 'paused' WHERE slug = 'kivikiri'",
        "UPDATE store SET status = 'closed' WHERE slug = 'kivikiri'",
    ] {
        bought.execute(status).await;
        assert!(bought.page().await.contains("This order was canceled."), "{status}");
    }
    let id = format!("&dispute_id={}", details.disputes[0].id);
    assert_eq!(bought.submit("withdraw", &id).await.status, 303, "at a closed store");

    let tried = Purchase::at("demo-store", true).await.pay().await;
    assert!(tried.page().await.contains("Sandbox."));
    tried.deliver().await;
    let line = Bought::line(&tried.details().await);
    let details = tried.submit_twice("return", &format!("&quantity-{line}=2&reason=other")).await;
    assert_eq!((details.order.is_sandbox, details.returns.len()), (true, 1));
}

/// Returns the value of a hidden form field.
fn hidden<'page>(page: &'page str, name: &str) -> &'page str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

#[tokio::test]
async fn whoever_pays_gets_the_link_and_nobody_else() {
    let purchase = Purchase::at("demo-store", true).await;
    let address = format!("/demo-store/checkout/{}", purchase.session.session.id);
    let page = purchase.app.get(&address).await.text;
    let (token, hash) = (hidden(&page, "form_token"), hidden(&page, "quote_hash"));
    let form = |card: &str| format!("instrument={card}&form_token={token}&quote_hash={hash}");
    let pay = async |card: &str| {
        let done = send(&purchase.app, &format!("{address}/pay"), &form(card), &[]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        done.headers["location"].to_str().unwrap().to_owned()
    };
    assert_eq!(pay("test_declines").await, address);
    let paid = pay("test_approves").await;
    let page = purchase.app.get(&paid).await.text;
    let (_, link) = page.split_once("<a href=\"/demo-store/orders/").unwrap();
    let link = format!("/demo-store/orders/{}", link.split_once('"').unwrap().0);
    let number = link.split_once("/ord_").unwrap().1[..10].to_uppercase();
    assert!(page.contains(&format!("Your order number is <code>{number}</code>")), "{page}");
    let order = purchase.app.get(&link).await;
    assert!(order.text.contains(&format!("Order number <code>{number}</code>")));
    assert!(order.status == 200 && order.text.contains("Your order is placed."), "{}", order.text);
    // The merchant knows the address of the payment page, and may have read the form before the payment.
    assert_eq!(pay("test_approves").await, address, "a repeated form");
    for other in [address.clone(), format!("{address}?token=x")] {
        let page = purchase.app.get(&other).await.text;
        assert!(page.contains("Paid. Thank you.") && !page.contains("/orders/"), "{page}");
        assert!(page.contains("Ask your agent for the link"), "{page}");
    }
}

#[tokio::test]
async fn a_reported_payment_does_not_give_the_link_to_the_merchant() {
    let purchase = Purchase::at("kivikiri", false).await;
    let id = purchase.session.session.id;
    let report = PaymentReport { reference: String::from("SHOP-1"), ..PaymentReport::default() };
    let paid = checkout::report_paid(&purchase.context(), id, &report).await.unwrap();
    let order = paid.session.order.unwrap();
    let address = format!("/kivikiri/checkout/{id}");
    let page = purchase.app.get(&address).await.text;
    assert!(page.contains("Paid. Thank you.") && !page.contains("/orders/"), "{page}");
    let token = links().token(purchase.store.merchant, order);
    let page = purchase.app.get(&format!("{address}?token={token}")).await.text;
    assert!(page.contains(&format!("/kivikiri/orders/{order}?token={token}")), "{page}");
}
