//! Seeding the demo data twice writes it once, and its scores are computed.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::time::Duration;

use catalog::{Origin, ProductDraft};
use database::{Reading, Work};
use demo::{Seeded, Store, World};
use primitives::{Id, MerchantId, ProductId};
use testkit::TestDatabase;
use trust::{Basis, Epoch};

/// Difference between a score and the one in the data file of its store.
const ROUNDED_BY_MAX: f64 = 0.01;
/// Tables of what happened at the stores, and of what follows from it.
const PAST: [&str; 11] = [
    "platform.person",
    "platform.agent_key",
    "placed_order",
    "order_history",
    "order_fulfillment",
    "order_refund",
    "order_dispute",
    "dispute_statement",
    "agent_event",
    "payment_report",
    "trust_agent_day",
];

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
    let past = past(&test).await;
    let rows: i64 = past.iter().map(|(_, rows)| rows).sum();
    assert!((15_000..=20_000).contains(&rows), "{past:?}");
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
    assert_eq!(self::past(&test).await, past, "seeding again adds nothing to the past");
    for table in ["webhook_event", "trust_stale_day"] {
        assert_eq!(count(&test, table).await, 0, "{table}: nobody is told of the past");
    }
    let notices = "SELECT DISTINCT kind FROM merchant_notice";
    let notices: Vec<String> =
        sqlx::query_scalar(notices).fetch_all(&mut test.raw().await).await.unwrap();
    assert_eq!(notices, ["settings_changed"], "nobody is told of the past");
}

#[tokio::test]
async fn scores_are_computed_from_what_happened() {
    let test = TestDatabase::new().await;
    let world = demo::world();
    demo::seed(test.database(), &world, |_| {}).await.unwrap();
    for store in &world.stores {
        check_score(&test, store, ROUNDED_BY_MAX).await;
        let merchant = MerchantId::from_uuid(store.id);
        let differences = trust::check_days(test.database(), merchant).await.unwrap();
        assert!(differences.is_empty(), "{}: {differences:?}", store.slug);
    }
}

#[tokio::test]
async fn seeding_later_adds_what_happened_since() {
    let test = TestDatabase::new().await;
    let chosen = ["spaak-en-zoon", "velvetine-outlet", "tuulikki-candles"];
    let mut world = demo::world();
    world.stores.retain(|store| chosen.contains(&store.slug.as_str()));
    demo::seed(test.database(), &world, |_| {}).await.unwrap();
    let before = count(&test, "placed_order").await;
    test.clock().advance(Duration::from_hours(10 * 24));
    demo::seed(test.database(), &world, |_| {}).await.unwrap();
    let more = count(&test, "placed_order").await - before;
    assert!((10..=25).contains(&more), "{more} orders in ten days at two stores");
    // The facts of a window are never exactly the same.
    for slug in &chosen[..2] {
        check_score(&test, world.store(slug).unwrap(), 0.02).await;
    }
    let reading = Reading::for_platform(test.database());
    let joined = MerchantId::from_uuid(world.store("tuulikki-candles").unwrap().id);
    let first = trust::latest(&reading, joined).await.unwrap().unwrap();
    assert!(first.provisional && first.score.is_some(), "{first:?}");
}

/// Checks the newest score of a store and the history before it.
async fn check_score(test: &TestDatabase, store: &Store, tolerance: f64) {
    let (merchant, slug) = (MerchantId::from_uuid(store.id), &store.slug);
    let reading = Reading::for_platform(test.database());
    let standing = merchants::store(&reading, merchant).await.unwrap().standing;
    let newest = trust::latest(&reading, merchant).await.unwrap();
    let Some(expected) = store.trust_score else {
        assert!(newest.is_none() && standing.score.is_none(), "{slug}: {newest:?}");
        return;
    };
    let newest = newest.unwrap();
    let computed = newest.score.unwrap();
    let difference = (computed - expected).abs();
    assert!(difference <= tolerance, "{slug}: {computed} instead of {expected}");
    assert_eq!(merchants::Band::of(computed), merchants::Band::of(expected), "{slug}: {computed}");
    assert_eq!((standing.score, standing.provisional), (newest.score, newest.provisional));
    assert_eq!((newest.provisional, newest.basis), (store.provisional, Basis::Demo), "{slug}");
    let record = trust::evidence_record(&reading, merchant).await.unwrap();
    assert!(record.is_unchanged && record.epoch == newest.epoch, "{slug}");
    assert_eq!((record.score, record.stored_score), (newest.score, newest.score), "{slug}");
    let history = trust::thinned_history(&reading, merchant, None, None, 4_000).await.unwrap();
    let days = if slug == "puddlewick-toys" { 30 } else { 90 };
    assert!(history.len() >= days, "{slug}: {} scores", history.len());
    assert_eq!(history[0].epoch, newest.epoch);
    let is_daily = |pair: &[trust::Computation]| pair[0].epoch == Epoch(pair[1].epoch.0 + 4);
    assert!(history.windows(2).all(is_daily), "{slug}");
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

/// Returns the number of rows of each table of the past, and of scores.
async fn past(test: &TestDatabase) -> Vec<(&'static str, i64)> {
    let mut counts = Vec::new();
    for table in PAST.into_iter().chain(["trust_score"]) {
        counts.push((table, count(test, table).await));
    }
    counts
}

/// Counts the rows of a table.
async fn count(test: &TestDatabase, table: &str) -> i64 {
    let query = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
    sqlx::query_scalar(query).fetch_one(&mut test.raw().await).await.unwrap()
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
