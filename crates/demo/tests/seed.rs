//! The world goes in, and going in again changes nothing.

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
    let second = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(second, Seeded { stores, products, changed: 0 });

    let store = world.store(demo::DEMO_STORE).unwrap();
    let merchant = MerchantId::from_uuid(store.id);
    let reading = Reading::for_store(test.database(), merchant).unwrap();
    let id = ProductId::from_uuid(demo::FIRST_PRODUCT);
    let product = catalog::product(&reading, merchant, id).await.unwrap();
    assert_eq!(product.facts.name, world.first_product().unwrap().name);
    assert_eq!(product.variants.len(), world.first_product().unwrap().variants.len());

    let told: i64 =
        sqlx::query_scalar("SELECT count(*) FROM outbox WHERE topic = 'product.changed'")
            .fetch_one(&mut test.raw().await)
            .await
            .unwrap();
    assert_eq!(
        usize::try_from(told).unwrap(),
        products,
        "one event for each product, and only one"
    );
}
