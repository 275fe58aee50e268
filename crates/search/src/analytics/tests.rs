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
    let insight = Insight::new(test.database().clone());
    let (store, other) = (Some(merchant()), Some(MerchantId::from_random(2)));
    insight.note(store, "Red  Shoes", CallerKind::Agent, 4);
    insight.note(store, "red shoes", CallerKind::Anonymous, 0);
    insight.flush().await.unwrap();
    insight.note(store, "RED SHOES", CallerKind::Agent, 2);
    insight.note(store, "unicorn", CallerKind::Agent, 0);
    insight.note(store, "  ", CallerKind::Agent, 9);
    insight.note(other, "lamp", CallerKind::Agent, 1);
    insight.note(None, "lamp", CallerKind::Agent, 7);
    insight.flush().await.unwrap();
    insight.flush().await.unwrap();

    let shoes = (String::from("red shoes"), 3, 1, 2.0);
    let unicorn = (String::from("unicorn"), 1, 1, 0.0);
    assert_eq!(top(&test, store).await, [shoes, unicorn]);
    assert_eq!(top(&test, other).await, [(String::from("lamp"), 1, 0, 1.0)]);
    assert_eq!(top(&test, None).await, [(String::from("lamp"), 1, 0, 7.0)]);
    let reading = Reading::for_platform(test.database());
    let missed = searches_without_result(&reading, None, 7, 10).await.unwrap();
    assert!(missed.is_empty(), "{missed:?}");
    let reading = Reading::for_store(test.database(), merchant()).unwrap();
    let missed = searches_without_result(&reading, other, 7, 10).await.unwrap();
    assert!(missed.is_empty(), "one store reads nothing of another");
    let missed = searches_without_result(&reading, store, 7, 10).await.unwrap();
    let missed: Vec<String> = missed.into_iter().map(|tally| tally.query).collect();
    assert_eq!(missed, ["red shoes", "unicorn"]);
}

#[tokio::test]
async fn old_days_fall_out_and_are_swept() {
    let test = TestDatabase::new().await;
    let insight = Insight::new(test.database().clone());
    for store in [Some(merchant()), None] {
        insight.note(store, "lamp", CallerKind::Agent, 1);
    }
    insight.flush().await.unwrap();
    test.clock().advance(Duration::from_hours(6 * 24));
    assert_eq!(top(&test, None).await.len(), 1);
    test.clock().advance(Duration::from_hours(24));
    assert!(top(&test, None).await.is_empty() && top(&test, Some(merchant())).await.is_empty());

    let kept = async || {
        let reading = Reading::for_platform(test.database());
        let of_all = top_searches(&reading, None, 400, 10).await.unwrap();
        let of_store = top_searches(&reading, Some(merchant()), 400, 10).await.unwrap();
        of_all.len() + of_store.len()
    };
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<SweepTallies>(());
    for (days, expected) in [(83, 2), (1, 0)] {
        test.clock().advance(Duration::from_hours(days * 24));
        let mut work = Work::for_platform(test.database()).await.unwrap();
        jobs::enqueue(&mut work, &SweepTallies {}).await.unwrap();
        work.commit().await.unwrap();
        runner.run_until_idle().await.unwrap();
        assert_eq!(kept().await, expected);
    }
}

#[tokio::test]
async fn what_is_too_much_is_dropped_and_what_fails_stays() {
    let test = TestDatabase::new().await;
    let database = test.another_process();
    let insight = Insight::new(database.clone());
    for number in 0..2 * KEYS_MAX {
        let word: String = number.to_string().chars().map(letter).collect();
        insight.note(None, &word, CallerKind::Agent, 1);
    }
    let counted = |parts: &[Mutex<Tallies>]| -> usize {
        parts.iter().map(|part| part.lock().unwrap().len()).sum()
    };
    assert_eq!(counted(&insight.0.parts), KEYS_MAX);
    database.close().await;
    assert!(insight.flush().await.is_err());
    assert_eq!(insight.0.pending.lock().await.len(), KEYS_MAX, "tried again later");
    insight.note(None, "one more", CallerKind::Agent, 1);
    assert!(insight.flush().await.is_err());
    assert_eq!(insight.0.pending.lock().await.len(), KEYS_MAX, "and no more than that");
}

/// A digit as a letter: numbers are not kept.
fn letter(digit: char) -> char {
    char::from(b'a' + u8::try_from(digit.to_digit(10).unwrap()).unwrap())
}

#[tokio::test]
async fn noting_does_not_wait_for_anybody() {
    let test = TestDatabase::new().await;
    let insight = Insight::new(test.database().clone());
    let held: Vec<_> = insight.0.parts.iter().map(|part| part.lock().unwrap()).collect();
    insight.note(None, "lamp", CallerKind::Agent, 1);
    drop(held);
    insight.note(None, "lamp", CallerKind::Agent, 1);
    insight.flush().await.unwrap();
    assert_eq!(top(&test, None).await, [(String::from("lamp"), 1, 0, 1.0)]);
}
