//! Schedules: each round once, late ones made up.

use std::time::Duration;

use testkit::TestDatabase;
use tokio::sync::watch;

use crate::kinds::{Counter, Round, rows, runner};

#[tokio::test]
async fn two_workers_enqueue_each_round_once() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let (stop, stopped) = watch::channel(false);
    let work = |stopped| {
        let runner = runner(&test, &counter).every::<Round>(Duration::from_hours(1));
        tokio::spawn(runner.run(stopped))
    };
    let workers = [work(stopped.clone()), work(stopped)];
    wait_until(&counter, 1).await;
    // A standstill of three hours: three rounds are made up.
    test.clock().advance(Duration::from_hours(3));
    wait_until(&counter, 4).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    stop.send(true).unwrap();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!((counter.value(), rows(&test, "job").await), (4, 0));
}

async fn wait_until(counter: &Counter, value: u32) {
    for _ in 0..200 {
        if counter.value() >= value {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the counter stayed at {}", counter.value());
}
