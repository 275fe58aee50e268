//! What a checkout can start from: a cart, a session, or items of a store.

use carts::{CartError, CartUpdate, Destination, Item, Quantity};
use checkout::{CheckoutError, Complete, NewSession, Source, Status};
use jobs::IdempotencyKey;
use primitives::{ErrorCode, Problem, ProductId};

use crate::shop::{Shop, agent};

const CARTS: &str = "SELECT count(*) FROM cart";

fn items(product: ProductId) -> Source {
    Source::Items(vec![Item { product, variant: None, quantity: Quantity::ONE }])
}

fn to(country: &str) -> CartUpdate {
    let destination = Destination { country: country.to_owned(), ..Destination::default() };
    CartUpdate { destination: Some(destination), ..CartUpdate::default() }
}

#[tokio::test]
async fn items_become_a_cart_with_the_cheapest_shipping_option() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let request = Complete { data: to("DE"), ..Complete::new(items(mug)) };
    let key = IdempotencyKey {
        merchant: shop.store.merchant,
        caller: String::from("key"),
        key: String::from("one"),
        request_hash: vec![1],
    };
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
