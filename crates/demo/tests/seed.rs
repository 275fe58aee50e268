//! Seeding the demo data twice writes it once.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use catalog::{Origin, ProductDraft};
use database::{Reading, Work};
use demo::{Seeded, World};
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

#[tokio::test]
async fn changed_products_are_restored_and_others_retired() {
    let test = TestDatabase::new().await;
    let world = World { stores: demo::world().stores.into_iter().take(2).collect() };
    demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(demo::retire_others(test.database(), &world).await.unwrap(), 0);
    let store = &world.stores[0];
    let merchant = MerchantId::from_uuid(store.id);
    let reading = Reading::for_store(test.database(), merchant).unwrap();
    let listed = async || {
        let keys = catalog::product_keys_after(&reading, merchant, None, 10_000).await;
        keys.unwrap().len()
    };
    let before = listed().await;
    // One product is renamed, one is retired, and one is added.
    let (renamed, gone) = (&store.products[0], &store.products[1]);
    let mut changed = demo::draft(store, renamed);
    changed.name = Some(String::from("Another name"));
    let added = ProductDraft {
        external_id: String::from("EXTRA-1"),
        gtin: None,
        variants: Vec::new(),
        ..demo::draft(store, &store.products[2])
    };
    let currency = store.currency.parse().unwrap();
    let products = [changed, added].map(|draft| catalog::check(&draft, currency).unwrap());
    let mut work = Work::for_store(test.database(), merchant).await.unwrap();
    catalog::put_products(&mut work, merchant, Origin::Push, &products).await.unwrap();
    let retired = [gone.sku.clone()];
    catalog::retire(&mut work, merchant, Origin::Push, &retired).await.unwrap();
    work.commit().await.unwrap();

    let seeded = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(seeded.changed, 2);
    assert_eq!(listed().await, before + 1, "other products stay");
    assert_eq!(demo::retire_others(test.database(), &world).await.unwrap(), 1);
    assert_eq!(listed().await, before);
    for product in [renamed, gone] {
        let id = ProductId::from_uuid(product.id);
        let found = catalog::product(&reading, merchant, id).await.unwrap();
        assert_eq!(found.facts.name, product.name);
    }
    let again = demo::seed(test.database(), &world, |_| {}).await.unwrap();
    assert_eq!(again.changed, 0);
    assert_eq!(demo::retire_others(test.database(), &world).await.unwrap(), 0);
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
