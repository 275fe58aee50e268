//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod doors;
mod shop;

use std::time::Duration;

use carts::{CartError, CartStatus, Destination, Edit, Item, NewCart, Priced, Quantity};
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
async fn a_cart_is_made_read_and_changed() {
    let shop = Shop::open().await;
    let [mug, bowl] = shop.stock(&[("mug", "12.50", 9), ("bowl", "20.00", 9)]).await;
    let made = shop.create(&[item(mug, 2)]).await.unwrap();
    assert_eq!((made.cart.version, made.quote.total_minor), (1, 2_500));
    assert_eq!(made.cart.status(made.now), CartStatus::Active);
    let read = shop.read(made.cart.id).await.unwrap();
    assert_eq!((&read.cart, &read.quote), (&made.cart, &made.quote));
    let added = shop.change(&made, Edit::Add(vec![item(bowl, 1), item(mug, 1)])).await.unwrap();
    assert_eq!(
        (added.cart.version, added.cart.lines.len(), added.quote.total_minor),
        (2, 2, 5_750)
    );
    assert_eq!(added.cart.lines[0].id, made.cart.lines[0].id, "more of a line is the same line");
    let removed = shop.change(&made, Edit::Remove(vec![added.cart.lines[0].id])).await.unwrap();
    assert_eq!(removed.quote.total_minor, 2_000);
    let replaced = shop.change(&made, Edit::Replace(vec![item(mug, 1)])).await.unwrap();
    assert_eq!((replaced.cart.lines.len(), replaced.quote.total_minor), (1, 1_250));
    let unknown = shop.change(&made, Edit::Remove(vec![LineId::from_random(7)])).await;
    assert!(matches!(unknown, Err(CartError::LineNotFound)));
    assert_eq!(shop.read(made.cart.id).await.unwrap().cart, replaced.cart);
}

#[tokio::test]
async fn a_way_there_is_one_that_the_store_has() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    let there = shop.change(&made, Edit::Destination(germany())).await.unwrap();
    assert_eq!(there.quote.missing, ["$.selected_shipping_option_id"]);
    let wrong = shop.change(&made, Edit::Shipping(String::from("ship_nowhere"))).await;
    let Err(CartError::ShippingOptionNotFound { allowed }) = wrong else { panic!("{wrong:?}") };
    let ready = shop.change(&made, Edit::Shipping(allowed[0].clone())).await.unwrap();
    assert!(ready.quote.is_ready());
    assert_eq!((ready.quote.shipping_minor, ready.quote.total_minor), (Some(490), 1_740));
}

#[tokio::test]
async fn stock_is_looked_at_and_what_was_adjusted_is_said() {
    let shop = Shop::open().await;
    let [few, none] = shop.stock(&[("few", "1.00", 3), ("none", "1.00", 0)]).await;
    let made = shop.create(&[item(few, 5)]).await.unwrap();
    assert_eq!(made.quote.lines[0].quantity, 3);
    assert_eq!(made.quote.messages[0].code.name(), "quantity_adjusted");
    assert!(matches!(shop.create(&[item(none, 1)]).await, Err(CartError::OutOfStock { place: 0 })));
    let nobody = ProductId::from_random(77);
    let unknown = shop.create(&[item(few, 1), item(nobody, 1)]).await;
    assert!(matches!(unknown, Err(CartError::ProductNotFound { place: 1 })));
    assert!(matches!(shop.create(&[]).await, Err(CartError::NoItems)));
}

#[tokio::test]
async fn a_cart_can_be_used_for_thirty_minutes_from_its_creation() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    shop.test.clock().advance(Duration::from_mins(20));
    shop.change(&made, Edit::Add(vec![item(mug, 1)])).await.unwrap();
    shop.test.clock().advance(Duration::from_mins(10));
    shop.change(&made, Edit::Add(vec![item(mug, 1)])).await.unwrap();
    shop.test.clock().advance(Duration::from_micros(1));
    let late = shop.change(&made, Edit::Add(vec![item(mug, 1)])).await;
    assert!(matches!(late, Err(CartError::Expired { .. })));
    let read = shop.read(made.cart.id).await.unwrap();
    assert_eq!(read.cart.status(read.now), CartStatus::Expired);
}

