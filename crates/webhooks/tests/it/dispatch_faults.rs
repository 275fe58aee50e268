//! Deliveries that end their process, and faults of this server.

use std::time::Duration;

use database::Work;
use jobs::Scheduled;
use webhooks::{DeadLetterDeliveries, DeleteDeliveries, PurgeWebhooks, SealingKey};

use crate::dispatching::{Dispatching, LEASE, Running};
use crate::receiver::{Behavior, Receiver};
use crate::shop::{DAY, actor, order_created};

const PENDING: &str = "SELECT count(*) FROM webhook_delivery WHERE dead_at IS NULL";

#[tokio::test]
async fn a_delivery_that_ended_its_process_three_times_is_quarantined() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    let poison = test.publish(1).await;
    for starts in 1..=3 {
        let dispatcher = Running::start(test.dispatcher());
        let received = usize::try_from(starts).unwrap();
        test.receiver.until(|receiver| receiver.count("/a") == received).await;
        dispatcher.kill().await;
        test.shop.advance(LEASE);
        let row = test.queue().await.remove(0);
        // The first two may have had neighbors; the third was alone.
        let expected = (0, starts, (starts - 2).max(0), false);
        assert_eq!((row.attempts, row.starts, row.lone_starts, row.is_dead), expected);
    }
    test.respond("/a", 200);
    test.publish(2).await;
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.receiver.count("/a"), 4);
    let queue = test.queue().await;
    assert_eq!((queue.len(), queue[0].event, queue[0].is_dead), (1, poison, true));
    let attempts = test.attempts().await;
    assert!(attempts.iter().any(|it| it.1 == "dead" && it.3.as_deref() == Some("quarantined")));
    assert!(attempts.iter().any(|it| it.1 == "delivered"));
}

#[tokio::test]
async fn a_neighbor_of_deliveries_that_end_their_process_is_not_quarantined() {
    let test = Dispatching::open().await;
    for path in ["/poison/1", "/poison/2", "/innocent"] {
        test.endpoint(path).await;
        test.receiver.set(path, Behavior::Gated);
    }
    test.publish(1).await;
    for ended in 1..=2 {
        let dispatcher = Running::start(test.dispatcher());
        test.receiver.until(|receiver| receiver.received().len() == 3 * ended).await;
        dispatcher.kill().await;
        test.shop.advance(LEASE);
    }
    // Now all three are suspects, and two of them go on ending their process.
    test.respond("/innocent", 200);
    let poisoned = |receiver: &Receiver| receiver.count("/poison/1") + receiver.count("/poison/2");
    for ended in 1..=2 {
        let dispatcher = Running::start(test.dispatcher());
        test.receiver.until(|receiver| poisoned(receiver) == 4 + ended).await;
        dispatcher.kill().await;
        test.shop.advance(LEASE);
    }
    test.deliver().await;
    assert_eq!(poisoned(&test.receiver), 6, "three times each, the last time alone");
    assert_eq!(test.receiver.count("/innocent"), 3);
    let queue = test.queue().await;
    assert!(queue.len() == 2 && queue.iter().all(|row| row.is_dead), "{queue:?}");
    let delivered = test.attempts().await.iter().filter(|it| it.1 == "delivered").count();
    assert_eq!(delivered, 1);
}

#[tokio::test]
async fn nothing_is_attempted_beside_a_suspect() {
    let test = Dispatching::open().await;
    test.endpoint("/suspect").await;
    test.endpoint("/b").await;
    test.receiver.set("/suspect", Behavior::Gated);
    test.publish(1).await;
    test.shop
        .execute(
            "UPDATE webhook_delivery AS delivery SET starts = 2 FROM webhook_endpoint AS endpoint
             WHERE endpoint.endpoint_id = delivery.endpoint_id AND endpoint.url LIKE '%/suspect'",
        )
        .await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/suspect") == 1).await;
    let before = test.receiver.count("/b");
    test.publish(2).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(test.receiver.count("/b"), before);
    test.receiver.permit(2);
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    assert_eq!((test.receiver.count("/suspect"), test.receiver.count("/b")), (2, 2));
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_delivery_whose_process_ended_twice_is_delivered_and_no_suspect_any_more() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    for number in 1..=3 {
        test.publish(number).await;
    }
    test.shop.execute("UPDATE webhook_delivery SET starts = 2").await;
    test.respond("/a", 500);
    assert_eq!(test.deliver().await, 3);
    let queue = test.queue().await;
    let counts = queue.iter().map(|row| (row.attempts, row.starts, row.lone_starts));
    assert_eq!(counts.collect::<Vec<_>>(), [(1, 1, 0); 3]);
}

