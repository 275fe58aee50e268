//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod confirmation;
mod decisions;
mod holding;
mod late_payments;
mod open_quotes;
mod paying;
mod shop;
mod sources;
mod transitions;

use std::time::Duration;

use checkout::{CheckoutError, Complete, NewSession, ProofClaim, ReasonCode, Status, Update};
use jobs::IdempotencyKey;
use primitives::{ErrorCode, Problem};
use shop::{Shop, agent};

#[tokio::test]
async fn completing_holds_the_units_and_returns_the_checkout_url() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(at.status(), Status::RequiresEscalation);
    assert_eq!(at.session.total.minor(), 2_990);
    assert_eq!(at.session.quote_hash, cart.quote_hash);
    let url = format!("{}/attic/checkout/{}", shop::SITE, at.session.id);
    assert_eq!(at.session.checkout_url.as_deref(), Some(url.as_str()));
    assert_eq!(shop.stock_and_held(mug).await, (9, 2));
    let again = shop.complete(&owner, cart.cart.id).await.unwrap();
    assert_eq!(again.session, at.session, "completing again returns the same session");
    assert_eq!(shop.stock_and_held(mug).await, (9, 2));
    assert_eq!(shop.count("SELECT count(*) FROM agent_event").await, 1);
}

#[tokio::test]
async fn held_units_cannot_be_held_by_another_session() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 1)]).await;
    let mut carts = Vec::new();
    for number in 0..8 {
        let owner = agent(number);
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        carts.push((owner, cart.cart.id));
    }
    let tries = carts.iter().map(|(owner, cart)| shop.complete(owner, *cart));
    let mut sold = 0;
    for outcome in futures::future::join_all(tries).await {
        match outcome {
            Ok(_) => sold += 1,
            Err(error) => assert_eq!(error.code(), ErrorCode::OutOfStock, "{error}"),
        }
    }
    assert_eq!((sold, shop.stock_and_held(mug).await), (1, (1, 1)));
}

#[tokio::test]
async fn a_changed_price_is_reported_and_can_be_approved() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    shop.stock(&[("mug", "13.00", 9)]).await;
    let refused = shop.complete(&owner, cart.cart.id).await;
    let Err(CheckoutError::PriceChanged { changes, current }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!((changes[0].listed.minor(), changes[0].live.minor()), (1_250, 1_300));
    let claiming = |hash| Complete {
        claim: ProofClaim::new(None, None, Some(hash)).unwrap(),
        ..Complete::cart(cart.cart.id)
    };
    let seen = claiming(cart.quote_hash);
    let stale = checkout::complete(&shop.context(), &owner, &seen, None).await;
    assert!(matches!(stale, Err(CheckoutError::QuoteChanged { .. })));
    let approved = claiming(current);
    let at = checkout::complete(&shop.context(), &owner, &approved, None).await.unwrap();
    assert_eq!(at.session.total.minor(), 1_790);
}

#[tokio::test]
async fn a_store_below_the_threshold_sells_nothing_to_agents() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    shop.set_standing(0.69).await;
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert!(matches!(refused, CheckoutError::BelowThreshold));
    shop.set_standing(0.1).await;
    assert_eq!(
        shop.complete(&owner, cart.cart.id).await.unwrap_err().code(),
        ErrorCode::StoreSuspended
    );
    assert_eq!(shop.stock_and_held(mug).await, (9, 0));
}

#[tokio::test]
async fn missing_data_is_reported() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let (context, new) = (shop.context(), NewSession::default());
    let started = checkout::create(&context, &owner, cart.cart.id, &new, None).await.unwrap();
    assert_eq!(started.status(), Status::ReadyForComplete);
    assert_eq!(shop.stock_and_held(mug).await, (9, 0), "nothing is held yet");
    let to = cart.cart.destination.clone().unwrap();
    let abroad = carts::Destination { country: String::from("FR"), ..to.clone() };
    let id = started.session.id;
    let moved_to = |to: carts::Destination| Update {
        data: carts::CartUpdate { destination: Some(to), ..Default::default() },
        session: NewSession::default(),
    };
    let change = moved_to(abroad);
    let moved = checkout::update(&shop.context(), &owner, id, &change, None).await.unwrap();
    assert_eq!(moved.status(), Status::Incomplete);
    let refused = shop.complete(&owner, cart.cart.id).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CheckoutNotReady);
    let change = moved_to(to);
    let back = checkout::update(&shop.context(), &owner, id, &change, None).await.unwrap();
    assert_eq!(back.status(), Status::ReadyForComplete);
    assert_eq!(shop.complete(&owner, cart.cart.id).await.unwrap().session.id, id);
    let change = Update::default();
    let edited = checkout::update(&shop.context(), &owner, id, &change, None).await.unwrap();
    assert_eq!(edited.status(), Status::ReadyForComplete);
    assert_eq!(
        shop.stock_and_held(mug).await,
        (9, 0),
        "a changed session has to be completed again"
    );
}

