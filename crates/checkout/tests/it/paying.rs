//! Payments and the orders that follow.

use std::sync::Arc;
use std::time::Duration;

use carts::CartOwner;
use checkout::{CheckoutError, Complete, PaymentGateway, PaymentReport, Status};
use payments::{TestInstrument, TestProvider};
use primitives::{Currency, Money};

use crate::shop::{Shop, agent};

fn gateway() -> PaymentGateway {
    PaymentGateway::new(Arc::new(TestProvider), true)
}

const ORDERS: &str = "SELECT count(*) FROM placed_order";
const PUBLISHED: &str = "SELECT count(*) FROM outbox WHERE topic = 'order.created'";

#[tokio::test]
async fn a_payment_on_the_hosted_page_places_the_order() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (context, gateway) = (shop.context(), gateway());
    let (id, form) = (at.session.id, at.session.form_token);
    let instrument = TestInstrument::Declines.as_str();
    let declined = checkout::pay(&context, &gateway, id, instrument, &form).await.unwrap();
    assert_eq!(
        (declined.status(), declined.session.is_payment_failed),
        (Status::ReadyForComplete, true)
    );
    assert_eq!((shop.stock_and_held(mug).await, shop.count(ORDERS).await), ((9, 2), 0));
    let forged = checkout::pay(&context, &gateway, id, instrument, &[0; 16]).await;
    assert!(matches!(forged, Err(CheckoutError::CsrfRejected)));
    let approves = TestInstrument::Approves.as_str();
    let paid = checkout::pay(&context, &gateway, id, approves, &form).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    let again = checkout::pay(&context, &gateway, id, approves, &form).await.unwrap();
    assert_eq!(again.session.order, paid.session.order);
    assert_eq!(
        (shop.stock_and_held(mug).await, shop.count(ORDERS).await, shop.count(PUBLISHED).await),
        ((7, 0), 1, 1)
    );
    let (reading, id) = (shop.reading(), paid.session.order.unwrap());
    let order = orders::order(&reading, shop.store.merchant, id, None).await.unwrap();
    assert_eq!((order.total.minor(), order.status.as_str()), (2_990, "pending"));
    assert_eq!(order.confirmation.as_str(), "attested");
    assert_eq!(
        shop.count("SELECT count(*) FROM agent_event WHERE kind = 'CHECKOUT_COMPLETE'").await,
        1
    );
    let ended = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(ended.session.order, paid.session.order, "a cart has at most one order");
}

#[tokio::test]
async fn after_a_declined_payment_the_session_can_be_completed_again() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let form = at.session.form_token;
    let instrument = TestInstrument::Declines.as_str();
    checkout::pay(&shop.context(), &gateway(), at.session.id, instrument, &form).await.unwrap();
    let again = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!((again.status(), again.session.id), (Status::RequiresEscalation, at.session.id));
    assert_eq!(shop.stock_and_held(mug).await, (2, 2));
}

#[tokio::test]
async fn a_payment_reported_by_the_merchant_places_one_order() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (context, id) = (shop.context(), at.session.id);
    let report = |reference: &str, minor: i64| PaymentReport {
        reference: reference.to_owned(),
        amount: Some(Money::new(minor, Currency::EUR)),
    };
    let wrong = checkout::report_paid(&context, id, &report("A-1", 2_991)).await;
    assert!(matches!(wrong, Err(CheckoutError::AmountMismatch { .. })));
    let right = report("A-1", 2_990);
    let all = (0..6).map(|_| checkout::report_paid(&context, id, &right));
    for outcome in futures::future::join_all(all).await {
        assert_eq!(outcome.unwrap().status(), Status::Completed);
    }
    let other = checkout::report_paid(&context, id, &report("A-2", 2_990)).await;
    assert!(matches!(other, Err(CheckoutError::AlreadyPaid { .. })));
    assert_eq!(
        (shop.stock_and_held(mug).await, shop.count(ORDERS).await, shop.count(PUBLISHED).await),
        ((0, 0), 1, 1)
    );
    let status: String = sqlx::query_scalar("SELECT stock_status FROM product")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    assert_eq!(status, "out_of_stock");
}