#[tokio::test]
async fn deliveries_whose_process_ended_once_are_attempted_beside_each_other() {
    let test = Dispatching::open().await;
    for path in ["/a", "/b", "/c"] {
        test.endpoint(path).await;
        test.receiver.set(path, Behavior::Gated);
    }
    test.publish(1).await;
    test.shop.execute("UPDATE webhook_delivery SET starts = 1").await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.received().len() == 3).await;
    test.receiver.permit(3);
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn suspects_are_attempted_one_at_a_time() {
    let test = Dispatching::open().await;
    for path in ["/a", "/b", "/c"] {
        test.endpoint(path).await;
        test.receiver.set(path, Behavior::Gated);
    }
    test.publish(1).await;
    test.shop.execute("UPDATE webhook_delivery SET starts = 2").await;
    let dispatcher = Running::start(test.dispatcher());
    for count in 1..=3 {
        test.receiver.until(|receiver| receiver.received().len() == count).await;
        let open: usize = ["/a", "/b", "/c"].map(|path| test.receiver.in_flight(path)).iter().sum();
        assert_eq!(open, 1);
        test.receiver.permit(1);
    }
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_uses_up_no_attempt() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    let stranger = test.dispatcher_with(SealingKey::new([8; 32]), 64);
    stranger.run_until_idle().await.unwrap();
    assert_eq!(test.receiver.received().len(), 0);
    let queue = test.queue().await;
    assert_eq!((queue[0].attempts, queue[0].starts, queue[0].is_dead), (0, 0, false));
    assert_eq!(queue[0].due_at, test.shop.now(), "it is not the delivery that waits");
    assert_eq!(test.deliver().await, 1, "a process that can read it sends it at once");
}

#[tokio::test]
async fn a_rotation_mends_an_endpoint_whose_secret_cannot_be_read() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.shop.execute("UPDATE webhook_endpoint SET secret = sha256(secret)").await;
    test.publish(1).await;
    assert_eq!(test.deliver().await, 0);
    test.shop.webhooks.rotate_secret(test.shop.merchant, actor(), id, None).await.unwrap();
    assert_eq!(test.deliver().await, 1, "it is sent at once");
    let signature = test.receiver.received()[0].headers["x-webhook-signature"].clone();
    assert_eq!(signature.matches("v1=").count(), 1, "the former secret signs nothing: {signature}");
}

#[tokio::test]
async fn a_rotation_mends_an_endpoint_of_a_store_that_its_process_keeps() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.endpoint("/b").await;
    test.receiver.set("/b", Behavior::Gated);
    let lose = "UPDATE webhook_endpoint SET secret = sha256(secret) WHERE url LIKE '%/a'";
    test.shop.execute(lose).await;
    test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/b") == 1).await;
    // The store is kept for the request that is in flight.
    test.until_count("SELECT count(*) FROM webhook_delivery WHERE starts = 0", 1).await;
    test.shop.webhooks.rotate_secret(test.shop.merchant, actor(), id, None).await.unwrap();
    test.until_count("SELECT count(*) FROM webhook_wake", 0).await;
    test.shop.advance(Duration::from_secs(1));
    // Long before the request in flight times out, and the store is released.
    let sent = test.receiver.until(|receiver| receiver.count("/a") == 1);
    assert!(tokio::time::timeout(Duration::from_secs(5), sent).await.is_ok());
    test.receiver.permit(1);
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_delivery_that_cannot_be_started_keeps_no_other_endpoint_waiting() {
    let test = Dispatching::open().await;
    for path in ["/unreadable", "/b", "/c"] {
        test.endpoint(path).await;
    }
    test.publish(1).await;
    assert_eq!(test.deliver().await, 3);
    // As a damaged row: it is found only when an attempt begins.
    for sql in [
        "ALTER TABLE webhook_endpoint ALTER COLUMN url DROP NOT NULL",
        "UPDATE webhook_endpoint SET url = NULL WHERE url LIKE '%/unreadable'",
    ] {
        test.shop.execute(sql).await;
    }
    let counts = |receiver: &Receiver| ["/unreadable", "/b", "/c"].map(|path| receiver.count(path));
    let dispatcher = Running::start(test.dispatcher());
    for number in [2_u8, 3] {
        test.publish(number.into()).await;
        test.receiver.until(|receiver| counts(receiver) == [1, number.into(), number.into()]).await;
    }
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_purchase_that_did_not_see_that_its_endpoint_was_disabled_leaves_nothing_pending() {
    let test = Dispatching::open().await;
    test.endpoint("/gone").await;
    test.respond("/gone", 410);
    test.publish(1).await;
    let (database, merchant) = (test.shop.test.database(), test.shop.merchant);
    let mut purchase = Work::for_checkout(database, merchant).await.unwrap();
    webhooks::publish(&mut purchase, merchant, &order_created(2)).await.unwrap();
    assert_eq!(test.deliver().await, 1);
    test.shop.run_due::<DeadLetterDeliveries>().await;
    purchase.commit().await.unwrap();
    test.until_count(PENDING, 1).await;
    test.shop.advance(Duration::from_mins(1));
    test.shop.run_due::<DeadLetterDeliveries>().await;
    test.until_count(PENDING, 0).await;
}

#[tokio::test]
async fn a_delivery_whose_body_is_gone_is_a_dead_letter() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    test.shop.execute("DELETE FROM webhook_body").await;
    test.deliver().await;
    assert_eq!(test.receiver.received().len(), 0);
    assert!(test.queue().await[0].is_dead);
    assert_eq!(test.attempts().await[0].3.as_deref(), Some("body_expired"));
}

