//! Transactions that are held open, as by a paused process: nobody waits for them.

use std::time::Duration;

use sqlx::PgConnection;
use webhooks::EndpointPatch;

use crate::dispatching::{Dispatching, Running};
use crate::receiver::Behavior;
use crate::shop::actor;

const PENDING: &str = "SELECT count(*) FROM webhook_delivery";

/// Executes SQL in a transaction that stays open.
async fn hold(test: &Dispatching, sql: &'static str) -> PgConnection {
    let mut connection = test.shop.test.raw().await;
    sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection
}

async fn roll_back(mut connection: PgConnection) {
    sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
}

#[tokio::test]
async fn a_dispatcher_that_is_paused_in_a_transaction_delays_nobody_else() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    for locks in [
        "UPDATE webhook_queue SET due_at = due_at",
        "SELECT FROM webhook_queue FOR UPDATE",
        "SELECT FROM webhook_queue FOR KEY SHARE",
    ] {
        let paused = hold(&test, locks).await;
        let count = test.receiver.count("/a");
        let other = test.store(&format!("store-{count}")).await;
        let path = format!("/other/{count}");
        test.endpoint_of(other, &path).await;
        // Neither a purchase nor a merchant waits.
        test.publish(u128::try_from(count).unwrap() + 1).await;
        test.endpoint(&format!("/more/{count}")).await;
        let dispatcher = Running::start(test.dispatcher());
        test.publish_for(other, 1).await;
        test.receiver.until(|receiver| receiver.count(&path) == 1).await;
        roll_back(paused).await;
        test.receiver.until(|receiver| receiver.count("/a") == count + 1).await;
        test.until_count(PENDING, 0).await;
        dispatcher.stop().await;
    }
}

#[tokio::test]
async fn a_store_that_is_locked_by_a_wake_is_delivered_for_by_its_owner() {
    let test = Dispatching::open().await;
    let dispatcher = test.start_gated(test.dispatcher(), 3).await;
    let paused = hold(&test, "UPDATE webhook_queue SET due_at = now()").await;
    test.receiver.permit(3);
    test.until_count(PENDING, 0).await;
    roll_back(paused).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_recovery_waits_for_no_pending_delivery() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    let start = test.shop.now();
    test.publish(1).await;
    test.shop.advance(Duration::from_secs(1));
    let recording = hold(&test, "SELECT FROM webhook_delivery FOR UPDATE").await;
    let recovery = test.shop.webhooks.recover(test.shop.merchant, id, start, None).await.unwrap();
    assert_eq!(recovery.queued, 0);
    roll_back(recording).await;
}

#[tokio::test]
async fn a_result_whose_row_is_locked_does_not_keep_the_others() {
    let test = Dispatching::open().await;
    for path in ["/a", "/b"] {
        test.endpoint(path).await;
        test.receiver.set(path, Behavior::Gated);
    }
    test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.received().len() == 2).await;
    let lock = "SELECT FROM webhook_delivery JOIN webhook_endpoint USING (merchant_id, endpoint_id)
                WHERE url LIKE '%/a' FOR UPDATE OF webhook_delivery";
    let paused = hold(&test, lock).await;
    test.receiver.permit(2);
    test.until_count(PENDING, 1).await;
    roll_back(paused).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn results_of_a_batch_wait_only_briefly_for_the_one_whose_row_is_locked() {
    let test = Dispatching::open().await;
    for number in 0..20 {
        test.endpoint(&format!("/{number}")).await;
    }
    for number in 1..=5 {
        test.publish(number).await;
    }
    // The next success of each is recorded.
    let health = "INSERT INTO webhook_health (merchant_id, endpoint_id, last_success_at, consecutive_failures)
                  SELECT merchant_id, endpoint_id, '2026-11-14 08:00:00Z', 0 FROM webhook_endpoint";
    test.shop.execute(health).await;
    let lock = "SELECT FROM webhook_health JOIN webhook_endpoint USING (merchant_id, endpoint_id)
                WHERE url LIKE '%/0' FOR UPDATE OF webhook_health";
    let paused = hold(&test, lock).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.received().len() == 100).await;
    let recorded = test.until_count(PENDING, 1);
    let in_time = tokio::time::timeout(Duration::from_secs(2), recorded).await;
    assert!(in_time.is_ok(), "the others wait for the row that is locked");
    roll_back(paused).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_result_is_recorded_once_if_its_row_is_changed_at_the_same_time() {
    let test = Dispatching::open().await;
    let dispatcher = test.start_gated(test.dispatcher(), 1).await;
    let mut change = hold(&test, "UPDATE webhook_delivery SET due_at = due_at").await;
    test.receiver.permit(1);
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND wait_event_type = 'Lock'";
    test.until_count(waiting, 1).await;
    sqlx::raw_sql("COMMIT").execute(&mut change).await.unwrap();
    test.until_count(PENDING, 0).await;
    dispatcher.stop().await;
    test.until_count("SELECT count(*) FROM webhook_attempt", 1).await;
    assert_eq!(test.receiver.count("/a"), 1, "nothing is sent twice");
}

