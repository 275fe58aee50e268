//! Several dispatchers, and dispatchers that end: who delivers for a store, and whose results count.

use std::time::Duration;

use webhooks::EndpointPatch;

use crate::dispatching::{Dispatching, LEASE, Running};
use crate::receiver::Behavior;
use crate::shop::actor;

const OWNED: &str = "SELECT count(*) FROM webhook_queue WHERE owner IS NOT NULL";
const LEASES: &str = "SELECT count(*) FROM webhook_worker";

#[tokio::test]
async fn what_a_killed_dispatcher_had_is_delivered_when_its_lease_has_expired() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Hang);
    let event = test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    dispatcher.kill().await;
    let undue = "SELECT count(*) FROM webhook_queue WHERE owner IS NOT NULL AND due_at IS NULL";
    assert_eq!(test.shop.count(undue).await, 1, "nothing but the lease tells that it is gone");

    test.respond("/a", 200);
    assert_eq!(test.deliver().await, 0, "the lease is valid");
    test.shop.advance(LEASE);
    assert_eq!(test.deliver().await, 1);
    assert_eq!(test.queue().await, []);
    let received = test.receiver.received();
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(received[1].headers["webhook-id"], event.to_string());
    assert_ne!(
        received[0].headers["x-webhook-signature"], received[1].headers["x-webhook-signature"],
        "each attempt has its own time"
    );
}

#[tokio::test]
async fn the_result_of_a_dispatcher_that_was_replaced_changes_nothing() {
    let test = Dispatching::open().await;
    let stale = test.start_gated(test.dispatcher(), 1).await;
    let before = test.queue().await;
    test.replace_owner().await;
    test.receiver.permit(1);
    test.receiver.until(|receiver| receiver.in_flight("/a") == 0).await;
    stale.stop().await;
    assert_eq!(test.queue().await, before);
    assert_eq!(test.attempts().await, []);
    assert_eq!(test.shop.count(OWNED).await, 1, "and releases nothing");
}

#[tokio::test]
async fn a_dispatcher_that_was_replaced_starts_nothing_more() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    test.publish(1).await;
    test.publish(2).await;
    let stale = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    test.replace_owner().await;
    test.receiver.permit(5);
    test.receiver.until(|receiver| receiver.in_flight("/a") == 0).await;
    stale.stop().await;
    assert_eq!(test.receiver.count("/a"), 1);
    let starts: Vec<i16> = test.queue().await.iter().map(|row| row.starts).collect();
    assert_eq!(starts.iter().sum::<i16>(), 1);
}

#[tokio::test]
async fn two_dispatchers_never_have_more_than_two_requests_at_an_endpoint() {
    let test = Dispatching::open().await;
    test.healthy_endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    let [first, second] = [Running::start(test.dispatcher()), Running::start(test.dispatcher())];
    for number in 1..=30 {
        test.publish(number).await;
    }
    for received in 2..=31 {
        test.receiver.until(|receiver| receiver.count("/a") >= received).await;
        test.receiver.permit(1);
    }
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    first.stop().await;
    second.stop().await;
    assert_eq!(test.receiver.count("/a"), 31, "each was sent once");
    assert_eq!(test.receiver.most_in_flight("/a"), 2);
}

#[tokio::test]
async fn an_event_of_a_store_that_is_being_delivered_for_is_sent_without_waiting() {
    let test = Dispatching::open().await;
    test.endpoint("/hangs").await;
    test.receiver.set("/hangs", Behavior::Gated);
    test.publish(1).await;
    let dispatchers = [Running::start(test.dispatcher()), Running::start(test.dispatcher())];
    test.receiver.until(|receiver| receiver.count("/hangs") == 1).await;
    // Whichever of them sees the event, the one that owns the store sends it.
    test.endpoint("/b").await;
    for number in 2..=10 {
        test.publish(number).await;
        let count = usize::try_from(number - 1).unwrap();
        test.receiver.until(|receiver| receiver.count("/b") == count).await;
    }
    assert_eq!(test.receiver.count("/hangs"), 1);
    test.receiver.permit(100);
    for dispatcher in dispatchers {
        dispatcher.stop().await;
    }
}

#[tokio::test]
async fn a_dispatcher_that_is_stopped_ends_what_is_in_flight_and_releases_its_stores() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    assert_eq!((test.shop.count(OWNED).await, test.shop.count(LEASES).await), (1, 1));
    test.publish(2).await;
    dispatcher.tell_to_stop();
    test.receiver.permit(1);
    dispatcher.ended().await;
    assert_eq!((test.shop.count(OWNED).await, test.shop.count(LEASES).await), (0, 0));
    assert_eq!(test.queue().await.len(), 1, "the first was delivered, the second not started");
    assert_eq!(test.receiver.count("/a"), 1);
    test.receiver.permit(1);
    assert_eq!(test.deliver().await, 1, "another one delivers it at once");
}