/// Rows of the queue that were read by an index, or one after another.
const ROWS_READ: &str = "SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'webhook_delivery')
                               + (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'webhook_delivery'))::bigint";

/// Deliveries of a store that nobody delivers for.
const BURST: &str = "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
                     SELECT '00000000-0000-0000-0000-000000000009', '00000000-0000-0000-0000-000000000009', now(),
                            gen_random_uuid(), now(), 0, 0
                     FROM generate_series(1, 20000)";

/// Makes PostgreSQL believe that the queue has no rows, whatever its size.
async fn count_as_empty(test: &Dispatching) {
    test.shop.execute(BURST).await;
    test.shop.execute("DELETE FROM webhook_delivery").await;
    test.shop.execute("VACUUM ANALYZE webhook_delivery").await;
}

#[tokio::test]
async fn a_burst_after_an_empty_queue_was_counted_does_not_make_each_result_read_all_of_it() {
    let test = Dispatching::open().await;
    test.healthy_endpoint("/a").await;
    count_as_empty(&test).await;
    test.shop.execute(BURST).await;
    let before: i64 = count(&test).await;
    for number in 1..=5 {
        test.publish(number).await;
        test.deliver().await;
    }
    assert_eq!(test.receiver.count("/a"), 6);
    // Connections report what they read when they end.
    test.shop.test.database().close().await;
    let read = count(&test).await - before;
    assert!((5..10_000).contains(&read), "{read} rows were read");
}

#[tokio::test]
async fn a_burst_to_one_endpoint_does_not_make_each_start_read_all_of_it() {
    let test = Dispatching::open().await;
    test.healthy_endpoint("/a").await;
    count_as_empty(&test).await;
    for number in 1..=300 {
        test.publish(number).await;
    }
    let before: i64 = count(&test).await;
    test.deliver().await;
    assert_eq!(test.receiver.count("/a"), 301);
    test.shop.test.database().close().await;
    let read = count(&test).await - before;
    assert!((300..10_000).contains(&read), "{read} rows were read");
}

#[tokio::test]
async fn jobs_that_end_many_deliveries_do_not_read_all_of_them_for_each() {
    let test = Dispatching::open().await;
    // One is gone, one is deleted, and the deliveries of the third end with their event.
    test.endpoint("/a").await;
    let deleted = test.endpoint("/b").await.endpoint.id;
    test.endpoint("/c").await;
    count_as_empty(&test).await;
    test.publish(1).await;
    test.shop
        .execute(
            "INSERT INTO webhook_delivery (merchant_id, endpoint_id, event_at, event_id, due_at, attempts, starts)
             SELECT merchant_id, endpoint_id, event_at, md5(number::text)::uuid, due_at + interval '1 hour', 0, 0
             FROM webhook_delivery, generate_series(1, 2500) AS number",
        )
        .await;
    let before: i64 = count(&test).await;
    test.respond("/a", 410);
    test.deliver().await;
    test.shop.run_due::<DeadLetterDeliveries>().await;
    test.until_count("SELECT count(*) FROM webhook_delivery WHERE dead_at IS NOT NULL", 2501).await;
    test.shop.webhooks.delete(test.shop.merchant, actor(), deleted).await.unwrap();
    test.shop.advance(Duration::from_mins(2));
    test.shop.run_due::<DeleteDeliveries>().await;
    test.until_count("SELECT count(DISTINCT endpoint_id) FROM webhook_delivery", 2).await;
    test.shop.advance(31 * DAY);
    test.shop.run(&PurgeWebhooks::for_epoch(1)).await;
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    test.shop.test.database().close().await;
    let read = count(&test).await - before;
    // Some 78,000, and more on a busy machine, where rows stay in the indexes for longer. A statement that looks for each of its
    // rows among all of them reads millions.
    assert!((7_500..300_000).contains(&read), "{read} rows were read");
}

async fn count(test: &Dispatching) -> i64 {
    let mut connection = test.shop.test.raw().await;
    sqlx::query_scalar(ROWS_READ).fetch_one(&mut connection).await.unwrap()
}
