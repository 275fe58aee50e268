//! Payments and the orders that follow.

use std::sync::Arc;
use std::time::Duration;

use carts::{CartOwner, CartUpdate, Destination, PricedCart};
use checkout::{
    CheckoutContext, CheckoutError, Complete, NewSession, PaymentGateway, PaymentReport,
    ProofRejection, ReportedAmounts, Status, Update,
};
use payments::{TestInstrument, TestProvider};
use primitives::{Currency, Money, ProductId};

use crate::shop::{Shop, agent, visitor};

const ORDERS: &str = "SELECT count(*) FROM placed_order";
const PUBLISHED: &str = "SELECT count(*) FROM outbox WHERE topic = 'order.created'";

#[tokio::test]
async fn a_payment_on_the_hosted_page_places_the_order() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let declined = shop.pay(&at, TestInstrument::Declines).await.unwrap();
    assert_eq!(
        (declined.status(), declined.session.is_payment_failed),
        (Status::ReadyForComplete, true)
    );
    assert_eq!((shop.stock_and_held(mug).await, shop.count(ORDERS).await), ((9, 2), 0));
    let mut forged = at.clone();
    forged.session.form_token = [0; 16];
    let refused = shop.pay(&forged, TestInstrument::Approves).await;
    assert!(matches!(refused, Err(CheckoutError::CsrfRejected)));
    let mut forged = at.clone();
    forged.session.quote_hash = carts::QuoteHash::from_bytes(&[7; 32]).unwrap();
    let refused = shop.pay(&forged, TestInstrument::Approves).await;
    assert!(matches!(refused, Err(CheckoutError::QuoteChanged { .. })));
    let paid = shop.pay(&at, TestInstrument::Approves).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    let again = shop.pay(&at, TestInstrument::Approves).await.unwrap();
    assert_eq!(again.session.order, paid.session.order);
    assert_eq!(
        (shop.stock_and_held(mug).await, shop.count(ORDERS).await, shop.count(PUBLISHED).await),
        ((7, 0), 1, 1)
    );
    let (reading, id) = (shop.reading(), paid.session.order.unwrap());
    let viewer = orders::Viewer::Merchant;
    let order = orders::order(&reading, shop.store.merchant, id, &viewer).await.unwrap();
    assert_eq!((order.total.minor(), order.status.as_str()), (2_990, "pending"));
    assert_eq!(order.confirmation.as_str(), "hosted", "paying on the page confirms the total");
    let proof = order.confirmation_id.unwrap();
    let proof = checkout::confirmation(&shop.context(), proof, None).await.unwrap().confirmation;
    assert_eq!((proof.quote_hash, proof.used_by), (at.session.quote_hash, Some(at.session.id)));
    assert_eq!(proof.decided_by, Some(visitor()));
    assert_eq!(
        shop.count("SELECT count(*) FROM agent_event WHERE kind = 'CHECKOUT_COMPLETE'").await,
        1
    );
    let ended = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(ended.session.order, paid.session.order, "a cart has at most one order");
}

/// Only the call that recorded the payment names the order: its caller paid.
#[tokio::test]
async fn one_of_two_calls_places_the_order() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let pay = async |instrument| shop.submit_payment(&at, instrument).await;
    let declined = pay(TestInstrument::Declines).await.unwrap();
    assert_eq!(declined.placed, None);
    let both = tokio::join!(pay(TestInstrument::Approves), pay(TestInstrument::Approves));
    let placed = [both.0, both.1].into_iter().flatten().filter_map(|paid| paid.placed);
    let placed: Vec<_> = placed.collect();
    assert_eq!((placed.len(), shop.count(ORDERS).await), (1, 1));
    let again = pay(TestInstrument::Approves).await.unwrap();
    assert_eq!(again.snapshot.session.order, Some(placed[0]));
    assert_eq!(again.placed, None, "this call did not pay");
}

