//! The queue: attempts, leases, dead letters.

use std::time::Duration;

use database::{Reading, Work};
use jobs::{Job, JobCursor, JobFilter, JobInfo, JobState, QueueError, Revival};
use primitives::{Id, JobId, MerchantId};
use testkit::TestDatabase;

use crate::kinds::{Chain, Count, Counter, Interrupted, Panic, StoreJob, enqueue, rows, runner};

#[tokio::test]
async fn a_job_exists_only_if_its_cause_commits() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::enqueue(&mut work, &Count { failures: 0 }).await.unwrap();
    work.rollback().await.unwrap();
    assert_eq!(runner(&test, &counter).run_until_idle().await.unwrap(), 0);
    enqueue(&test, &Count { failures: 0 }).await;
    assert_eq!(runner(&test, &counter).run_until_idle().await.unwrap(), 1);
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));
}

#[tokio::test]
async fn a_failed_job_is_retried_later_and_becomes_a_dead_letter() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Count { failures: 1 }).await;
    enqueue(&test, &Count { failures: 9 }).await;
    for expected in [2, 4, 5] {
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!(counter.value(), expected);
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!(counter.value(), expected, "it was retried too early");
        test.clock().advance(Duration::from_secs(10));
    }
    let dead = dead_jobs(&test).await;
    assert_eq!((dead.len(), dead[0].attempts, dead[0].state), (1, 3, JobState::Dead));
    assert_eq!(dead[0].last_error.as_deref(), Some("not yet"));

    let mut work = Work::for_platform(test.database()).await.unwrap();
    let (was, revival) = jobs::revive(&mut work, dead[0].id).await.unwrap();
    assert_eq!((was.kind.as_str(), was.state, revival), ("count", JobState::Dead, Revival::Queued));
    let again = jobs::revive(&mut work, dead[0].id).await.unwrap_err();
    assert!(matches!(again, QueueError::NotDead(_, JobState::Due)), "{again}");
    work.commit().await.unwrap();
    assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (1, 0));
}

async fn dead_jobs(test: &TestDatabase) -> Vec<JobInfo> {
    let filter = JobFilter { state: Some(JobState::Dead), ..JobFilter::default() };
    jobs::list(&Reading::for_platform(test.database()), &filter, 10).await.unwrap()
}

#[tokio::test]
async fn a_dead_letter_can_be_discarded() {
    let test = TestDatabase::new().await;
    enqueue(&test, &Panic).await;
    for _ in 0..2 {
        runner(&test, &Counter::default()).run_until_idle().await.unwrap();
        test.clock().advance(Duration::from_secs(10));
    }
    let dead = dead_jobs(&test).await[0].id;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    assert_eq!(jobs::discard(&mut work, dead).await.unwrap().id, dead);
    let again = jobs::discard(&mut work, dead).await.unwrap_err();
    assert!(matches!(again, QueueError::JobNotFound(id) if id == dead), "{again}");
    assert!(jobs::revive(&mut work, dead).await.is_err());
    work.commit().await.unwrap();
    assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (0, 0));
}

#[tokio::test]
async fn a_dead_letter_whose_key_is_queued_again_is_superseded() {
    let test = TestDatabase::new().await;
    let enqueue = async || {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        let now = work.now();
        jobs::enqueue_unique(&mut work, &Count { failures: 9 }, "key", now).await.unwrap();
        work.commit().await.unwrap();
    };
    enqueue().await;
    for _ in 0..3 {
        runner(&test, &Counter::default()).run_until_idle().await.unwrap();
        test.clock().advance(Duration::from_secs(10));
    }
    enqueue().await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let dead = dead_jobs(&test).await[0].id;
    assert_eq!(jobs::revive(&mut work, dead).await.unwrap().1, Revival::Superseded);
    work.commit().await.unwrap();
    assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (1, 0));
}

