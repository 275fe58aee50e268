//! The world goes in, and going in again changes nothing.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use database::Reading;
use demo::Seeded;
use primitives::{Id, MerchantId, ProductId};
use testkit::TestDatabase;

#[tokio::test]
async fn seeding_twice_writes_once() {
    let test = TestDatabase::new().await;
    let world = demo::world();
    let products = world.stores.iter().map(|store| store.products.len()).sum();
    let stores = world.stores.len();
    let first = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(first, Seeded { stores, products, changed: products });
    let stores_told = told(&test, "store.changed").await;
    assert!(stores_told >= stores, "{stores_told}");
    let second = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(second, Seeded { stores, products, changed: 0 });

    let store = world.store(demo::DEMO_STORE).unwrap();
    let merchant = MerchantId::from_uuid(store.id);
    let reading = Reading::for_store(test.database(), merchant).unwrap();
    let id = ProductId::from_uuid(demo::FIRST_PRODUCT);
    let product = catalog::product(&reading, merchant, id).await.unwrap();
    assert_eq!(product.facts.name, world.first_product().unwrap().name);
    assert_eq!(product.variants.len(), world.first_product().unwrap().variants.len());

    let products_told = told(&test, "product.changed").await;
    assert_eq!(products_told, products, "one event for each product, and only one");
    assert_eq!(told(&test, "store.changed").await, stores_told, "the same again is no news");
}

/// How many events of a topic there are.
async fn told(test: &TestDatabase, topic: &str) -> usize {
    let told: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox WHERE topic = $1")
        .bind(topic)
        .fetch_one(&mut test.raw().await)
        .await
        .unwrap();
    usize::try_from(told).unwrap()
}
