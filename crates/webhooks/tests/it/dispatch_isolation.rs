//! One bad receiver never delays another.

use std::time::Duration;

use tokio::time::Instant;
use webhooks::SealingKey;

use crate::dispatching::{Dispatching, Running};
use crate::receiver::Behavior;

/// Slots of the dispatchers; half of them are for healthy endpoints.
const SLOTS: usize = 8;

#[tokio::test]
async fn ten_endpoints_that_hang_do_not_delay_a_healthy_one() {
    let test = Dispatching::open().await;
    test.healthy_endpoint("/healthy").await;
    let paths: Vec<String> = (0..10).map(|number| format!("/hangs/{number}")).collect();
    let mut stores = Vec::new();
    for path in &paths {
        test.receiver.set(path, Behavior::Hang);
        let merchant = test.store(&format!("store-{}", stores.len())).await;
        test.endpoint_of(merchant, path).await;
        stores.push(merchant);
    }
    for number in 1..=4 {
        for merchant in &stores {
            test.publish_for(*merchant, number).await;
        }
    }
    let dispatcher = Running::start(test.dispatcher_with(SealingKey::new([7; 32]), SLOTS));
    let hanging = |test: &Dispatching| -> usize {
        paths.iter().map(|path| test.receiver.in_flight(path)).sum()
    };
    test.receiver.until(|_| hanging(&test) == SLOTS / 4).await;
    let since = Instant::now();
    for number in 1..=20 {
        test.publish(number).await;
        let count = 1 + usize::try_from(number).unwrap();
        test.receiver.until(|receiver| receiver.count("/healthy") == count).await;
        assert!(hanging(&test) <= SLOTS / 2, "{} hang", hanging(&test));
    }
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    dispatcher.kill().await;
}

#[tokio::test]
async fn an_endpoint_that_hangs_does_not_delay_the_others_of_its_store() {
    let test = Dispatching::open().await;
    test.endpoint("/hangs").await;
    test.receiver.set("/hangs", Behavior::Hang);
    test.endpoint("/b").await;
    let dispatcher = Running::start(test.dispatcher_with(SealingKey::new([7; 32]), SLOTS));
    for number in 1..=10 {
        test.publish(number).await;
        let count = usize::try_from(number).unwrap();
        test.receiver.until(|receiver| receiver.count("/b") == count).await;
    }
    assert_eq!(test.receiver.count("/hangs"), 1);
    dispatcher.kill().await;
}

#[tokio::test]
async fn a_store_has_at_most_twenty_requests_in_flight() {
    let test = Dispatching::open().await;
    let paths: Vec<String> = (0..20).map(|number| format!("/{number}")).collect();
    for path in &paths {
        test.endpoint(path).await;
    }
    test.publish(1).await;
    assert_eq!(test.deliver().await, 20);
    for path in &paths {
        test.receiver.set(path, Behavior::Gated);
    }
    for number in 2..=11 {
        test.publish(number).await;
    }
    let dispatcher = Running::start(test.dispatcher());
    let open = |test: &Dispatching| -> usize {
        paths.iter().map(|path| test.receiver.in_flight(path)).sum()
    };
    for received in 1..=200 {
        test.receiver.until(|receiver| receiver.received().len() >= 20 + received).await;
        assert!(open(&test) <= 20, "{}", open(&test));
        test.receiver.permit(1);
    }
    test.until_count("SELECT count(*) FROM webhook_delivery", 0).await;
    dispatcher.stop().await;
    assert_eq!(test.receiver.received().len(), 220, "each was sent once");
}