#[tokio::test]
async fn jobs_are_listed_with_their_state() {
    let test = TestDatabase::new().await;
    let reading = Reading::for_platform(test.database());
    enqueue(&test, &Count { failures: 1 }).await;
    runner(&test, &Counter::default()).run_until_idle().await.unwrap();
    enqueue(&test, &Count { failures: 0 }).await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let later = work.now().plus(Duration::from_hours(1));
    let waiting = jobs::enqueue_at(&mut work, &Panic, later).await.unwrap();
    work.commit().await.unwrap();
    let listed = jobs::list(&reading, &JobFilter::default(), 10).await.unwrap();
    let states: Vec<JobState> = listed.iter().map(|job| job.state).collect();
    assert_eq!(states, [JobState::Due, JobState::Failing, JobState::Waiting]);
    let filter = JobFilter { kind: Some(String::from("panic")), ..JobFilter::default() };
    assert_eq!(jobs::list(&reading, &filter, 10).await.unwrap()[0].id, waiting);
    assert_eq!(jobs::find(&reading, waiting).await.unwrap().unwrap().at, later);
    assert!(jobs::find(&reading, JobId::from_random(1)).await.unwrap().is_none());
    // A page begins after the last job of the previous one.
    let after = JobCursor::of(&listed[0]).to_string().parse().ok();
    let rest = jobs::list(&reading, &JobFilter { after, ..JobFilter::default() }, 10).await;
    let rest: Vec<JobState> = rest.unwrap().iter().map(|job| job.state).collect();
    assert_eq!(rest, [JobState::Failing, JobState::Waiting]);
    for wrong in ["", "1", "1.", ".job_1", "x.job_00000000000000000000000000000001"] {
        assert!(wrong.parse::<JobCursor>().is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_of_one_job() {
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
async fn an_effect_and_the_removal_of_its_job_commit_together() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Chain { advance_past_lease: false }).await;
    runner(&test, &counter).run_until_idle().await.unwrap();
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));
}

#[tokio::test]
async fn a_run_whose_lease_has_expired_commits_nothing() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    enqueue(&test, &Chain { advance_past_lease: true }).await;
    // The first run advances the clock past its own lease; it counts as a crashed worker.
    runner(&test, &counter).run_until_idle().await.unwrap();
    let crashes: Option<i32> = sqlx::query_scalar("SELECT crashes FROM job WHERE kind = 'chain'")
        .fetch_optional(&mut test.raw().await)
        .await
        .unwrap();
    assert_ne!(crashes, Some(0), "a run without a lease finished the job");
    assert!(counter.value() <= 1);
}

#[tokio::test]
async fn a_job_that_makes_progress_between_crashes_is_not_quarantined() {
    for (advances, dead) in [(true, 0), (false, 1)] {
        let test = TestDatabase::new().await;
        let counter = Counter::default();
        let merchant = MerchantId::from_random(1);
        enqueue(&test, &Interrupted { merchant, steps: 12, advances }).await;
        runner(&test, &counter).run_until_idle().await.unwrap();
        assert_eq!((rows(&test, "job").await, rows(&test, "dead_job").await), (0, dead));
        assert_eq!(counter.value() == 12, advances);
    }
}

#[tokio::test]
async fn a_unique_key_is_queued_once() {
    let test = TestDatabase::new().await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let now = work.now();
    let first = jobs::enqueue_unique(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    let second = jobs::enqueue_unique(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    assert!(first.is_some() && second.is_none());
    work.commit().await.unwrap();
    runner(&test, &Counter::default()).run_until_idle().await.unwrap();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    let third = jobs::enqueue_unique(&mut work, &Count { failures: 0 }, "k", now).await.unwrap();
    assert!(third.is_some(), "the key of a finished job is free again");
}

#[tokio::test]
async fn a_store_can_enqueue_but_cannot_read_payloads() {
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
async fn a_store_can_access_only_its_own_job() {
    let test = TestDatabase::new().await;
    let counter = Counter::default();
    let (ours, theirs) = (MerchantId::from_random(1), MerchantId::from_random(2));
    enqueue(&test, &StoreJob { merchant: ours }).await;
    runner(&test, &counter).run_until_idle().await.unwrap();
    assert_eq!((counter.value(), rows(&test, "job").await), (1, 0));

    enqueue(&test, &StoreJob { merchant: theirs }).await;
    let mut work = Work::for_store(test.database(), ours).await.unwrap();
    let deleted = sqlx::query("DELETE FROM job").execute(work.sql()).await.unwrap();
    assert_eq!(deleted.rows_affected(), 0, "a store deleted the job of another store");
    let forged = jobs::enqueue(&mut work, &StoreJob { merchant: theirs }).await;
    assert!(format!("{forged:?}").contains("row-level security"));
}

#[tokio::test]
async fn the_stats_describe_the_queue() {
    let test = TestDatabase::new().await;
    enqueue(&test, &Count { failures: 0 }).await;
    jobs::housekeeping(test.database()).await.unwrap();
    test.clock().advance(Duration::from_secs(5));
    let stats = jobs::queue_stats(&Reading::for_platform(test.database())).await.unwrap();
    assert_eq!((stats.due, stats.dead, stats.suspects), (1, 0, 0));
    assert!((stats.oldest_due_seconds - 5.0).abs() < 0.001);
}
