//! What doors ask for beside making and changing carts.

use carts::{Buyer, CartError, Destination, Edit, NewCart, Opens};
use primitives::{CartId, Id, KeyId};

use crate::shop::{Shop, agent};
use crate::{germany, item};

#[tokio::test]
async fn what_is_typed_is_checked_and_kept_plain() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let typed = Destination {
        country: String::from("de"),
        city: Some(String::from(" K\u{200b}öln ")),
        ..Destination::default()
    };
    let new = NewCart {
        items: vec![item(mug, 1)],
        destination: Some(typed.clone()),
        codes: vec![String::from(" ONE "), String::from("one")],
        ..NewCart::default()
    };
    let (database, store) = (shop.test.database(), &shop.store);
    let made = carts::create(database, store, &agent(), new, None).await.unwrap();
    let kept = made.cart.destination.as_ref().unwrap();
    assert_eq!((kept.country.as_str(), kept.city.as_deref()), ("DE", Some("Köln")));
    assert_eq!(made.cart.codes, ["ONE"]);
    let country = Destination { country: String::from("Germany"), ..typed.clone() };
    let refused = shop.change(&made, Edit::Destination(country)).await;
    assert!(matches!(refused, Err(CartError::InvalidCountry)));
    let long = Destination { street: Some("x".repeat(201)), ..typed };
    let refused = shop.change(&made, Edit::Destination(long)).await;
    assert!(matches!(refused, Err(CartError::InvalidText { field: "street", .. })));
    let buyer = Buyer { email: Some(String::from("nobody")), ..Buyer::default() };
    let refused = shop.change(&made, Edit::Buyer(buyer)).await;
    assert!(matches!(refused, Err(CartError::InvalidEmail)));
    let many = (0..6).map(|number| number.to_string()).collect();
    let refused = shop.change(&made, Edit::Codes(many)).await;
    assert!(matches!(refused, Err(CartError::TooManyCodes)));
    let none = shop.change(&made, Edit::Codes(Vec::new())).await.unwrap();
    assert!(none.cart.codes.is_empty());
}

#[tokio::test]
async fn the_store_of_a_cart_is_found_by_its_agent_alone() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let made = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, id) = (shop.test.database(), made.cart.id);
    assert_eq!(carts::owner(database, id, agent().key).await.unwrap(), shop.store.merchant);
    for (id, agent) in [(id, KeyId::from_random(2)), (CartId::from_random(9), agent().key)] {
        assert!(matches!(carts::owner(database, id, agent).await, Err(CartError::NotFound)));
    }
}

#[tokio::test]
async fn an_estimate_costs_what_a_cart_would_and_keeps_nothing() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (reading, store, wanted) = (shop.reading(), &shop.store, [item(mug, 2)]);
    let quote = carts::estimate(&reading, store, &wanted, Some(germany())).await.unwrap();
    assert_eq!((quote.total_minor, quote.options.len(), quote.is_served()), (2_500, 1, true));
    let made = shop.create(&wanted).await.unwrap();
    let sent = carts::estimate_cart(&reading, store, made, germany()).await.unwrap();
    assert_eq!((sent.total_minor, &sent.options), (quote.total_minor, &quote.options));
    let far = Destination { country: String::from("JP"), ..germany() };
    let far = carts::estimate(&reading, store, &wanted, Some(far)).await.unwrap();
    assert!(!far.is_served());
    let link = carts::permalink(&reading, store, &quote, "https://souk.test").await.unwrap();
    assert_eq!(link.opens, Opens::Summary);
    assert_eq!(link.url, format!("https://souk.test/api/v1/stores/attic/basket?items={mug}:2"));
    let mut raw = shop.test.raw().await;
    let carts = "SELECT count(*) FROM cart";
    let carts: i64 = sqlx::query_scalar(carts).fetch_one(&mut raw).await.unwrap();
    assert_eq!(carts, 1, "only the one that was made");
}
