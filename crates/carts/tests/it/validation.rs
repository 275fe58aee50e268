//! Validation of caller text, and reads beside the cart itself.

use carts::{Buyer, CartError, Destination, Edit, NewCart, PermalinkTarget};
use primitives::{CartId, Id, KeyId};

use crate::shop::{Shop, agent};
use crate::{germany, item};

#[tokio::test]
async fn caller_text_is_validated_and_normalized() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let entered = Destination {
        country: String::from("de"),
        city: Some(String::from(" K\u{200b}öln ")),
        ..Destination::default()
    };
    let new = NewCart {
        items: vec![item(mug, 1)],
        destination: Some(entered.clone()),
        codes: vec![String::from(" ONE "), String::from("one")],
        ..NewCart::default()
    };
    let (database, store) = (shop.test.database(), &shop.store);
    let created = carts::create(database, store, &agent(), new, None).await.unwrap();
    let stored = created.cart.destination.as_ref().unwrap();
    assert_eq!((stored.country.as_str(), stored.city.as_deref()), ("DE", Some("Köln")));
    assert_eq!(created.cart.codes, ["ONE"]);
    let country = Destination { country: String::from("Germany"), ..entered.clone() };
    let refused = shop.change(&created, Edit::Destination(country)).await;
    assert!(matches!(refused, Err(CartError::InvalidCountry { .. })));
    let long = Destination { street: Some("x".repeat(201)), ..entered };
    let refused = shop.change(&created, Edit::Destination(long)).await;
    assert!(matches!(refused, Err(CartError::InvalidText { field: "destination.street", .. })));
    let buyer = Buyer { email: Some(String::from("invalid")), ..Buyer::default() };
    let refused = shop.change(&created, Edit::Buyer(buyer)).await;
    assert!(matches!(refused, Err(CartError::InvalidEmail)));
    let many = (0..6).map(|number| number.to_string()).collect();
    let refused = shop.change(&created, Edit::Codes(many)).await;
    assert!(matches!(refused, Err(CartError::TooManyCodes)));
    let none = shop.change(&created, Edit::Codes(Vec::new())).await.unwrap();
    assert!(none.cart.codes.is_empty());
}

#[tokio::test]
async fn only_the_owning_agent_finds_the_merchant_of_a_cart() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let created = shop.create(&[item(mug, 1)]).await.unwrap();
    let (database, id) = (shop.test.database(), created.cart.id);
    assert_eq!(carts::merchant_of(database, id, agent().key).await.unwrap(), shop.store.merchant);
    for (id, agent) in [(id, KeyId::from_random(2)), (CartId::from_random(9), agent().key)] {
        assert!(matches!(carts::merchant_of(database, id, agent).await, Err(CartError::NotFound)));
    }
}

#[tokio::test]
async fn an_estimate_has_the_price_of_a_cart_and_stores_nothing() {
    let shop = Shop::open().await;
    let [mug] = shop.stock(&[("mug", "12.50", 9)]).await;
    let (reading, store, wanted) = (shop.reading(), &shop.store, [item(mug, 2)]);
    let quote = carts::estimate(&reading, store, &wanted, Some(germany())).await.unwrap();
    assert_eq!((quote.total_minor, quote.options.len(), quote.is_deliverable()), (2_990, 1, true));
    let created = shop.create(&wanted).await.unwrap();
    let estimated = carts::estimate_cart(&reading, store, created, germany()).await.unwrap();
    assert_eq!((estimated.total_minor, &estimated.options), (quote.total_minor, &quote.options));
    let far = Destination { country: String::from("JP"), ..germany() };
    let far = carts::estimate(&reading, store, &wanted, Some(far)).await.unwrap();
    assert!(!far.is_deliverable());
    let link = carts::permalink(&reading, store, &quote, "https://souk.test").await.unwrap();
    assert_eq!(link.target, PermalinkTarget::Summary);
    assert_eq!(link.url, format!("https://souk.test/api/v1/stores/attic/basket?items={mug}:2"));
    let mut raw = shop.test.raw().await;
    let carts = "SELECT count(*) FROM cart";
    let carts: i64 = sqlx::query_scalar(carts).fetch_one(&mut raw).await.unwrap();
    assert_eq!(carts, 1, "only the cart created above");
}