#[tokio::test]
async fn somebody_elses_cart_does_not_exist() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, store) = (shop.test.database(), &shop.store);
    let other = KeyId::from_random(2);
    let touched =
        carts::change(database, store, (other, made.cart.id), None, &[Edit::Cancel], None).await;
    assert!(matches!(touched, Err(CartError::NotFound)));
    let read = carts::cart(&shop.reading(), store, made.cart.id, Some(other)).await;
    assert!(matches!(read, Err(CartError::NotFound)));
    let unknown = shop.read(CartId::from_random(9)).await;
    assert!(matches!(unknown, Err(CartError::NotFound)));
    let anybody = carts::cart(&shop.reading(), store, made.cart.id, None).await.unwrap();
    assert_eq!(anybody.quote, made.quote, "who knows the id may look at what it costs");
}

#[tokio::test]
async fn changes_at_once_all_count_and_a_version_that_moved_is_told() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "1.00", 500)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, store, id) = (shop.test.database(), &shop.store, made.cart.id);
    let (edit, who) = ([Edit::Add(vec![item(mug, 1)])], (agent().key, id));
    let (one, two, three) = tokio::join!(
        carts::change(database, store, who, None, &edit, None),
        carts::change(database, store, who, None, &edit, None),
        carts::change(database, store, who, None, &edit, None),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    let read = shop.read(id).await.unwrap();
    assert_eq!((read.cart.version, read.quote.lines[0].quantity), (4, 4));
    let stale = carts::change(database, store, who, Some(3), &edit, None).await;
    assert!(matches!(stale, Err(CartError::VersionMoved { current: 4 })));
    assert!(carts::change(database, store, who, Some(4), &edit, None).await.is_ok());
}

#[tokio::test]
async fn a_cart_that_was_thrown_away_stays_so() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    let Priced { cart, now, .. } = shop.change(&made, Edit::Cancel).await.unwrap();
    assert_eq!((cart.status(now), cart.version), (CartStatus::Canceled, 2));
    assert_eq!(shop.change(&made, Edit::Cancel).await.unwrap().cart.version, 2);
    let closed = shop.change(&made, Edit::Add(vec![item(mug, 1)])).await;
    assert!(matches!(closed, Err(CartError::Closed { status: CartStatus::Canceled })));
}

#[tokio::test]
async fn a_price_that_moved_is_said_and_counts() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 2)]).await.unwrap();
    shop.stock(&[("mug", "15.00", 9)]).await;
    let read = shop.read(made.cart.id).await.unwrap();
    assert_eq!(read.quote.total_minor, 3_000);
    assert_eq!(read.quote.messages[0].code.name(), "price_changed");
}

#[tokio::test]
async fn what_is_asked_for_with_a_key_is_done_once() {
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
    let (make, owner) = (key("make", 1), agent());
    let (one, two) = tokio::join!(
        carts::create(database, store, &owner, new(), Some(&make)),
        carts::create(database, store, &owner, new(), Some(&make)),
    );
    let id = one.unwrap().cart.id;
    assert_eq!(two.unwrap().cart.id, id);
    let other = carts::create(database, store, &owner, new(), Some(&key("make", 2))).await;
    assert!(matches!(other, Err(CartError::Idempotency(_))));
    let (edit, who, add) = ([Edit::Add(vec![item(mug, 1)])], (owner.key, id), key("add", 1));
    for _ in 0..3 {
        let changed = carts::change(database, store, who, None, &edit, Some(&add)).await.unwrap();
        assert_eq!((changed.cart.version, changed.quote.lines[0].quantity), (2, 2));
    }
    let cancel = key("cancel", 1);
    let thrown = carts::change(database, store, who, None, &[Edit::Cancel], Some(&cancel)).await;
    assert_eq!(thrown.unwrap().cart.version, 3);
    let again = carts::change(database, store, who, None, &edit, Some(&add)).await.unwrap();
    assert_eq!(
        again.cart.version, 3,
        "what was done before is answered, also when it could not be done now"
    );
}