#[tokio::test]
async fn a_store_is_released_until_its_next_attempt_is_due() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.respond("/a", 500);
    test.publish(1).await;
    test.deliver().await;
    let due_at = test.queue().await[0].due_at;
    let queued: (Option<primitives::Timestamp>, Option<uuid::Uuid>) =
        sqlx::query_as("SELECT due_at, owner FROM webhook_queue")
            .fetch_one(&mut test.shop.test.raw().await)
            .await
            .unwrap();
    assert_eq!(queued, (Some(due_at), None));
    test.respond("/a", 200);
    test.shop.advance(Duration::from_secs(6));
    assert_eq!(test.deliver().await, 1);
    let due = "SELECT count(*) FROM webhook_queue WHERE due_at IS NOT NULL";
    assert_eq!(test.shop.count(due).await, 0, "there is nothing to do");
}

#[tokio::test]
async fn an_idle_store_is_released_while_the_dispatcher_runs() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    let dispatcher = Running::start(test.dispatcher());
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    test.until_count(OWNED, 0).await;
    test.publish(2).await;
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_store_whose_owner_has_no_lease_is_delivered_for() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.publish(1).await;
    test.replace_owner().await;
    assert_eq!(test.deliver().await, 0);
    test.shop.execute("DELETE FROM webhook_worker").await;
    assert_eq!(test.deliver().await, 1);
}

#[tokio::test]
async fn a_wake_of_a_store_without_a_row_in_the_queue_is_not_lost() {
    let test = Dispatching::open().await;
    test.endpoint("/a").await;
    test.shop.execute("DELETE FROM webhook_queue").await;
    test.publish(1).await;
    assert_eq!(test.deliver().await, 1);
}

#[tokio::test]
async fn nothing_more_is_sent_to_a_deleted_endpoint() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/a").await;
    test.receiver.set("/a", Behavior::Gated);
    for number in 1..=3 {
        test.publish(number).await;
    }
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/a") == 1).await;
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    test.shop.webhooks.delete(merchant, actor(), id).await.unwrap();
    test.receiver.permit(10);
    test.until_count("SELECT count(*) FROM webhook_delivery", 2).await;
    // The event of another endpoint shows that the dispatcher has gone on.
    test.endpoint("/b").await;
    test.publish(4).await;
    test.receiver.until(|receiver| receiver.count("/b") == 1).await;
    dispatcher.stop().await;
    assert_eq!(test.receiver.count("/a"), 1);
}

#[tokio::test]
async fn an_attempt_goes_to_the_address_that_the_endpoint_has_then() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/old").await;
    test.receiver.set("/old", Behavior::Gated);
    test.publish(1).await;
    test.publish(2).await;
    let dispatcher = Running::start(test.dispatcher());
    test.receiver.until(|receiver| receiver.count("/old") == 1).await;
    let url = Some(test.receiver.url("/new"));
    let patch = EndpointPatch { url, ..EndpointPatch::default() };
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    test.shop.webhooks.update(merchant, actor(), id, patch, None).await.unwrap();
    test.receiver.permit(1);
    test.receiver.until(|receiver| receiver.count("/new") == 1).await;
    dispatcher.stop().await;
    assert_eq!(test.receiver.count("/old"), 1);
}

#[tokio::test]
async fn an_address_that_is_gone_does_not_disable_an_endpoint_that_has_moved_meanwhile() {
    let test = Dispatching::open().await;
    let created = test.endpoint("/old").await;
    test.respond("/old", 410);
    let event = test.publish(1).await;
    let (merchant, id) = (test.shop.merchant, created.endpoint.id);
    // As if the merchant had moved it while the request was in flight.
    test.shop
        .execute(
            "CREATE FUNCTION move_endpoint() RETURNS trigger LANGUAGE plpgsql AS $$
             BEGIN
                 IF NEW.starts > OLD.starts THEN
                     UPDATE webhook_endpoint SET health_version = 9 WHERE endpoint_id = NEW.endpoint_id;
                 END IF;
                 RETURN NEW;
             END $$",
        )
        .await;
    test.shop
        .execute(
            "CREATE TRIGGER move_endpoint BEFORE UPDATE ON webhook_delivery
             FOR EACH ROW EXECUTE FUNCTION move_endpoint()",
        )
        .await;
    assert_eq!(test.deliver().await, 1);
    assert!(test.shop.webhooks.find(merchant, id).await.unwrap().is_enabled());
    let queue = test.queue().await;
    assert_eq!((queue[0].event, queue[0].attempts, queue[0].is_dead), (event, 1, false));
}
