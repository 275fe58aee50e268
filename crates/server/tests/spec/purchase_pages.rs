//! Spec §1.4: a person approves, and pays. The two pages, as browsers and those who pretend to be one see them.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use carts::{Destination, Edit, Item, NewCart, Owner, Quantity};
use checkout::{At, Complete, Counter, Requested};
use merchants::{Store, StoreCache};
use primitives::{Id, KeyId, ProductId};

use crate::app::{Answer, SITE_URL, TestApp};

struct Purchase {
    app: TestApp,
    store: Arc<Store>,
    owner: Owner,
    cart: carts::Priced,
}

impl Purchase {
    /// A cart at the demo store, ready to be bought, by a sandbox with a name that wants to be more than text.
    async fn prepared() -> Self {
        let app = TestApp::start().await;
        let stores = StoreCache::new(app.test.database().clone(), Duration::ZERO);
        let store = stores.find(&"demo-store".parse().unwrap()).await.unwrap();
        let name = String::from("<script>alert(1)</script>");
        let owner = Owner { key: KeyId::from_random(1), name, is_sandbox: true };
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
            street: None,
            name: None,
        };
        let new = NewCart {
            items: vec![Item { product, variant: None, quantity }],
            destination: Some(to),
            ..NewCart::default()
        };
        let database = app.test.database();
        let made = carts::create(database, &store, &owner, new, None).await.unwrap();
        let way = [Edit::Shipping(made.quote.options[0].id.clone())];
        let who = (owner.key, made.cart.id);
        let cart = carts::change(database, &store, who, None, &way, None).await.unwrap();
        Self { app, store, owner, cart }
    }

    fn counter(&self) -> Counter<'_> {
        Counter { database: self.app.test.database(), store: &self.store, site_url: SITE_URL }
    }

    async fn asked(&self) -> Requested {
        checkout::request(&self.counter(), &self.owner, self.cart.cart.id).await.unwrap()
    }

    async fn completed(&self) -> At {
        let asked = Complete::cart(self.cart.cart.id);
        checkout::complete(&self.counter(), &self.owner, &asked, None).await.unwrap()
    }

    /// A form, as a browser sends it from our own page; with other headers it is from somewhere else.
    async fn send(&self, path: &str, form: &str, headers: &[(&str, &str)]) -> Answer {
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

    async fn status(&self, asked: &Requested) -> &'static str {
        let found =
            checkout::confirmation(&self.counter(), asked.confirmation.id, None).await.unwrap();
        found.confirmation.status(found.now).name()
    }
}

fn path(url: &str) -> &str {
    url.strip_prefix(SITE_URL).unwrap()
}

/// What a form has to send back, found in the page.
fn hidden<'page>(page: &'page str, name: &str) -> &'page str {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split_once('"').unwrap().0
}

#[tokio::test]
async fn a_person_sees_what_it_is_and_says_yes_once() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.asked().await;
    let address = path(&asked.confirm_url);
    let page = purchase.app.get(address).await;
    assert_eq!(page.status, 200);
    let total =
        &primitives::Money::new(purchase.cart.quote.total_minor, purchase.cart.cart.currency);
    for said in [
        purchase.store.name.as_str(),
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        &total.to_string(),
        "Berlin",
        "Sandbox.",
    ] {
        assert!(page.text.contains(said), "{said} is not on the page: {}", page.text);
    }
    assert!(!page.text.contains("<script"));
    assert_eq!(purchase.status(&asked).await, "pending", "looking changes nothing");
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
    assert_eq!(purchase.status(&asked).await, "confirmed", "an answer is given once");
    assert!(purchase.app.get(address).await.text.contains("You said yes"));
}

#[tokio::test]
async fn no_other_page_and_no_agent_presses_the_button() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.asked().await;
    let address = path(&asked.confirm_url);
    let page = purchase.app.get(address).await.text;
    let (token, hash) = (hidden(&page, "form_token"), hidden(&page, "quote_hash"));
    let form = format!("decision=approve&form_token={token}&quote_hash={hash}");
    let elsewhere: [&[(&str, &str)]; 5] = [
        &[("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null"), ("sec-fetch-site", "cross-site")],
        &[("origin", "null")],
        &[("origin", SITE_URL), ("x-agent-api-key", "agnt_1")],
        &[("origin", SITE_URL), ("authorization", "Bearer mrch_1")],
    ];
    for headers in elsewhere {
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
async fn nobody_frames_keeps_or_passes_on_a_page_of_a_purchase() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.asked().await;
    let at = purchase.completed().await;
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
async fn what_is_not_there_is_said_to_people_in_words() {
    let purchase = Purchase::prepared().await;
    let asked = purchase.asked().await;
    for address in [
        "/demo-store/confirm/cnf_nothing",
        "/demo-store/checkout/chk_nothing",
        "/no-such-store/confirm/cnf_nothing",
        &path(&asked.confirm_url).replace("demo-store", "harbour-outdoor"),
    ] {
        let page = purchase.app.get(address).await;
        assert_eq!(page.status, 404, "{address}");
        assert!(page.text.contains("There is nothing here"), "{address}: {}", page.text);
    }
}

#[tokio::test]
async fn a_person_pays_or_turns_back() {
    let purchase = Purchase::prepared().await;
    let at = purchase.completed().await;
    let hosted = at.session.checkout_url.clone().unwrap();
    let address = path(&hosted);
    let page = purchase.app.get(address).await.text;
    assert!(page.contains("Test payment.") && page.contains("Review and pay"));
    let token = hidden(&page, "form_token").to_owned();
    let pay = format!("{address}/pay");
    let evil = [("origin", "https://evil.example")];
    let form = format!("instrument=test_approves&form_token={token}");
    assert_eq!(purchase.send(&pay, &form, &evil).await.status, 403);
    let declined = format!("instrument=test_declines&form_token={token}");
    assert_eq!(purchase.send(&pay, &declined, &[]).await.status, 303);
    assert!(purchase.app.get(address).await.text.contains("The payment was refused."));
    let back = format!("{address}/turn-back");
    assert_eq!(purchase.send(&back, &format!("form_token={token}"), &[]).await.status, 303);
    assert!(purchase.app.get(address).await.text.contains("Nothing is to be paid here now."));
    assert_eq!(purchase.send(&pay, &form, &[]).await.status, 409);
    purchase.completed().await;
    assert_eq!(purchase.send(&pay, &form, &[]).await.status, 303);
    let paid = purchase.app.get(address).await.text;
    assert!(paid.contains("Paid. Thank you.") && paid.contains("ord_"));
}
