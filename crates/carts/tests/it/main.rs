//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod shop;
mod validation;

use std::time::Duration;

use carts::{
    CartError, CartRef, CartStatus, Destination, Edit, Item, NewCart, PricedCart, Quantity,
};
use jobs::IdempotencyKey;
use primitives::{CartId, Id, KeyId, LineId, ProductId};
use shop::{Shop, agent};

fn item(product: ProductId, quantity: i64) -> Item {
    Item { product, variant: None, quantity: Quantity::new(quantity).unwrap() }
}

fn germany() -> Destination {
    let (region, postal_code, city, street, name) = (None, None, None, None, None);
    Destination { country: String::from("DE"), region, postal_code, city, street, name }
}

#[tokio::test]
async fn a_cart_is_created_read_and_changed() {
    let shop = Shop::open().await;
    let [mug, bowl] = shop.stock(&[("mug", "12.50", 9), ("bowl", "20.00", 9)]).await;
    let created = shop.create(&[item(mug, 2)]).await.unwrap();
    assert_eq!((created.cart.version, created.quote.total_minor), (1, 2_500));
    assert_eq!(created.cart.status(created.now), CartStatus::Active);
    let read = shop.read(created.cart.id).await.unwrap();
    assert_eq!((&read.cart, &read.quote), (&created.cart, &created.quote));
    let added = shop.change(&created, Edit::Add(vec![item(bowl, 1), item(mug, 1)])).await.unwrap();
    assert_eq!(
        (added.cart.version, added.cart.lines.len(), added.quote.total_minor),
        (2, 2, 5_750)
    );
    assert_eq!(
        added.cart.lines[0].id, created.cart.lines[0].id,
        "an item that is added again has the same line"
    );
    let removed = shop.change(&created, Edit::Remove(vec![added.cart.lines[0].id])).await.unwrap();
    assert_eq!(removed.quote.total_minor, 2_000);
    let replaced = shop.change(&created, Edit::Replace(vec![item(mug, 1)])).await.unwrap();
    assert_eq!((replaced.cart.lines.len(), replaced.quote.total_minor), (1, 1_250));
    let unknown = shop.change(&created, Edit::Remove(vec![LineId::from_random(7)])).await;
    assert!(matches!(unknown, Err(CartError::LineNotFound)));
    assert_eq!(shop.read(created.cart.id).await.unwrap().cart, replaced.cart);
}

#[tokio::test]
async fn a_shipping_option_must_be_offered_by_the_store() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    let with_destination = shop.change(&created, Edit::Destination(germany())).await.unwrap();
    assert!(with_destination.quote.is_ready(), "the cheapest option counts");
    let unknown = shop.change(&created, Edit::Shipping(String::from("ship_nowhere"))).await;
    let Err(CartError::ShippingOptionNotFound { allowed }) = unknown else { panic!("{unknown:?}") };
    let ready = shop.change(&created, Edit::Shipping(allowed[0].clone())).await.unwrap();
    assert!(ready.quote.is_ready());
    assert_eq!((ready.quote.shipping_minor, ready.quote.total_minor), (Some(490), 1_740));
}

#[tokio::test]
async fn stock_is_checked_and_adjusted_quantities_are_reported() {
    let shop = Shop::open().await;
    let [few, none] = shop.stock(&[("few", "1.00", 3), ("none", "1.00", 0)]).await;
    let created = shop.create(&[item(few, 5)]).await.unwrap();
    assert_eq!(created.quote.lines[0].quantity, 3);
    assert_eq!(created.quote.messages[0].code.as_str(), "quantity_adjusted");
    assert!(matches!(shop.create(&[item(none, 1)]).await, Err(CartError::OutOfStock { index: 0 })));
    let missing = ProductId::from_random(77);
    let unknown = shop.create(&[item(few, 1), item(missing, 1)]).await;
    assert!(matches!(unknown, Err(CartError::ProductNotFound { index: 1 })));
    assert!(matches!(shop.create(&[]).await, Err(CartError::NoItems)));
}

#[tokio::test]
async fn a_cart_expires_after_its_lifetime() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    shop.test.clock().advance(carts::CART_LIFETIME.checked_sub(Duration::from_mins(10)).unwrap());
    shop.change(&created, Edit::Add(vec![item(mug, 1)])).await.unwrap();
    shop.test.clock().advance(Duration::from_mins(10));
    shop.change(&created, Edit::Add(vec![item(mug, 1)])).await.unwrap();
    shop.test.clock().advance(Duration::from_micros(1));
    let late = shop.change(&created, Edit::Add(vec![item(mug, 1)])).await;
    assert!(matches!(late, Err(CartError::Expired { .. })));
    let read = shop.read(created.cart.id).await.unwrap();
    assert_eq!(read.cart.status(read.now), CartStatus::Expired);
}