#[tokio::test]
async fn after_a_declined_payment_the_session_can_be_completed_again() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 2)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    shop.advance(Duration::from_mins(10));
    shop.pay(&at, TestInstrument::Declines).await.unwrap();
    let again = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!((again.status(), again.session.id), (Status::RequiresEscalation, at.session.id));
    assert_eq!(shop.stock_and_held(mug).await, (2, 2));
    let started = at.session.started_at;
    assert_eq!(at.session.expires_at, started.plus(checkout::SESSION_LIFETIME));
    assert_eq!(again.session.expires_at, started.plus(Duration::from_mins(40)));
    shop.advance(Duration::from_mins(25));
    shop.pay(&again, TestInstrument::Declines).await.unwrap();
    let last = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(last.session.expires_at, started.plus(checkout::SESSION_LIFETIME_MAX));
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
        amounts: ReportedAmounts {
            total: Some(Money::new(minor, Currency::EUR)),
            ..ReportedAmounts::default()
        },
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
    let changed = "SELECT count(*) FROM outbox WHERE topic = 'checkout.changed'";
    assert_eq!(shop.count(changed).await, 2, "started and completed");
    let reported = "SELECT count(*) FROM outbox WHERE topic = 'payment.reported'";
    assert_eq!(shop.count(reported).await, 3, "rejected, accepted, to be refunded");
    let of_agent = "SELECT count(*) FROM payment_report JOIN checkout_session USING (checkout_id, agent_key_id)";
    assert_eq!(shop.count(of_agent).await, 3);
    let status: String = sqlx::query_scalar("SELECT stock_status FROM product")
        .fetch_one(&mut shop.test.raw().await)
        .await
        .unwrap();
    assert_eq!(status, "out_of_stock");
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
    let paid = shop.pay(&at, TestInstrument::Approves).await.unwrap();
    assert_eq!(paid.status(), Status::Completed);
    assert_eq!((shop.count(ORDERS).await, shop.count(PUBLISHED).await), (1, 0));
    assert_eq!(shop.count("SELECT count(*) FROM agent_event").await, 0);
    let changed =
        "SELECT count(*) FROM outbox WHERE topic IN ('order.changed', 'checkout.changed')";
    assert_eq!(shop.count(changed).await, 0);
    shop.advance(Duration::from_hours(25));
    shop.run::<checkout::PurgeCarts>(()).await;
    assert_eq!(shop.count(ORDERS).await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM checkout_session").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM sandbox_stock").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM payment").await, 0);
    assert_eq!(shop.count("SELECT count(*) FROM cart WHERE is_sandbox").await, 0);
}

#[tokio::test]
async fn nothing_is_held_where_nobody_can_pay() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let strict = PaymentGateway::new(Arc::new(TestProvider), false);
    let context = CheckoutContext { gateway: &strict, ..shop.context() };
    let sandbox = CartOwner { is_sandbox: true, ..agent(7) };
    let cart = shop.cart(&agent(1), &[(mug, 2)]).await;
    let request = Complete::cart(cart.cart.id);
    let refused = checkout::complete(&context, &agent(1), &request, None).await;
    assert!(matches!(refused, Err(CheckoutError::NoPaymentPage)));
    assert_eq!(shop.stock_and_held(mug).await, (3, 0));
    let request = Complete::cart(shop.cart(&sandbox, &[(mug, 2)]).await.cart.id);
    checkout::complete(&context, &sandbox, &request, None).await.unwrap();
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    let own_page = Some("https://attic.example/?order={checkout_id}".parse().unwrap());
    shop.put_settings(&merchants::Settings { checkout_url: own_page, ..known }).await;
    let request = Complete::cart(cart.cart.id);
    let at = checkout::complete(&context, &agent(1), &request, None).await.unwrap();
    assert!(at.session.checkout_url.unwrap().starts_with("https://attic.example/"));
}

