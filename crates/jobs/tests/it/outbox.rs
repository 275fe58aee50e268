//! The outbox: what was committed, once, in order. The hard cases run in `just prove foundation`.

use std::time::Duration;

use database::{Reading, Work};
use jobs::{Cursor, NewEvent, QueueError};
use primitives::{Id, MerchantId};
use serde_json::json;
use testkit::TestDatabase;
use uuid::Uuid;

fn event(number: u32) -> NewEvent {
    NewEvent {
        merchant: MerchantId::from_random(1),
        topic: "tested",
        subject: Uuid::nil(),
        payload: json!(number),
    }
}

async fn publish(test: &TestDatabase, numbers: &[u32]) {
    let mut work = Work::for_store(test.database(), MerchantId::from_random(1)).await.unwrap();
    let events: Vec<NewEvent> = numbers.iter().copied().map(event).collect();
    jobs::publish(&mut work, &events).await.unwrap();
    work.commit().await.unwrap();
}

/// Reads on until so many events have come. The horizon is the cluster's, and other tests hold
/// transactions open beside this one, so it may take a moment.
async fn read(reading: &Reading, mut cursor: Cursor, count: usize) -> (Vec<u64>, Cursor) {
    let mut seen = Vec::new();
    for _ in 0..500 {
        let batch = jobs::follow(reading, &cursor, 2).await.unwrap();
        seen.extend(batch.events.iter().map(|event| event.payload.as_u64().unwrap()));
        cursor = batch.next;
        if seen.len() >= count {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (seen, cursor)
}

#[tokio::test]
async fn events_are_read_once_in_order_and_in_small_steps() {
    let test = TestDatabase::new().await;
    publish(&test, &[1, 2, 3]).await;
    let mut undone = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut undone, &[event(99)]).await.unwrap();
    undone.abandon().await.unwrap();
    publish(&test, &[4]).await;

    let reading = Reading::for_platform(test.database());
    let (seen, cursor) = read(&reading, Cursor::default(), 4).await;
    assert_eq!(seen, [1, 2, 3, 4]);
    assert!(jobs::follow(&reading, &cursor, 2).await.unwrap().events.is_empty());
}

#[tokio::test]
async fn an_open_transaction_is_neither_waited_for_nor_stepped_over() {
    let test = TestDatabase::new().await;
    let mut open = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut open, &[event(1)]).await.unwrap();
    publish(&test, &[2]).await;

    let reading = Reading::for_platform(test.database());
    let (seen, cursor) = read(&reading, Cursor::default(), 1).await;
    assert_eq!(seen, [2]);
    open.commit().await.unwrap();
    assert_eq!(read(&reading, cursor, 1).await.0, [1]);
}

#[tokio::test]
async fn a_transaction_that_waited_comes_after_the_one_it_waited_for() {
    let test = TestDatabase::new().await;
    let mut waits = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut waits, &[event(1)]).await.unwrap();
    // Its id lies between the two, and it stays open.
    let mut open = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut open, &[event(2)]).await.unwrap();
    publish(&test, &[3]).await;
    jobs::publish(&mut waits, &[event(4)]).await.unwrap();
    waits.commit().await.unwrap();

    let reading = Reading::for_platform(test.database());
    let (seen, cursor) = read(&reading, Cursor::default(), 3).await;
    assert_eq!(seen, [1, 3, 4]);
    open.commit().await.unwrap();
    assert_eq!(read(&reading, cursor, 1).await.0, [2]);
}

#[tokio::test]
async fn two_readers_of_one_name_do_not_both_move_it() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let reading = Reading::for_platform(test.database());
    let from = jobs::cursor(&reading, "search").await.unwrap();
    let (_, next) = read(&reading, from.clone(), 1).await;

    let mut first = Work::for_platform(test.database()).await.unwrap();
    jobs::advance(&mut first, "search", &from, &next).await.unwrap();
    first.commit().await.unwrap();
    let mut second = Work::for_platform(test.database()).await.unwrap();
    let refused = jobs::advance(&mut second, "search", &from, &next).await;
    assert!(matches!(refused, Err(QueueError::CursorMoved(_))));
    assert_eq!(jobs::cursor(&reading, "search").await.unwrap(), next);
}

#[tokio::test]
async fn a_store_cannot_read_the_outbox() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), MerchantId::from_random(1)).await.unwrap();
    let read = sqlx::query("SELECT * FROM outbox").fetch_all(work.sql()).await;
    assert!(read.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test]
async fn a_store_tells_in_its_own_name_only() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), MerchantId::from_random(2)).await.unwrap();
    let refused = jobs::publish(&mut work, &[event(1)]).await;
    assert!(format!("{refused:?}").contains("row-level security"));
}

#[tokio::test]
async fn a_reader_of_one_topic_gets_that_alone_and_each_event_once() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), MerchantId::from_random(1)).await.unwrap();
    let other = |number| NewEvent { topic: "other", ..event(number) };
    let told = [event(1), other(2), event(3), other(4), event(5), other(6)];
    jobs::publish(&mut work, &told).await.unwrap();
    work.commit().await.unwrap();
    publish(&test, &[7]).await;

    let reading = Reading::for_platform(test.database());
    let mut cursor = Cursor::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let batch = jobs::follow_topics(&reading, &cursor, &["tested", "never"], 2).await.unwrap();
        seen.extend(batch.events.iter().map(|event| event.payload.as_u64().unwrap()));
        cursor = batch.next;
    }
    assert_eq!(seen, [1, 3, 5, 7]);
    assert!(jobs::follow(&reading, &cursor, 2).await.unwrap().events.is_empty());
}

#[tokio::test]
async fn the_present_lies_before_everything_that_is_still_open() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let mut open = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut open, &[event(2)]).await.unwrap();

    let reading = Reading::for_platform(test.database());
    let present = jobs::present(&reading).await.unwrap();
    assert!(jobs::follow(&reading, &present, 2).await.unwrap().events.is_empty());
    publish(&test, &[3]).await;
    open.commit().await.unwrap();
    assert_eq!(read(&reading, present, 2).await.0, [2, 3]);
}

#[tokio::test]
async fn a_forgotten_cursor_starts_over() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let reading = Reading::for_platform(test.database());
    let present = jobs::present(&reading).await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::advance(&mut work, "search", &Cursor::default(), &present).await.unwrap();
    jobs::advance(&mut work, "other", &Cursor::default(), &present).await.unwrap();
    jobs::forget_cursor(&mut work, "search").await.unwrap();
    jobs::forget_cursor(&mut work, "never there").await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(jobs::cursor(&reading, "search").await.unwrap(), Cursor::default());
    assert_eq!(jobs::cursor(&reading, "other").await.unwrap(), present);
}
