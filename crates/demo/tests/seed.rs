//! Seeding the demo data twice writes it once.
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
    let store_events = events(&test, "store.changed").await;
    assert!(store_events >= stores, "{store_events}");
    let second = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(second, Seeded { stores, products, changed: 0 });

    let store = world.store(demo::DEMO_STORE).unwrap();
    let merchant = MerchantId::from_uuid(store.id);
    let reading = Reading::for_store(test.database(), merchant).unwrap();
    let id = ProductId::from_uuid(demo::FIRST_PRODUCT);
    let product = catalog::product(&reading, merchant, id).await.unwrap();
    assert_eq!(product.facts.name, world.first_product().unwrap().name);
    assert_eq!(product.variants.len(), world.first_product().unwrap().variants.len());

    let product_events = events(&test, "product.changed").await;
    assert_eq!(product_events, products, "one event per product");
    assert_eq!(
        events(&test, "store.changed").await,
        store_events,
        "seeding again publishes nothing"
    );
}

/// Counts the events of a topic.
async fn events(test: &TestDatabase, topic: &str) -> usize {
    let count: i64 = sqlx::query_scalar("SELECT count(*) FROM outbox WHERE topic = $1")
        .bind(topic)
        .fetch_one(&mut test.raw().await)
        .await
        .unwrap();
    usize::try_from(count).unwrap()
}
