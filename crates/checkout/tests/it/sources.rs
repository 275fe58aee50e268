//! What a checkout can start from: a cart, a session, or items of a store.

use carts::{CartError, CartUpdate, Destination, Item, Quantity};
use checkout::{CheckoutError, Complete, Decision, NewSession, ProofClaim, Source, Status, Update};
use jobs::IdempotencyKey;
use merchants::ConfirmationPolicy;
use payments::TestInstrument;
use primitives::{ErrorCode, Problem, ProductId};
use sqlx::Connection;

use crate::shop::{Shop, agent, visitor};

const CARTS: &str = "SELECT count(*) FROM cart";

fn items(product: ProductId) -> Source {
    Source::Items(vec![Item { product, variant: None, quantity: Quantity::ONE }])
}

fn to(country: &str) -> CartUpdate {
    let destination = Destination { country: country.to_owned(), ..Destination::default() };
    CartUpdate { destination: Some(destination), ..CartUpdate::default() }
}

fn key(shop: &Shop) -> IdempotencyKey {
    IdempotencyKey {
        merchant: shop.store.merchant,
        caller: String::from("key"),
        key: String::from("one"),
        request_hash: vec![1],
    }
}

#[tokio::test]
async fn items_become_a_cart_with_the_cheapest_shipping_option() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let request = Complete { data: to("DE"), ..Complete::new(items(mug)) };
    let key = key(&shop);
    let (context, owner) = (shop.context(), agent(1));
    let first = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap();
    assert_eq!(first.status(), Status::RequiresEscalation);
    assert_eq!(first.session.total.minor(), 1_250 + 490);
    let again = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap();
    assert_eq!((again.session.id, shop.count(CARTS).await), (first.session.id, 1));
    let data = CartUpdate { shipping_option: Some(String::from("pigeon")), ..to("DE") };
    let request = Complete { data, ..Complete::new(items(mug)) };
    let refused = checkout::complete(&context, &owner, &request, None).await;
    let not_offered =
        CheckoutError::Cart(CartError::ShippingOptionNotFound { allowed: Vec::new() });
    assert_eq!(refused.unwrap_err().code(), not_offered.code());
    assert_eq!(shop.count(CARTS).await, 1, "a rejected cart is not stored");
    let request = Complete::new(items(mug));
    let open = checkout::complete(&context, &owner, &request, None).await.unwrap();
    assert!(open.session.terms.needs_destination(), "the person enters the address");
}

#[tokio::test]
async fn data_is_set_until_a_person_can_pay() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let cart = shop.cart(&owner, &[(mug, 1)]).await.cart.id;
    let abroad = Complete { data: to("FR"), ..Complete::cart(cart) };
    let refused = checkout::complete(&context, &owner, &abroad, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CheckoutNotReady, "the store does not ship there");
    let home = Complete { data: to("DE"), ..Complete::cart(cart) };
    let completed = checkout::complete(&context, &owner, &home, None).await.unwrap();
    assert_eq!(completed.status(), Status::RequiresEscalation);
    let late = checkout::complete(&context, &owner, &abroad, None).await.unwrap();
    assert_eq!(late.session, completed.session, "the same session is returned");
}

#[tokio::test]
async fn a_session_of_another_agent_cannot_be_completed() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let cart = shop.cart(&agent(1), &[(mug, 1)]).await.cart.id;
    let new = NewSession::default();
    let at = checkout::create(&shop.context(), &agent(1), cart, &new, None).await.unwrap();
    for source in [Source::Session(at.session.id), Source::Cart(cart)] {
        let request = Complete::new(source);
        let refused = checkout::complete(&shop.context(), &agent(2), &request, None).await;
        assert_eq!(refused.unwrap_err().code().status(), 404);
    }
}

#[tokio::test]
async fn data_reaches_a_session_that_nobody_can_pay_yet() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let cart = shop.open_cart(&owner, mug, 1).await.cart.id;
    checkout::create(&context, &owner, cart, &NewSession::default(), None).await.unwrap();
    let abroad = Complete { data: to("FR"), ..Complete::cart(cart) };
    let refused = checkout::complete(&context, &owner, &abroad, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CheckoutNotReady, "the store does not ship there");
    let request = Complete { data: to("DE"), ..Complete::cart(cart) };
    let completed = checkout::complete(&context, &owner, &request, None).await.unwrap();
    assert_eq!(completed.session.total.minor(), 1_250 + 490);
    let again = checkout::complete(&context, &owner, &abroad, None).await.unwrap();
    assert_eq!(again.session.terms.destination.unwrap().country, "DE", "a person can pay");
}

