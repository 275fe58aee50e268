//! A store that changes many products at once does not delay the others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use merchants::StoreCache;
use search::{CallerKind, Query, Search, SearchResults, SearchSettings, Source};
use serde_json::Value;
use testkit::StoreBuilder;

use crate::fixture::{Fixture, merchant};

const BULK: &str = "SELECT count(*) FROM platform.search_bulk";
const BULK_STORES: &str =
    "SELECT max(cardinality(bulk_merchants))::bigint FROM platform.search_shard";

/// Maximum time to wait for a state; test machines are busy.
const TIMEOUT: Duration = Duration::from_mins(2);

fn search(fixture: &Fixture) -> Search {
    let stores = StoreCache::new(fixture.database.clone(), Duration::ZERO);
    let settings = SearchSettings::new("http://souk.test");
    Search::start(fixture.database.clone(), stores, fixture.replica_settings("search"), settings)
}

async fn find_in(search: &Search, store: u128) -> Option<SearchResults> {
    let stores = vec![format!("store-{store}").parse().unwrap()];
    search.find(Query { stores, ..Query::of_words("") }, CallerKind::Anonymous).await.ok()
}

/// Returns the price of the first product of a store that a search finds.
async fn price_in(search: &Search, store: u128) -> Option<f64> {
    // Without an index, the database would answer.
    let found = find_in(search, store).await.filter(|found| found.source == Source::Index)?;
    let record: Value = serde_json::from_str(found.records.first()?).unwrap();
    record["price"].as_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_one_store_does_not_delay_another() {
    let fixture = Fixture::with_stores(2).await;
    fixture.put(0, &["mug-0"], "10").await;
    fixture.put(1, &["other"], "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    writer.kill().await;
    fixture.put_many(0, 4_000, "20").await;
    fixture.put(1, &["other"], "20").await;
    let search = search(&fixture);
    let writer = fixture.write();
    let started = Instant::now();
    while price_in(&search, 1).await != Some(20.0) {
        assert!(started.elapsed() < TIMEOUT, "the change is not visible");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let waiting = fixture.number(BULK).await;
    assert!(waiting > 0, "the change became visible after those of the other store");
    // The age of the index is that of the changes of other stores, except in a search of this one.
    fixture.wait_for_number(BULK_STORES, 1).await;
    fixture
        .wait_for_status(&replica, |status| {
            let shard = &status.shards[0];
            shard.bulk_stores == 1 && shard.small_age + Duration::from_millis(300) < shard.age
        })
        .await;
    let (own, other) = (find_in(&search, 0).await.unwrap(), find_in(&search, 1).await.unwrap());
    assert!(own.age > other.age, "{:?} and {:?}", own.age, other.age);
    fixture.wait_until_caught_up(&replica).await;
    assert_eq!(fixture.number(BULK).await, 0);
    fixture.wait_until_equal(&replica).await;
    fixture.wait_for_number(BULK_STORES, 0).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn crashes_lose_no_change_that_waits_in_bulk() {
    let fixture = Arc::new(Fixture::with_stores(3).await);
    fixture.put(0, &["mug-0"], "10").await;
    let mut settings = fixture.writer_settings();
    settings.lease = Duration::from_millis(600);
    let mut writer = fixture.write_in(settings.clone());
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    writer.kill().await;
    fixture.put_many(0, 3_000, "15").await;
    writer = fixture.write_in(settings.clone());
    wait_until_bulk(&fixture).await;
    let flood = tokio::spawn({
        let fixture = Arc::clone(&fixture);
        async move {
            for price in ["20", "30", "40"] {
                fixture.put_many(0, 3_000, price).await;
                fixture.put(1, &["a", "b"], price).await;
                fixture.retire(0, "mug-7").await;
            }
        }
    });
    for round in 0..8_u64 {
        // The first crash is at once, while changes wait.
        tokio::time::sleep(Duration::from_millis(round * 397 % 1_200)).await;
        let killed = std::mem::replace(&mut writer, fixture.write_in(settings.clone()));
        killed.kill().await;
    }
    flood.await.unwrap();
    fixture.wait_until_caught_up(&replica).await;
    fixture.wait_until_equal(&replica).await;
    fixture.wait_for_number(BULK, 0).await;
    writer.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_languages_of_a_large_store_are_indexed_in_bulk() {
    let fixture = Fixture::with_stores(1).await;
    fixture.put_many(0, 2_500, "10").await;
    let writer = fixture.write();
    let replica = fixture.read("replica");
    fixture.wait_until_equal(&replica).await;
    fixture.wait_until_caught_up(&replica).await;
    let store = StoreBuilder::new("store-0").merchant(merchant(0));
    let languages = vec![String::from("de"), String::from("en")];
    store.with(|store| store.languages = languages).build(&fixture.database).await;
    wait_until_bulk(&fixture).await;
    fixture.wait_for_number(BULK, 0).await;
    fixture.wait_until_equal(&replica).await;
    writer.stop().await;
}

/// Waits until changes wait in bulk.
async fn wait_until_bulk(fixture: &Fixture) {
    let started = Instant::now();
    while fixture.number(BULK).await == 0 {
        assert!(started.elapsed() < TIMEOUT, "nothing waits in bulk");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
