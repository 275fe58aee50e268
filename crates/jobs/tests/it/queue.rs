//! The queue: once, later, never half.

use std::time::Duration;

use database::{Reading, Work};
use jobs::Job;
use primitives::{Id, JobId, MerchantId};
use testkit::TestDatabase;

use crate::kinds::{Chain, Count, Counter, Panic, StoreChore, Stumble, enqueue, rows, runner};

#[tokio::test]
async fn a_job_exists_only_if_its_cause_was_committed() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::enqueue(&mut work, &Count { failures: 0 }).await.unwrap();
    work.abandon().await.unwrap();
    assert_eq!(runner(&test, &counter).run_until_idle().await.unwrap(), 0);
    enqueue(&test, &Count { failures: 0 }).await;
    assert_eq!(runner(&test, &counter).run_until_idle().await.unwrap(), 1);
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));
}

#[tokio::test]
async fn a_failed_job_comes_back_later_and_dies_in_the_end() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Count { failures: 1 }).await;
    enqueue(&test, &Count { failures: 9 }).await;
    for expected in [2, 4, 5] {
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!(counter.value(), expected);
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!(counter.value(), expected, "it came back before its time");
        test.clock().advance(Duration::from_secs(10));
    }
    let dead = jobs::dead_jobs(&Reading::for_platform(test.database()), 10).await.unwrap();
    assert_eq!((dead.len(), dead[0].attempts, dead[0].reason.as_str()), (1, 3, "failed"));
    assert_eq!(dead[0].last_error.as_deref(), Some("not yet"));

    let mut work = Work::for_platform(test.database()).await.unwrap();
    assert!(jobs::revive(&mut work, dead[0].id).await.unwrap());
    work.commit().await.unwrap();
    assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (1, 0));
}

#[tokio::test]
async fn a_panic_is_a_failure_and_takes_nobody_along() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Panic).await;
    enqueue(&test, &Count { failures: 0 }).await;
    runner(&test, &counter).run_until_idle().await.unwrap();
    test.clock().advance(Duration::from_secs(10));
    runner(&test, &counter).run_until_idle().await.unwrap();
    assert_eq!((counter.value(), rows(&test, "dead_job").await), (1, 1));
}

#[tokio::test]
async fn an_effect_and_its_job_are_committed_together() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Chain { advance_past_lease: false }).await;
    runner(&test, &counter).run_until_idle().await.unwrap();
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));
}

#[tokio::test]
async fn a_run_whose_lease_has_ended_commits_nothing() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Chain { advance_past_lease: true }).await;
    // The first run moves the clock past its own lease; it counts as a worker that never came back.
    runner(&test, &counter).run_until_idle().await.unwrap();
    let crashes: Option<i32> = sqlx::query_scalar("SELECT crashes FROM job WHERE kind = 'chain'")
        .fetch_optional(&mut test.raw().await)
        .await
        .unwrap();
    assert_ne!(crashes, Some(0), "the job was finished by a run that had lost it");
    assert!(counter.value() <= 1);
}

#[tokio::test]
async fn a_job_that_comes_further_after_each_crash_is_no_culprit() {
    for (advances, dead) in [(true, 0), (false, 1)] {
        let test = TestDatabase::new().await;
        let counter = Counter::default();
        let merchant = MerchantId::from_random(1);
        enqueue(&test, &Stumble { merchant, steps: 12, advances }).await;
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (0, dead));
        assert_eq!(counter.value() == 12, advances);
    }
}

#[tokio::test]
async fn one_key_is_queued_once() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let now = work.now();
    let first = jobs::enqueue_once(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    let second = jobs::enqueue_once(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    assert!(first.is_some() && second.is_none());
    work.commit().await.unwrap();
    runner(&test, &Counter::default()).run_until_idle().await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let third = jobs::enqueue_once(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    assert!(third.is_some(), "a finished job's key is free again");
}

#[tokio::test]
async fn a_store_can_enqueue_but_reads_no_payload() {
    let test = TestDatabase::new().await;
    let merchant = MerchantId::from_random(1);
    let mut work = Work::for_store(test.database(), merchant).await.unwrap();
    let id: JobId = jobs::enqueue(&mut work, &Count { failures: 0 }).await.unwrap();
    assert!(id.to_string().starts_with("job_"));
    let read = sqlx::query("SELECT payload FROM job").fetch_all(work.sql()).await;
    assert!(read.unwrap_err().to_string().contains("permission denied"));
    assert_eq!(Count::NAME, "count");
}

#[tokio::test]
async fn a_stores_job_reaches_itself_and_no_other() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let (ours, theirs) = (MerchantId::from_random(1), MerchantId::from_random(2));
    enqueue(&test, &StoreChore { merchant: ours }).await;
    runner(&test, &counter).run_until_idle().await.unwrap();
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));

    enqueue(&test, &StoreChore { merchant: theirs }).await;
    let mut work = Work::for_store(test.database(), ours).await.unwrap();
    let gone = sqlx::query("DELETE FROM job").execute(work.sql()).await.unwrap();
    assert_eq!(gone.rows_affected(), 0, "a store's work removed another's job");
    let forged = jobs::enqueue(&mut work, &StoreChore { merchant: theirs }).await;
    assert!(format!("{forged:?}").contains("row-level security"));
}

#[tokio::test]
async fn the_figures_tell_how_the_queue_is_doing() {
    let test = TestDatabase::new().await;
    enqueue(&test, &Count { failures: 0 }).await;
    jobs::keep_house(test.database()).await.unwrap();
    test.clock().advance(Duration::from_secs(5));
    let measures = jobs::measure(&Reading::for_platform(test.database())).await.unwrap();
    assert_eq!((measures.due, measures.dead, measures.suspects), (1, 0, 0));
    assert!((measures.oldest_due_seconds - 5.0).abs() < 0.001);
}
