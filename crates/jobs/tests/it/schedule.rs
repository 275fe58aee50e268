//! Schedules: each epoch is enqueued once, missed ones late.

use std::time::Duration;

use testkit::TestDatabase;
use tokio::sync::watch;

use crate::kinds::{Counter, Periodic, rows, runner};

#[tokio::test]
async fn two_workers_enqueue_each_epoch_once() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let (stop, stopped) = watch::channel(false);
    let work = |stopped| {
        let runner = runner(&test, &counter).every::<Periodic>(Duration::from_hours(1));
        tokio::spawn(runner.run(stopped))
    };
    let workers = [work(stopped.clone()), work(stopped)];
    wait_until(&test, &counter, 1).await;
    // After an outage of three hours, three epochs are enqueued late.
    test.clock().advance(Duration::from_hours(3));
    wait_until(&test, &counter, 4).await;
    // Each further epoch gives both workers the chance to enqueue one twice.
    for expected in [5, 6, 7] {
        test.clock().advance(Duration::from_hours(1));
        wait_until(&test, &counter, expected).await;
    }
    stop.send(true).unwrap();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!((counter.value(), rows(&test, "job").await), (7, 0));
}

/// Waits until the counter has reached the value and the queue is empty: a lease must not expire when the clock advances.
async fn wait_until(test: &TestDatabase, counter: &Counter, value: u32) {
    let reached = async {
        while counter.value() < value || rows(test, "job").await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), reached).await;
    assert!(waited.is_ok(), "the counter stayed at {}", counter.value());
}
