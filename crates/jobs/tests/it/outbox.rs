//! The outbox: each committed event once, in commit order. `just prove foundation` covers concurrency.

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

/// Reads until `count` events have arrived. The horizon is that of the cluster, where other tests hold transactions open,
/// so that it may take several reads.
async fn read(reading: &Reading, mut cursor: Cursor, count: usize) -> (Vec<u64>, Cursor) {
    let mut seen = Vec::new();
    for _ in 0..500 {
        let batch = jobs::read_events(reading, &cursor, 2).await.unwrap();
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
async fn events_are_read_once_in_order_and_in_batches() {
    let test = TestDatabase::new().await;
    publish(&test, &[1, 2, 3]).await;
    let mut rolled_back = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut rolled_back, &[event(99)]).await.unwrap();
    rolled_back.rollback().await.unwrap();
    publish(&test, &[4]).await;

    let reading = Reading::for_platform(test.database());
    let (seen, cursor) = read(&reading, Cursor::default(), 4).await;
    assert_eq!(seen, [1, 2, 3, 4]);
    assert!(jobs::read_events(&reading, &cursor, 2).await.unwrap().events.is_empty());
}

#[tokio::test]
async fn an_open_transaction_neither_blocks_readers_nor_is_skipped() {
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
async fn a_transaction_that_waited_is_read_after_the_one_it_waited_for() {
    let test = TestDatabase::new().await;
    let mut waits = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut waits, &[event(1)]).await.unwrap();
    // Its transaction id is between the two, and it stays open.
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
async fn only_one_of_two_readers_advances_a_cursor() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let reading = Reading::for_platform(test.database());
    let from = jobs::cursor(&reading, "search").await.unwrap();
    let (_, next) = read(&reading, from.clone(), 1).await;

    let mut first = Work::for_platform(test.database()).await.unwrap();
    jobs::advance(&mut first, "search", &from, &next).await.unwrap();
    first.commit().await.unwrap();
    let mut second = Work::for_platform(test.database()).await.unwrap();
    let rejected = jobs::advance(&mut second, "search", &from, &next).await;
    assert!(matches!(rejected, Err(QueueError::CursorMoved(_))));
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
async fn a_store_publishes_only_its_own_events() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), MerchantId::from_random(2)).await.unwrap();
    let rejected = jobs::publish(&mut work, &[event(1)]).await;
    assert!(format!("{rejected:?}").contains("row-level security"));
}

#[tokio::test]
async fn a_reader_of_topics_gets_each_of_their_events_once() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_store(test.database(), MerchantId::from_random(1)).await.unwrap();
    let other = |number| NewEvent { topic: "other", ..event(number) };
    let events = [event(1), other(2), event(3), other(4), event(5), other(6)];
    jobs::publish(&mut work, &events).await.unwrap();
    work.commit().await.unwrap();
    publish(&test, &[7]).await;

    let reading = Reading::for_platform(test.database());
    let mut cursor = Cursor::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let batch = jobs::read_topics(&reading, &cursor, &["tested", "never"], 2).await.unwrap();
        seen.extend(batch.events.iter().map(|event| event.payload.as_u64().unwrap()));
        cursor = batch.next;
    }
    assert_eq!(seen, [1, 3, 5, 7]);
    assert!(jobs::read_events(&reading, &cursor, 2).await.unwrap().events.is_empty());
}

#[tokio::test]
async fn the_latest_cursor_is_before_open_transactions() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let mut open = Work::for_platform(test.database()).await.unwrap();
    jobs::publish(&mut open, &[event(2)]).await.unwrap();

    let reading = Reading::for_platform(test.database());
    let latest = jobs::latest_cursor(&reading).await.unwrap();
    assert!(jobs::read_events(&reading, &latest, 2).await.unwrap().events.is_empty());
    publish(&test, &[3]).await;
    open.commit().await.unwrap();
    assert_eq!(read(&reading, latest, 2).await.0, [2, 3]);
}

#[tokio::test]
async fn a_deleted_cursor_starts_from_the_beginning() {
    let test = TestDatabase::new().await;
    publish(&test, &[1]).await;
    let reading = Reading::for_platform(test.database());
    let latest = jobs::latest_cursor(&reading).await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::advance(&mut work, "search", &Cursor::default(), &latest).await.unwrap();
    jobs::advance(&mut work, "other", &Cursor::default(), &latest).await.unwrap();
    jobs::delete_cursor(&mut work, "search").await.unwrap();
    jobs::delete_cursor(&mut work, "does not exist").await.unwrap();
    work.commit().await.unwrap();
    assert_eq!(jobs::cursor(&reading, "search").await.unwrap(), Cursor::default());
    assert_eq!(jobs::cursor(&reading, "other").await.unwrap(), latest);
}

/// The outbox of a restored database has transaction ids of the cluster that was backed up, which is far ahead.
#[tokio::test]
async fn a_restored_outbox_is_read_again_from_the_start() {
    let test = TestDatabase::new().await;
    publish(&test, &[1, 2]).await;
    let reading = Reading::for_platform(test.database());
    let (_, cursor) = read(&reading, Cursor::default(), 2).await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::advance(&mut work, "reader", &Cursor::default(), &cursor).await.unwrap();
    work.commit().await.unwrap();
    assert!(!jobs::outbox_is_ahead(&reading).await.unwrap());
    let restored = "
        UPDATE outbox SET transaction = '900000000000';
        UPDATE outbox_cursor SET low = '900000000009:900000000009:',
            high = '900000000009:900000000009:'";
    sqlx::raw_sql(restored).execute(&mut test.raw().await).await.unwrap();
    assert!(jobs::outbox_is_ahead(&reading).await.unwrap());
    publish(&test, &[3]).await;
    let ahead = jobs::cursor(&reading, "reader").await.unwrap();
    let missed = jobs::read_events(&reading, &ahead, 10).await.unwrap();
    assert!(missed.events.is_empty(), "an event of this cluster is behind the cursor");

    let mut work = Work::for_platform(test.database()).await.unwrap();
    assert_eq!(jobs::restart_outbox(&mut work).await.unwrap(), 3);
    work.commit().await.unwrap();
    assert!(!jobs::outbox_is_ahead(&reading).await.unwrap());
    publish(&test, &[4]).await;
    let start = jobs::cursor(&reading, "reader").await.unwrap();
    assert_eq!(read(&reading, start, 4).await.0, [1, 2, 3, 4]);
}

#[tokio::test]
async fn the_outbox_is_restarted_without_a_time_limit() {
    let test = TestDatabase::new().await;
    publish(&test, &[1, 2, 3]).await;
    let slow = "
        CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END';
        CREATE TRIGGER slow BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION slow()";
    sqlx::raw_sql(slow).execute(&mut test.raw().await).await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    sqlx::raw_sql("SET LOCAL statement_timeout = '300ms'").execute(work.sql()).await.unwrap();
    assert_eq!(jobs::restart_outbox(&mut work).await.unwrap(), 3);
    work.commit().await.unwrap();
}