#[tokio::test]
async fn a_canceled_or_expired_session_releases_its_units_and_publishes_one_event() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let mut sessions = Vec::new();
    for _ in 0..3 {
        let cart = shop.cart(&owner, &[(mug, 1)]).await;
        sessions.push(shop.complete(&owner, cart.cart.id).await.unwrap().session.id);
    }
    assert_eq!(shop.stock_and_held(mug).await, (9, 3));
    for _ in 0..2 {
        let reason = ReasonCode::new("shipping_cost").unwrap();
        let canceled =
            checkout::cancel(&shop.context(), &owner, sessions[0], Some(&reason), None).await;
        assert_eq!(canceled.unwrap().status(), Status::Canceled);
    }
    assert_eq!(shop.stock_and_held(mug).await, (9, 2));
    shop.advance(checkout::SESSION_LIFETIME + Duration::from_mins(1));
    for _ in 0..2 {
        shop.run::<checkout::ExpireSessions>(()).await;
    }
    assert_eq!(shop.stock_and_held(mug).await, (9, 0));
    let published = "SELECT count(*) FROM webhook_event WHERE kind = 'checkout.abandoned'";
    assert_eq!(shop.count(published).await, 3);
    let late =
        checkout::session(&shop.reading(), shop.store.merchant, sessions[1], None).await.unwrap();
    assert_eq!(late.session.stored_status(), Status::Expired);
    assert_eq!(shop.count("SELECT count(*) FROM cart WHERE status = 'expired'").await, 2);
}

#[tokio::test]
async fn the_abandoned_event_has_the_recovery_url() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let template = "https://attic.example/cart?add={items}&ref={checkout_id}";
    let known = merchants::settings(&shop.reading(), shop.store.merchant).await.unwrap().settings;
    for (template, expected) in
        [(None, None), (Some(template), Some("https://attic.example/cart?add=mug:2&ref="))]
    {
        let checkout_url = template.map(|template| template.parse().unwrap());
        shop.put_settings(&merchants::Settings { checkout_url, ..known.clone() }).await;
        let cart = shop.cart(&owner, &[(mug, 2)]).await;
        let id = shop.complete(&owner, cart.cart.id).await.unwrap().session.id;
        checkout::cancel(&shop.context(), &owner, id, None, None).await.unwrap();
        let url = "SELECT convert_from(webhook_body.body, 'UTF8')::jsonb ->> 'recoveryUrl'
                   FROM webhook_event JOIN webhook_body USING (merchant_id, event_id) WHERE subject = $1";
        let url: Option<String> =
            sqlx::query_scalar(url).bind(id).fetch_one(&mut shop.test.raw().await).await.unwrap();
        assert_eq!(url.as_deref(), expected);
    }
}

#[tokio::test]
async fn an_idempotency_key_is_bound_to_one_request() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 1)]).await;
    let key = |hash: u8| IdempotencyKey {
        merchant: shop.store.merchant,
        caller: String::from("key"),
        key: String::from("one"),
        request_hash: vec![hash],
    };
    let (first, other) = (key(1), key(2));
    let (context, request) = (shop.context(), Complete::cart(cart.cart.id));
    let all = (0..5).map(|_| checkout::complete(&context, &owner, &request, Some(&first)));
    let all = futures::future::join_all(all).await;
    let ids: Vec<_> = all.into_iter().map(|at| at.unwrap().session.id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]));
    assert_eq!(shop.stock_and_held(mug).await, (9, 1));
    let conflict = checkout::complete(&context, &owner, &request, Some(&other)).await.unwrap_err();
    assert_eq!(conflict.code(), ErrorCode::IdempotencyConflict);
}

#[tokio::test]
async fn a_rejected_request_stores_no_idempotency_key() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 5)]).await;
    shop.stock(&[("mug", "12.50", 1)]).await;
    let key = IdempotencyKey {
        merchant: shop.store.merchant,
        caller: String::from("key"),
        key: String::from("one"),
        request_hash: vec![1],
    };
    let (context, request) = (shop.context(), Complete::cart(cart.cart.id));
    let refused = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::OutOfStock);
    shop.stock(&[("mug", "12.50", 9)]).await;
    assert!(checkout::complete(&context, &owner, &request, Some(&key)).await.is_ok());
}

#[tokio::test]
async fn carts_with_lines_in_opposite_order_do_not_deadlock() {
    let shop = Shop::open().await;
    let [mug, pot] = shop.stock(&[("mug", "1.00", 400), ("pot", "2.00", 400)]).await;
    let mut carts = Vec::new();
    for number in 0..12_u128 {
        let owner = agent(number);
        let items = if number % 2 == 0 { [(mug, 1), (pot, 1)] } else { [(pot, 1), (mug, 1)] };
        let cart = shop.cart(&owner, &items).await;
        carts.push((owner, cart.cart.id));
    }
    let tries = carts.iter().map(|(owner, cart)| shop.complete(owner, *cart));
    for outcome in futures::future::join_all(tries).await {
        outcome.unwrap();
    }
    assert_eq!(
        (shop.stock_and_held(mug).await, shop.stock_and_held(pot).await),
        ((400, 12), (400, 12))
    );
}

#[tokio::test]
async fn a_stock_update_neither_loses_nor_duplicates_a_hold() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let owner = agent(1);
    let cart = shop.cart(&owner, &[(mug, 2)]).await;
    let at = shop.complete(&owner, cart.cart.id).await.unwrap();
    shop.stock(&[("mug", "12.50", 20)]).await;
    assert_eq!(shop.stock_and_held(mug).await, (20, 2));
    checkout::cancel(&shop.context(), &owner, at.session.id, None, None).await.unwrap();
    assert_eq!(shop.stock_and_held(mug).await, (20, 0));
}
