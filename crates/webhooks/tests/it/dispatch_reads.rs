//! Stores that cannot be read, or only slowly: no other waits for them.

use std::time::Duration;

use primitives::MerchantId;

use crate::dispatching::{Dispatching, Running};

/// Reading the health of the endpoints of the first store calls a function.
const POLICY: &str = "CREATE POLICY unreadable ON webhook_health AS RESTRICTIVE FOR SELECT TO souk_platform USING (
                          merchant_id <> (SELECT merchant_id FROM store WHERE slug = 'attic') OR read_health())";

/// The same for all stores but one.
const POLICY_OF_MANY: &str = "CREATE POLICY unreadable ON webhook_health AS RESTRICTIVE FOR SELECT TO souk_platform USING (
                                  merchant_id = (SELECT merchant_id FROM store WHERE slug = 'cellar') OR read_health())";
/// It is not over when the clock is advanced by a minute.
const LONG_LEASE: Duration = Duration::from_mins(10);
const READS_UNDER_WAY: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
const REFUSE: &str = "CREATE FUNCTION read_health() RETURNS boolean LANGUAGE plpgsql AS $$
                      BEGIN
                          RAISE EXCEPTION 'this row cannot be read';
                      END $$";
const SLEEP: &str = "CREATE FUNCTION read_health() RETURNS boolean LANGUAGE plpgsql AS $$
                     BEGIN
                         PERFORM pg_sleep(30);
                         RETURN true;
                     END $$";

/// Creates an endpoint of the first store, which has a health, and one of another, which has none, and publishes an event of each. From
/// then on, a read of the first store calls the function. Returns the other store.
async fn disturb_reads(test: &Dispatching, function: &'static str) -> MerchantId {
    test.healthy_endpoint("/unreadable").await;
    let other = test.store("cellar").await;
    test.endpoint_of(other, "/b").await;
    test.shop.execute(function).await;
    test.shop.execute(POLICY).await;
    test.publish(1).await;
    test.publish_for(other, 1).await;
    other
}

/// Lets the first store be read again, and waits until its event is delivered.
async fn restore_reads(test: &Dispatching) {
    assert_eq!(test.receiver.count("/unreadable"), 1);
    test.shop.execute("DROP POLICY unreadable ON webhook_health").await;
    test.shop.advance(Duration::from_mins(1));
    test.receiver.until(|receiver| receiver.count("/unreadable") == 2).await;
}

#[tokio::test]
async fn a_store_that_cannot_be_read_keeps_no_other_waiting() {
    let test = Dispatching::open().await;
    let other = disturb_reads(&test, REFUSE).await;
    let dispatcher = Running::start(test.dispatcher_with_lease(LONG_LEASE));
    test.receiver.until(|receiver| receiver.count("/b") == 1).await;
    test.publish_for(other, 2).await;
    test.receiver.until(|receiver| receiver.count("/b") == 2).await;
    restore_reads(&test).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn a_store_that_is_read_slowly_keeps_no_other_waiting_and_no_lease_is_lost() {
    let test = Dispatching::open().await;
    let other = disturb_reads(&test, SLEEP).await;
    let dispatcher = Running::start(test.dispatcher());
    let delivered = test.receiver.until(|receiver| receiver.count("/b") == 1);
    // Less than the limit of the pool for one statement.
    let in_time = tokio::time::timeout(Duration::from_secs(8), delivered).await;
    assert!(in_time.is_ok(), "another store waits for one that is slow");
    test.publish_for(other, 2).await;
    test.receiver.until(|receiver| receiver.count("/b") == 2).await;
    test.until_count("SELECT count(*) FROM webhook_worker", 1).await;
    restore_reads(&test).await;
    dispatcher.stop().await;
}

#[tokio::test]
async fn many_stores_that_are_read_slowly_keep_no_other_waiting() {
    let test = Dispatching::open().await;
    let healthy = test.store("cellar").await;
    test.endpoint_of(healthy, "/healthy").await;
    let mut slow = Vec::new();
    for number in 1..=40 {
        let store = test.store(&format!("slow-{number}")).await;
        test.endpoint_of(store, "/slow").await;
        test.publish_for(store, 1_000 + number).await;
        slow.push((store, number));
    }
    // Their endpoints have a health, and each read of it takes as long as it may.
    assert_eq!(test.deliver().await, 40);
    test.shop.execute(SLEEP).await;
    test.shop.execute(POLICY_OF_MANY).await;
    for (store, number) in slow {
        test.publish_for(store, number).await;
    }
    let dispatcher = Running::start(test.dispatcher_with_lease(LONG_LEASE));
    test.until_count(READS_UNDER_WAY, 1).await;
    for number in 1..=3 {
        test.publish_for(healthy, number).await;
        let delivered =
            test.receiver.until(|it| it.count("/healthy") == usize::try_from(number).unwrap());
        let in_time = tokio::time::timeout(Duration::from_secs(8), delivered).await;
        assert!(in_time.is_ok(), "a store waits for those that are slow");
    }
    assert_eq!(test.receiver.count("/slow"), 40);
    test.shop.execute("DROP POLICY unreadable ON webhook_health").await;
    test.shop.advance(Duration::from_mins(1));
    test.receiver.until(|receiver| receiver.count("/slow") == 80).await;
    test.until_count("SELECT count(*) FROM webhook_worker", 1).await;
    dispatcher.stop().await;
}