#[tokio::test]
async fn a_cart_is_not_ready_where_a_checkout_would_be_rejected() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let strict = PaymentGateway::new(Arc::new(TestProvider), false);
    let blockers = async |gateway: &PaymentGateway| {
        let store = merchants::store(&shop.reading(), shop.store.merchant).await.unwrap();
        let cart = shop.cart(&agent(1), &[(mug, 1)]).await;
        let cart = gateway.with_store_messages(cart, &store);
        let (record, preview) = (cart.record(&store), cart.preview(&store));
        assert_eq!(record.ready_for_checkout, preview.ready_for_checkout);
        let blocking = record.messages.into_iter().filter(|message| message.blocking);
        (preview.ready_for_checkout, blocking.map(|it| it.code).collect::<Vec<_>>())
    };
    assert_eq!(blockers(&shop.gateway()).await, (true, vec![]));
    assert_eq!(blockers(&strict).await, (false, vec![String::from("no_payment_page")]));
    let context = CheckoutContext { gateway: &strict, ..shop.context() };
    let cart = shop.cart(&agent(1), &[(mug, 1)]).await.cart.id;
    let at = checkout::create(&context, &agent(1), cart, &NewSession::default(), None).await;
    assert_eq!(at.unwrap().status(), Status::Incomplete);
    shop.set_standing(0.69).await;
    let expected = vec![String::from("below_agent_threshold")];
    assert_eq!(blockers(&shop.gateway()).await, (false, expected));
}

#[tokio::test]
async fn a_pending_payment_is_reconciled() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = checkout::complete(&shop.context(), &owner, &Complete::cart(cart.cart.id), None).await;
    let at = at.unwrap();
    shop.leave_payment_pending("test").await;
    shop.advance(Duration::from_hours(1));
    shop.run::<checkout::ExpireSessions>(()).await;
    assert_eq!(
        shop.stock_and_held(mug).await,
        (3, 1),
        "a session with a pending payment does not expire"
    );
    shop.run::<checkout::ReconcilePayments>(shop.gateway()).await;
    let read =
        checkout::session(&shop.reading(), shop.store.merchant, at.session.id, None).await.unwrap();
    assert_eq!((read.status(), shop.stock_and_held(mug).await), (Status::Completed, (2, 0)));
}

#[tokio::test]
async fn declining_releases_the_units_and_stands() {
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
    refuse_items(&shop, &owner, cart, mug).await;
}

/// Asserts that the agent cannot buy one unit of the product, in the declined cart and in another one.
async fn refuse_items(shop: &Shop, owner: &CartOwner, cart: PricedCart, mug: ProductId) {
    for cart in [cart, shop.cart(owner, &[(mug, 1)]).await] {
        let refused = shop.complete(owner, cart.cart.id).await.unwrap_err();
        assert!(matches!(
            refused,
            CheckoutError::ConfirmationRequired {
                reason: ProofRejection::Rejected,
                requested: None
            }
        ));
    }
}

#[tokio::test]
async fn declining_counts_although_the_agent_changed_the_session() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 3)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let to = |country: &str| Update {
        data: CartUpdate {
            destination: Some(Destination {
                country: country.to_owned(),
                ..Destination::default()
            }),
            ..CartUpdate::default()
        },
        ..Update::default()
    };
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (id, form) = (at.session.id, at.session.form_token);
    let changed = checkout::update(&context, &owner, id, &to("FR"), None).await.unwrap();
    assert_eq!(changed.status(), Status::Incomplete);
    checkout::decline(&context, id, &form).await.unwrap();
    checkout::update(&context, &owner, id, &to("DE"), None).await.unwrap();
    refuse_items(&shop, &owner, cart, mug).await;

    let owner = agent(2);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    let (id, form) = (at.session.id, at.session.form_token);
    checkout::cancel(&context, &owner, id, None, None).await.unwrap();
    let declined = checkout::decline(&context, id, &form).await.unwrap();
    assert_eq!(declined.status(), Status::Canceled);
    let other = shop.cart(&owner, &[(mug, 1)]).await;
    assert!(shop.complete(&owner, other.cart.id).await.is_err());
}
