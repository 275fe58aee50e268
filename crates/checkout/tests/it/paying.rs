//! Payments and the orders that follow.

use std::sync::Arc;
use std::time::Duration;

use carts::Owner;
use checkout::{CheckoutError, Complete, Reported, Status, Till};
use payments::{TestInstrument, TestProvider};
use primitives::{Currency, Money};

use crate::shop::{Shop, agent};

fn till() -> Till {
    Till::new(Arc::new(TestProvider), true)
}

const ORDERS: &str = "SELECT count(*) FROM placed_order";
const TOLD: &str = "SELECT count(*) FROM outbox WHERE topic = 'order.created'";

#[tokio::test]
async fn paid_on_our_page_it_is_an_order() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (counter, till, id, form) = (shop.counter(), till(), at.session.id, at.session.form_token);
    let refusing = TestInstrument::Declines.name();
    let declined = checkout::pay(&counter, &till, id, refusing, &form).await.unwrap();
    assert_eq!(
        (declined.status(), declined.session.is_payment_failed),
        (Status::ReadyForComplete, true)
    );
    assert_eq!((shop.shelf(mug).await, shop.count(ORDERS).await), ((9, 2), 0));
    let foreign = checkout::pay(&counter, &till, id, refusing, &[0; 16]).await;
    assert!(matches!(foreign, Err(CheckoutError::ForeignForm)));
    let approves = TestInstrument::Approves.name();
    let paid = checkout::pay(&counter, &till, id, approves, &form).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    let again = checkout::pay(&counter, &till, id, approves, &form).await.unwrap();
    assert_eq!(again.session.order, paid.session.order);
    assert_eq!(
        (shop.shelf(mug).await, shop.count(ORDERS).await, shop.count(TOLD).await),
        ((7, 0), 1, 1)
    );
    let (reading, id) = (shop.reading(), paid.session.order.unwrap());
    let order = orders::order(&reading, shop.store.merchant, id, None).await.unwrap();
    assert_eq!((order.total.minor(), order.status.name()), (2_990, "pending"));
    assert_eq!(order.confirmation.name(), "attested");
    assert_eq!(
        shop.count("SELECT count(*) FROM agent_event WHERE kind = 'CHECKOUT_COMPLETE'").await,
        1
    );
    let ended = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(ended.session.order, paid.session.order, "one order for a cart, for ever");
}

#[tokio::test]
async fn after_a_refused_payment_it_can_be_completed_anew() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let form = at.session.form_token;
    let declines = TestInstrument::Declines.name();
    checkout::pay(&shop.counter(), &till(), at.session.id, declines, &form).await.unwrap();
    let anew = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!((anew.status(), anew.session.id), (Status::RequiresEscalation, at.session.id));
    assert_eq!(shop.shelf(mug).await, (2, 2));
}

#[tokio::test]
async fn what_the_merchant_reports_is_an_order_once() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (counter, id) = (shop.counter(), at.session.id);
    let reported = |reference: &str, minor: i64| Reported {
        reference: reference.to_owned(),
        amount: Some(Money::new(minor, Currency::EUR)),
    };
    let wrong = checkout::report_paid(&counter, id, &reported("A-1", 2_991)).await;
    assert!(matches!(wrong, Err(CheckoutError::OtherAmount { .. })));
    let right = reported("A-1", 2_990);
    let all = (0..6).map(|_| checkout::report_paid(&counter, id, &right));
    for outcome in futures::future::join_all(all).await {
        assert_eq!(outcome.unwrap().status(), Status::Completed);
    }
    let other = checkout::report_paid(&counter, id, &reported("A-2", 2_990)).await;
    assert!(matches!(other, Err(CheckoutError::PaidBefore { .. })));
    assert_eq!(
        (shop.shelf(mug).await, shop.count(ORDERS).await, shop.count(TOLD).await),
        ((0, 0), 1, 1)
    );
    let status: String = sqlx::query_scalar("SELECT stock_status FROM product")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    assert_eq!(status, "out_of_stock");
}

