use std::time::Duration;

use database::Reading;
use jobs::{Runner, RunnerSettings};
use primitives::Id;
use testkit::TestDatabase;

use super::*;

fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

async fn top(test: &TestDatabase, store: Option<MerchantId>) -> Vec<(String, i64, i64, f64)> {
    let reading = match store {
        Some(merchant) => Reading::for_store(test.database(), merchant).unwrap(),
        None => Reading::for_platform(test.database()),
    };
    let found = top_searches(&reading, store, 7, 10).await.unwrap();
    let row = |tally: SearchTally| {
        (tally.query, tally.searches, tally.without_result, tally.average_hits)
    };
    found.into_iter().map(row).collect()
}

#[tokio::test]
async fn searches_are_counted_by_query_and_store() {
    let test = TestDatabase::new().await;
    let analytics = Analytics::new(test.database().clone());
    let (store, other) = (Some(merchant()), Some(MerchantId::from_random(2)));
    analytics.record(store, "Red  Shoes", CallerKind::Agent, 4);
    analytics.record(store, "red shoes", CallerKind::Anonymous, 0);
    analytics.flush().await.unwrap();
    analytics.record(store, "RED SHOES", CallerKind::Agent, 2);
    analytics.record(store, "unicorn", CallerKind::Agent, 0);
    analytics.record(store, "  ", CallerKind::Agent, 9);
    analytics.record(other, "lamp", CallerKind::Agent, 1);
    analytics.record(None, "lamp", CallerKind::Agent, 7);
    analytics.flush().await.unwrap();
    analytics.flush().await.unwrap();

    let shoes = (String::from("red shoes"), 3, 1, 2.0);
    let unicorn = (String::from("unicorn"), 1, 1, 0.0);
    assert_eq!(top(&test, store).await, [shoes, unicorn]);
    assert_eq!(top(&test, other).await, [(String::from("lamp"), 1, 0, 1.0)]);
    assert_eq!(top(&test, None).await, [(String::from("lamp"), 1, 0, 7.0)]);
    let reading = Reading::for_platform(test.database());
    let without_result = searches_without_result(&reading, None, 7, 10).await.unwrap();
    assert!(without_result.is_empty(), "{without_result:?}");
    let reading = Reading::for_store(test.database(), merchant()).unwrap();
    let without_result = searches_without_result(&reading, other, 7, 10).await.unwrap();
    assert!(without_result.is_empty(), "a store cannot read tallies of another");
    let without_result = searches_without_result(&reading, store, 7, 10).await.unwrap();
    let without_result: Vec<String> = without_result.into_iter().map(|tally| tally.query).collect();
    assert_eq!(without_result, ["red shoes", "unicorn"]);
}

#[tokio::test]
async fn old_tallies_are_left_out_and_purged() {
    let test = TestDatabase::new().await;
    let analytics = Analytics::new(test.database().clone());
    for store in [Some(merchant()), None] {
        analytics.record(store, "lamp", CallerKind::Agent, 1);
    }
    analytics.flush().await.unwrap();
    test.clock().advance(Duration::from_hours(6 * 24));
    assert_eq!(top(&test, None).await.len(), 1);
    test.clock().advance(Duration::from_hours(24));
    assert!(top(&test, None).await.is_empty() && top(&test, Some(merchant())).await.is_empty());

    let stored = async || {
        let reading = Reading::for_platform(test.database());
        let across_stores = top_searches(&reading, None, 400, 10).await.unwrap();
        let of_store = top_searches(&reading, Some(merchant()), 400, 10).await.unwrap();
        across_stores.len() + of_store.len()
    };
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<PurgeTallies>(());
    for (days, expected) in [(83, 2), (1, 0)] {
        test.clock().advance(Duration::from_hours(days * 24));
        let mut work = Work::for_platform(test.database()).await.unwrap();
        jobs::enqueue(&mut work, &PurgeTallies {}).await.unwrap();
        work.commit().await.unwrap();
        runner.run_until_idle().await.unwrap();
        assert_eq!(stored().await, expected);
    }
}

#[tokio::test]
async fn queries_beyond_the_limit_are_dropped_and_failed_writes_are_kept() {
    let test = TestDatabase::new().await;
    let database = test.another_process();
    let analytics = Analytics::new(database.clone());
    for number in 0..2 * KEYS_MAX {
        let word: String = number.to_string().chars().map(letter).collect();
        analytics.record(None, &word, CallerKind::Agent, 1);
    }
    let counted = |partitions: &[Mutex<Tallies>]| -> usize {
        partitions.iter().map(|partition| partition.lock().unwrap().len()).sum()
    };
    assert_eq!(counted(&analytics.0.partitions), KEYS_MAX);
    database.close().await;
    assert!(analytics.flush().await.is_err());
    assert_eq!(analytics.0.pending.lock().await.len(), KEYS_MAX, "kept for a retry");
    analytics.record(None, "one more", CallerKind::Agent, 1);
    assert!(analytics.flush().await.is_err());
    assert_eq!(analytics.0.pending.lock().await.len(), KEYS_MAX, "the limit holds");
}

/// Converts a digit to a letter: numbers are not stored.
fn letter(digit: char) -> char {
    char::from(b'a' + u8::try_from(digit.to_digit(10).unwrap()).unwrap())
}

#[tokio::test]
async fn recording_never_blocks() {
    let test = TestDatabase::new().await;
    let analytics = Analytics::new(test.database().clone());
    let held: Vec<_> =
        analytics.0.partitions.iter().map(|partition| partition.lock().unwrap()).collect();
    analytics.record(None, "lamp", CallerKind::Agent, 1);
    drop(held);
    analytics.record(None, "lamp", CallerKind::Agent, 1);
    analytics.flush().await.unwrap();
    assert_eq!(top(&test, None).await, [(String::from("lamp"), 1, 0, 1.0)]);
}