#[tokio::test]
async fn data_has_no_effect_after_a_declined_payment() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let cart = shop.cart(&owner, &[(mug, 1)]).await.cart.id;
    let at = shop.complete(&owner, cart).await.unwrap();
    let failed = shop.pay(&at, TestInstrument::Declines).await.unwrap();
    assert_eq!((failed.status(), failed.session.is_holding), (Status::ReadyForComplete, true));
    let abroad = Complete { data: to("FR"), ..Complete::cart(cart) };
    // A completion that is rejected leaves the session as it was.
    shop.stock(&[("mug", "13.00", 9)]).await;
    let refused = checkout::complete(&context, &owner, &abroad, None).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::PriceChanged);
    let merchant = shop.store.merchant;
    let kept = checkout::session(&shop.reading(), merchant, at.session.id, None).await.unwrap();
    assert_eq!(kept.session, failed.session, "the person can still pay");
    assert_eq!(shop.stock_and_held(mug).await, (9, 1));
    shop.stock(&[("mug", "12.50", 9)]).await;
    let again = checkout::complete(&context, &owner, &abroad, None).await.unwrap();
    assert_eq!(again.status(), Status::RequiresEscalation);
    assert_eq!(again.session.terms.destination, at.session.terms.destination);
}

#[tokio::test]
async fn a_replay_sets_no_data() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner, key) = (shop.context(), agent(1), key(&shop));
    let cart = shop.open_cart(&owner, mug, 1).await.cart.id;
    let request = Complete { data: to("DE"), ..Complete::cart(cart) };
    let at = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap();
    let change = Update { data: to("FR"), ..Update::default() };
    let id = at.session.id;
    let changed = checkout::update(&context, &owner, id, &change, None).await.unwrap();
    let replay = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap();
    assert_eq!(replay.session, changed.session);
    let priced = carts::cart(&shop.reading(), &shop.store, cart, None).await.unwrap();
    assert_eq!(priced.cart.destination.unwrap().country, "FR", "the later change stays");
    checkout::cancel(&context, &owner, id, None, None).await.unwrap();
    let replay = checkout::complete(&context, &owner, &request, Some(&key)).await.unwrap();
    assert_eq!((replay.session.id, replay.status()), (id, Status::Canceled));
}

#[tokio::test]
async fn data_does_not_end_a_completion_that_is_in_progress() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let cart = shop.cart(&owner, &[(mug, 1)]).await.cart.id;
    checkout::create(&context, &owner, cart, &NewSession::default(), None).await.unwrap();
    let mut raw = shop.test.raw().await;
    let mut lock = raw.begin().await.unwrap();
    sqlx::query("SELECT FROM product FOR UPDATE").execute(&mut *lock).await.unwrap();
    // The first completion waits for the product, and the second for the first.
    let first = shop.complete(&owner, cart);
    let second = async {
        shop.wait_for_blocked(1).await;
        let abroad = Complete { data: to("FR"), ..Complete::cart(cart) };
        checkout::complete(&context, &owner, &abroad, None).await
    };
    let release = async {
        shop.wait_for_blocked(2).await;
        lock.commit().await.unwrap();
    };
    let (first, second, ()) = futures::join!(first, Box::pin(second), release);
    assert_eq!(second.unwrap().session, first.unwrap().session, "the same session is returned");
    assert_eq!(shop.stock_and_held(mug).await, (9, 1));
}

#[tokio::test]
async fn a_rejected_completion_keeps_the_data_of_a_session() {
    let shop = Shop::with_policy(ConfirmationPolicy::Hosted).await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (context, owner) = (shop.context(), agent(1));
    let cart = shop.open_cart(&owner, mug, 1).await.cart.id;
    checkout::create(&context, &owner, cart, &NewSession::default(), None).await.unwrap();
    let request = Complete { data: to("DE"), ..Complete::cart(cart) };
    let refused = checkout::complete(&context, &owner, &request, None).await.unwrap_err();
    let CheckoutError::ConfirmationRequired { requested: Some(asked), .. } = refused else {
        panic!("{refused:?}")
    };
    let asked = asked.confirmation;
    let (token, hash) = (asked.form_token, asked.quote_hash);
    checkout::decide(&context, asked.id, Decision::Approve, &token, hash, visitor()).await.unwrap();
    let claim = ProofClaim::new(None, Some(asked.id), None).unwrap();
    let confirmed = Complete { claim, ..Complete::cart(cart) };
    let at = checkout::complete(&context, &owner, &confirmed, None).await.unwrap();
    assert_eq!((at.status(), at.session.quote_hash), (Status::RequiresEscalation, hash));
}