#[tokio::test]
async fn too_late_is_too_late_for_the_merchant_as_well() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    shop.advance(Duration::from_mins(31));
    let reported = Reported { reference: String::from("A-1"), amount: None };
    let late = checkout::report_paid(&shop.counter(), at.session.id, &reported).await;
    assert!(matches!(late, Err(CheckoutError::WrongStep { from: Status::Expired })));
}

#[tokio::test]
async fn a_sandbox_plays_with_numbers_of_its_own_and_goes() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let player = Owner { is_sandbox: true, ..agent(7) };
    let cart = shop.cart(&player, &[(mug, 2)]).await;
    let at = shop.complete(&player, cart.cart.id).await.unwrap();
    assert_eq!(shop.shelf(mug).await, (3, 0));
    let second = shop.cart(&player, &[(mug, 2)]).await;
    assert_eq!(second.quote.lines[0].quantity, 1, "what it holds it cannot have twice");
    assert_eq!(shop.cart(&agent(1), &[(mug, 3)]).await.quote.lines[0].quantity, 3);
    let real_till = Till::new(Arc::new(TestProvider), false);
    let (id, form) = (at.session.id, at.session.form_token);
    let approves = TestInstrument::Approves.name();
    let paid = checkout::pay(&shop.counter(), &real_till, id, approves, &form).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    assert_eq!((shop.count(ORDERS).await, shop.count(TOLD).await), (1, 0));
    assert_eq!(shop.count("SELECT count(*) FROM agent_event").await, 0);
    shop.advance(Duration::from_hours(25));
    shop.run::<checkout::ForgetSandboxes>(()).await;
    assert_eq!(shop.count(ORDERS).await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM checkout_session").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM sandbox_stock").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM cart WHERE is_sandbox").await, 0);
}

#[tokio::test]
async fn test_money_buys_nothing_real() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let strict = Till::new(Arc::new(TestProvider), false);
    let (id, form) = (at.session.id, at.session.form_token);
    let refused = checkout::pay(&shop.counter(), &strict, id, "test_approves", &form).await;
    assert!(matches!(refused, Err(CheckoutError::NoProvider)));
}

#[tokio::test]
async fn a_payment_nobody_heard_of_is_asked_for_again() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = checkout::complete(&shop.counter(), &owner, &Complete::cart(cart.cart.id), None).await;
    let at = at.unwrap();
    // As a process leaves it that dies before the provider answered.
    let mut raw = shop.test.raw().await;
    sqlx::query("UPDATE checkout_session SET status = 'complete_in_progress'")
        .execute(&mut raw)
        .await
        .unwrap();
    let begun = "INSERT INTO payment SELECT merchant_id, gen_random_uuid(), checkout_id, 'test', 'test_approves', currency,
                 total_minor, 'begun', NULL, updated_at, NULL FROM checkout_session";
    sqlx::query(begun).execute(&mut raw).await.unwrap();
    shop.advance(Duration::from_hours(1));
    shop.run::<checkout::NoticeAbandoned>(()).await;
    assert_eq!(shop.shelf(mug).await, (3, 1), "a payment under way is waited for");
    shop.run::<checkout::AskAgain>(till()).await;
    let read =
        checkout::session(&shop.reading(), shop.store.merchant, at.session.id, None).await.unwrap();
    assert_eq!((read.status(), shop.shelf(mug).await), (Status::Completed, (2, 0)));
}

#[tokio::test]
async fn a_person_who_turns_back_lets_the_units_go_and_the_agent_may_ask_anew() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (counter, id, form) = (shop.counter(), at.session.id, at.session.form_token);
    let foreign = checkout::turn_back(&counter, id, &[0; 16]).await;
    assert!(matches!(foreign, Err(CheckoutError::ForeignForm)));
    for _ in 0..2 {
        let back = checkout::turn_back(&counter, id, &form).await.unwrap();
        assert_eq!((back.status(), back.session.checkout_url), (Status::Incomplete, None));
    }
    assert_eq!(shop.shelf(mug).await, (3, 0));
    let anew = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!((anew.status(), anew.session.id), (Status::RequiresEscalation, id));
}