#[tokio::test]
async fn the_cart_of_another_agent_is_not_found() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, store) = (shop.test.database(), &shop.store);
    let other = KeyId::from_random(2);
    let foreign = CartRef { agent: other, id: created.cart.id };
    let changed = carts::change(database, store, foreign, None, &[Edit::Cancel], None).await;
    assert!(matches!(changed, Err(CartError::NotFound)));
    let read = carts::cart(&shop.reading(), store, created.cart.id, Some(other)).await;
    assert!(matches!(read, Err(CartError::NotFound)));
    let unknown = shop.read(CartId::from_random(9)).await;
    assert!(matches!(unknown, Err(CartError::NotFound)));
    let preview = carts::cart(&shop.reading(), store, created.cart.id, None).await.unwrap();
    assert_eq!(preview.quote, created.quote, "any caller that has the id can read the price");
}

#[tokio::test]
async fn concurrent_changes_all_apply_and_a_stale_version_is_a_conflict() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 500)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, store, id) = (shop.test.database(), &shop.store, created.cart.id);
    let edit = [Edit::Add(vec![item(mug, 1)])];
    let cart = CartRef { agent: agent().key, id };
    let (one, two, three) = tokio::join!(
        carts::change(database, store, cart, None, &edit, None),
        carts::change(database, store, cart, None, &edit, None),
        carts::change(database, store, cart, None, &edit, None),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    let read = shop.read(id).await.unwrap();
    assert_eq!((read.cart.version, read.quote.lines[0].quantity), (4, 4));
    let stale = carts::change(database, store, cart, Some(3), &edit, None).await;
    assert!(matches!(stale, Err(CartError::VersionConflict { current: 4 })));
    assert!(carts::change(database, store, cart, Some(4), &edit, None).await.is_ok());
}

#[tokio::test]
async fn a_canceled_cart_stays_canceled() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    let PricedCart { cart, now, .. } = shop.change(&created, Edit::Cancel).await.unwrap();
    assert_eq!((cart.status(now), cart.version), (CartStatus::Canceled, 2));
    assert_eq!(shop.change(&created, Edit::Cancel).await.unwrap().cart.version, 2);
    let closed = shop.change(&created, Edit::Add(vec![item(mug, 1)])).await;
    assert!(matches!(closed, Err(CartError::Closed { status: CartStatus::Canceled })));
}

#[tokio::test]
async fn a_changed_price_is_reported_and_applies() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 2)]).await.unwrap();
    shop.stock(&[("mug", "15.00", 9)]).await;
    let read = shop.read(created.cart.id).await.unwrap();
    assert_eq!(read.quote.total_minor, 3_000);
    assert_eq!(read.quote.messages[0].code.as_str(), "price_changed");
}

#[tokio::test]
async fn a_write_with_an_idempotency_key_is_executed_once() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 500)]).await;
    let (database, store) = (shop.test.database(), &shop.store);
    let key = |name: &str, hash: u8| IdempotencyKey {
        merchant: store.merchant,
        caller: String::from("key_1"),
        key: name.to_owned(),
        request_hash: vec![hash],
    };
    let new = || NewCart { items: vec![item(mug, 1)], ..NewCart::default() };
    let (first, owner) = (key("create", 1), agent());
    let (one, two) = tokio::join!(
        carts::create(database, store, &owner, new(), Some(&first)),
        carts::create(database, store, &owner, new(), Some(&first)),
    );
    let id = one.unwrap().cart.id;
    assert_eq!(two.unwrap().cart.id, id);
    let other = carts::create(database, store, &owner, new(), Some(&key("create", 2))).await;
    assert!(matches!(other, Err(CartError::Idempotency(_))));
    let (edit, add) = ([Edit::Add(vec![item(mug, 1)])], key("add", 1));
    let cart = CartRef { agent: owner.key, id };
    for _ in 0..3 {
        let changed = carts::change(database, store, cart, None, &edit, Some(&add)).await.unwrap();
        assert_eq!((changed.cart.version, changed.quote.lines[0].quantity), (2, 2));
    }
    let cancel = key("cancel", 1);
    let canceled = carts::change(database, store, cart, None, &[Edit::Cancel], Some(&cancel)).await;
    assert_eq!(canceled.unwrap().cart.version, 3);
    let again = carts::change(database, store, cart, None, &edit, Some(&add)).await.unwrap();
    assert_eq!(again.cart.version, 3, "a replay succeeds even if the change would be rejected now");
}