#[tokio::test]
async fn a_delivery_whose_row_is_locked_does_not_keep_others_from_starting() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.endpoint("/b").await;
    test.publish(1).await;
    let lock = "SELECT FROM webhook_delivery JOIN webhook_endpoint USING (merchant_id, endpoint_id)
                WHERE url LIKE '%/a' FOR UPDATE OF webhook_delivery";
    let paused = hold(&test, lock).await;
    let dispatcher = Running::start(test.dispatcher());
    test.until_count(PENDING, 1).await;
    assert_eq!((test.receiver.count("/a"), test.receiver.count("/b")), (0, 1));
    roll_back(paused).await;
    test.until_count(PENDING, 0).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_store_that_another_process_has_locked_and_not_taken_stays_with_its_owner() {
    let test = Dispatching::open().await;
    let dispatcher = test.start_gated(test.dispatcher(), 3).await;
    let paused = hold(&test, "SELECT FROM webhook_queue FOR UPDATE").await;
    test.receiver.permit(3);
    tokio::time::sleep(Duration::from_millis(300)).await;
    roll_back(paused).await;
    test.until_count(PENDING, 0).await;
    assert_eq!(test.receiver.count("/a"), 3, "nothing is sent twice");
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_delivery_that_is_requested_during_its_attempt_is_attempted_again_at_once() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.receiver.set("/a", Behavior::GatedFailure);
    let event = test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    test.shop.advance(Duration::from_secs(1));
    test.shop.webhooks.redeliver(test.shop.merchant, id, event, None).await.unwrap();
    let requested_at = test.shop.now();
    test.receiver.permit(1);
    test.until_count("SELECT count(*) FROM webhook_attempt", 1).await;
    dispatcher.kill().await;
    assert_eq!(test.queue().await[0].due_at, requested_at);
}

#[tokio::test]
async fn a_delivery_that_is_requested_during_its_last_attempt_is_no_dead_letter() {
    let test = Dispatching::open().await;
    let id = test.endpoint("/a").await.endpoint.id;
    test.receiver.set("/a", Behavior::GatedFailure);
    let event = test.publish(1).await;
    test.shop.execute("UPDATE webhook_delivery SET attempts = 9, starts = 9").await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    test.shop.advance(Duration::from_secs(1));
    test.shop.webhooks.redeliver(test.shop.merchant, id, event, None).await.unwrap();
    test.receiver.permit(1);
    test.until_count("SELECT count(*) FROM webhook_attempt", 1).await;
    dispatcher.kill().await;
    let row = test.queue().await[0].clone();
    assert_eq!((row.is_dead, row.attempts, row.due_at), (false, 0, test.shop.now()));
    let outcome =
        "SELECT count(*) FROM webhook_attempt WHERE outcome = 'retry' AND next_at IS NOT NULL";
    test.until_count(outcome, 1).await;
}

#[tokio::test]
async fn a_failure_counts_although_the_description_was_changed_meanwhile_and_not_after_a_move() {
    for (moves, failures) in [(false, 1), (true, 0)] {
        let test = Dispatching::open().await;
        let id = test.endpoint("/a").await.endpoint.id;
        test.receiver.set("/a", Behavior::GatedFailure);
        test.publish(1).await;
        let dispatcher = Running::start(test.dispatcher());
        test.receiver.until(|receiver| receiver.count("/a") == 1).await;
        let patch = EndpointPatch {
            url: moves.then(|| test.receiver.url("/b")),
            description: Some(String::from("till")),
            ..EndpointPatch::default()
        };
        let merchant = test.shop.merchant;
        test.shop.webhooks.update(merchant, actor(), id, patch, None).await.unwrap();
        test.receiver.permit(1);
        test.until_count("SELECT count(*) FROM webhook_attempt", 1).await;
        dispatcher.kill().await;
        let (_, health) = test.shop.webhooks.find_with_health(merchant, id).await.unwrap();
        assert_eq!(health.consecutive_failures, failures);
    }
}

#[tokio::test]
async fn a_request_that_is_given_up_with_the_lease_counts_as_not_started() {
    let test = Dispatching::open().await;
    let dispatcher = test.dispatcher_with_lease(Duration::from_secs(2));
    let dispatcher = test.start_gated(dispatcher, 1).await;
    // As if the database had been away for longer than the lease.
    test.shop.execute("UPDATE webhook_worker SET lease_until = '-infinity'").await;
    test.until_count("SELECT count(*) FROM webhook_delivery WHERE starts = 0", 1).await;
    dispatcher.kill().await;
    let queue = test.queue().await;
    assert_eq!((queue[0].attempts, queue[0].is_dead), (0, false));
    assert_eq!(queue[0].due_at, test.shop.now().plus(Duration::from_secs(5)));
}
