//! Schedules: each epoch is enqueued once; missed ones are skipped, and those of a schedule that is not done.

use std::time::Duration;

use database::Work;
use jobs::{JobFilter, Runner, RunnerSettings};
use primitives::Timestamp;
use testkit::TestDatabase;
use tokio::sync::watch;

use crate::kinds::{Counter, Failing, Fault, Periodic, rows, runner};

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
    // After an outage of three hours, one job covers what was missed.
    test.clock().advance(Duration::from_hours(3));
    wait_until(&test, &counter, 2).await;
    // Each further epoch gives both workers the chance to enqueue one twice.
    for expected in [3, 4, 5] {
        test.clock().advance(Duration::from_hours(1));
        wait_until(&test, &counter, expected).await;
    }
    stop.send(true).unwrap();
    for worker in workers {
        worker.await.unwrap();
    }
    assert_eq!((counter.value(), rows(&test, "job").await), (5, 0));
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

/// Runs a schedule that always ends with the fault for a number of hours, and returns its runs.
async fn run_failing(test: &TestDatabase, fault: Fault, hours: u32) -> u32 {
    let (stop, stopped) = watch::channel(false);
    let counter = Counter::default();
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<Failing>((counter.clone(), fault))
        .every::<Failing>(Duration::from_hours(1));
    let worker = tokio::spawn(runner.run(stopped));
    for _ in 0..hours {
        let before = counter.value();
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        // The delay of the last attempt is over, and the next epoch is due.
        assert!(counter.value() <= before + 2, "an epoch was tried again and again");
        test.clock().advance(Duration::from_hours(1));
    }
    stop.send(true).unwrap();
    worker.await.unwrap();
    counter.value()
}

#[tokio::test]
async fn a_schedule_that_fails_is_tried_in_every_period_and_is_no_dead_letter() {
    let test = TestDatabase::new().await;
    let runs = run_failing(&test, Fault::Failed, 4).await;
    assert!((3..=8).contains(&runs), "{runs} runs in 4 periods");
    assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (1, 0));
    let reading = database::Reading::for_platform(test.database());
    assert_eq!(jobs::queue_stats(&reading).await.unwrap().failing_schedules, 1);
}

#[tokio::test]
async fn a_schedule_adds_no_second_dead_letter() {
    let test = TestDatabase::new().await;
    run_failing(&test, Fault::Permanent, 3).await;
    let reading = database::Reading::for_platform(test.database());
    let listed = jobs::list(&reading, &JobFilter::default(), 10).await.unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
}

#[tokio::test]
async fn a_suspended_schedule_tries_again_later() {
    let test = TestDatabase::new().await;
    let (stop, stopped) = watch::channel(false);
    let counter = Counter::default();
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .register::<Failing>((counter.clone(), Fault::Permanent))
        .every::<Failing>(Duration::from_mins(1));
    let worker = tokio::spawn(runner.run(stopped));
    let mut runs = Vec::new();
    for minutes in [10, 49, 10] {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        runs.push(counter.value());
        test.clock().advance(Duration::from_mins(minutes));
    }
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    runs.push(counter.value());
    stop.send(true).unwrap();
    worker.await.unwrap();
    assert_eq!(runs, [1, 1, 1, 2], "tried again after an hour");
    assert_eq!(rows(&test, "dead_job").await, 1);
}

#[tokio::test]
async fn a_schedule_whose_job_is_quarantined_tries_again_after_an_hour() {
    let test = TestDatabase::new().await;
    let now = Work::for_platform(test.database()).await.unwrap().now();
    sqlx::query(
        "INSERT INTO dead_job (id, kind, payload, reason, attempts, crashes, enqueued_at, died_at)
         VALUES (gen_random_uuid(), 'periodic', '{\"epoch\": 0}', 'quarantined', 0, 4, $1, $1)",
    )
    .bind::<Timestamp>(now)
    .execute(&mut test.raw().await)
    .await
    .unwrap();
    let (stop, stopped) = watch::channel(false);
    let counter = Counter::default();
    let runner = runner(&test, &counter).every::<Periodic>(Duration::from_mins(1));
    let worker = tokio::spawn(runner.run(stopped));
    test.clock().advance(Duration::from_mins(59));
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(counter.value(), 0, "each try may crash workers");
    test.clock().advance(Duration::from_mins(2));
    wait_until(&test, &counter, 1).await;
    stop.send(true).unwrap();
    worker.await.unwrap();
    assert_eq!(rows(&test, "dead_job").await, 0);
}