#[tokio::test]
async fn an_expired_session_cannot_be_reported_paid() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    shop.advance(checkout::SESSION_LIFETIME + Duration::from_mins(1));
    let report = PaymentReport { reference: String::from("A-1"), amount: None };
    let late = checkout::report_paid(&shop.context(), at.session.id, &report).await;
    assert!(matches!(late, Err(CheckoutError::InvalidTransition { from: Status::Expired })));
}

#[tokio::test]
async fn a_sandbox_has_its_own_stock_and_is_purged() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let sandbox = CartOwner { is_sandbox: true, ..agent(7) };
    let cart = shop.cart(&sandbox, &[(mug, 2)]).await;
    let at = shop.complete(&sandbox, cart.cart.id).await.unwrap();
    assert_eq!(shop.stock_and_held(mug).await, (3, 0));
    let second = shop.cart(&sandbox, &[(mug, 2)]).await;
    assert_eq!(second.quote.lines[0].quantity, 1, "units it holds are no longer available to it");
    assert_eq!(shop.cart(&agent(1), &[(mug, 3)]).await.quote.lines[0].quantity, 3);
    let strict = PaymentGateway::new(Arc::new(TestProvider), false);
    let (id, form) = (at.session.id, at.session.form_token);
    let approves = TestInstrument::Approves.as_str();
    let paid = checkout::pay(&shop.context(), &strict, id, approves, &form).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 0));
    assert_eq!(shop.count("SELECT count(*) FROM agent_event").await, 0);
    shop.advance(Duration::from_hours(25));
    shop.run::<checkout::PurgeSandboxes>(()).await;
    assert_eq!(shop.count(ORDERS).await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM checkout_session").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM sandbox_stock").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM cart WHERE is_sandbox").await, 0);
}

#[tokio::test]
async fn test_payments_are_not_accepted_for_real_orders() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let strict = PaymentGateway::new(Arc::new(TestProvider), false);
    let (id, form) = (at.session.id, at.session.form_token);
    let refused = checkout::pay(&shop.context(), &strict, id, "test_approves", &form).await;
    assert!(matches!(refused, Err(CheckoutError::PaymentNotAccepted)));
}

#[tokio::test]
async fn a_pending_payment_is_reconciled() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = checkout::complete(&shop.context(), &owner, &Complete::cart(cart.cart.id), None).await;
    let at = at.unwrap();
    // The state left by a process that dies before the provider responds.
    let mut raw = shop.test.raw().await;
    sqlx::query("UPDATE checkout_session SET status = 'complete_in_progress'")
        .execute(&mut raw)
        .await
        .unwrap();
    let pending = "INSERT INTO payment SELECT merchant_id, gen_random_uuid(), checkout_id, 'test', 'test_approves', currency,
                 total_minor, 'begun', NULL, updated_at, NULL FROM checkout_session";
    sqlx::query(pending).execute(&mut raw).await.unwrap();
    shop.advance(Duration::from_hours(1));
    shop.run::<checkout::ExpireSessions>(()).await;
    assert_eq!(
        shop.stock_and_held(mug).await,
        (3, 1),
        "a session with a pending payment does not expire"
    );
    shop.run::<checkout::ReconcilePayments>(gateway()).await;
    let read =
        checkout::session(&shop.reading(), shop.store.merchant, at.session.id, None).await.unwrap();
    assert_eq!((read.status(), shop.stock_and_held(mug).await), (Status::Completed, (2, 0)));
}

#[tokio::test]
async fn declining_releases_the_units_and_the_agent_can_complete_again() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (context, id, form) = (shop.context(), at.session.id, at.session.form_token);
    let forged = checkout::decline(&context, id, &[0; 16]).await;
    assert!(matches!(forged, Err(CheckoutError::CsrfRejected)));
    for _ in 0..2 {
        let declined = checkout::decline(&context, id, &form).await.unwrap();
        assert_eq!((declined.status(), declined.session.checkout_url), (Status::Incomplete, None));
    }
    assert_eq!(shop.stock_and_held(mug).await, (3, 0));
    let again = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!((again.status(), again.session.id), (Status::RequiresEscalation, id));
}
