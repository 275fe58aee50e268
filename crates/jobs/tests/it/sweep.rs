//! Sweeps: each row by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{JobError, Runner, RunnerSettings, Sweep, SweepRow};
use primitives::{MerchantId, Timestamp};
use testkit::TestDatabase;
use uuid::Uuid;

use crate::kinds::rows;

/// Deletes the rows of the table `chore`; how a row ends is in the row.
struct Chores;

/// The number of rows that were tried, over all runs.
#[derive(Clone, Default)]
struct Tried(Arc<AtomicU32>);

impl Sweep for Chores {
    const NAME: &'static str = "chores";
    type Dependencies = Tried;

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let start = (Timestamp::from_unix_micros(0), Uuid::nil());
        let (at, id) = after.map_or(start, |row| (row.due_at, row.id));
        let found: Vec<(MerchantId, Uuid, Timestamp)> = sqlx::query_as(
            "SELECT merchant_id, id, due_at FROM chore WHERE (due_at, id) > ($1, $2)
             ORDER BY due_at, id LIMIT $3",
        )
        .bind(at)
        .bind(id)
        .bind(limit)
        .fetch_all(&mut **sql)
        .await?;
        let row = |(merchant, id, due_at)| SweepRow { merchant, id, due_at };
        Ok(found.into_iter().map(row).collect())
    }

    async fn process(database: Database, row: SweepRow, tried: Tried) -> Result<(), JobError> {
        tried.0.fetch_add(1, Ordering::SeqCst);
        let mut work = Work::for_platform(&database).await?;
        let ending: String = sqlx::query_scalar("DELETE FROM chore WHERE id = $1 RETURNING ending")
            .bind(row.id)
            .fetch_one(work.sql())
            .await?;
        match ending.as_str() {
            "panics" => panic!("this row panics"),
            "fails" => return Err(JobError::Permanent(String::from("this row fails\0"))),
            "rejected" => sqlx::query("SELECT 1 / 0").execute(work.sql()).await.map(|_| ())?,
            "disconnects" => {
                let end = sqlx::query("SELECT pg_terminate_backend(pg_backend_pid())");
                end.execute(work.sql()).await?;
            }
            _ => {}
        }
        work.commit().await?;
        Ok(())
    }
}

async fn add(test: &TestDatabase, count: i64, ending: &str) {
    sqlx::query(
        "INSERT INTO chore (id, merchant_id, due_at, ending)
         SELECT gen_random_uuid(), gen_random_uuid(), '2026-01-01'::timestamptz + random() * interval '1 day', $2
         FROM generate_series(1, $1)",
    )
    .bind(count)
    .bind(ending)
    .execute(&mut test.raw().await)
    .await
    .unwrap();
}

async fn test_database() -> TestDatabase {
    let test = TestDatabase::new().await;
    sqlx::raw_sql(
        "CREATE TABLE chore (id uuid PRIMARY KEY, merchant_id uuid NOT NULL,
                             due_at timestamptz NOT NULL, ending text NOT NULL);
         GRANT SELECT, DELETE ON chore TO souk_platform",
    )
    .execute(&mut test.raw().await)
    .await
    .unwrap();
    test
}

/// Runs the sweep once and returns the number of rows it tried.
async fn sweep(test: &TestDatabase) -> u32 {
    let tried = Tried::default();
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::enqueue_sweep::<Chores>(&mut work).await.unwrap();
    work.commit().await.unwrap();
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .sweep::<Chores>(Duration::from_mins(1), tried.clone());
    runner.run_until_idle().await.unwrap();
    assert_eq!(rows(test, "job").await, 0, "the run failed");
    tried.0.load(Ordering::SeqCst)
}

#[tokio::test]
async fn rows_that_fail_do_not_stop_the_others() {
    let test = test_database().await;
    for ending in ["panics", "fails", "rejected", "disconnects"] {
        add(&test, 3, ending).await;
    }
    add(&test, 500, "succeeds").await;
    assert_eq!(sweep(&test).await, 512);
    assert_eq!((rows(&test, "chore").await, rows(&test, "sweep_failure").await), (12, 12));
    let failed = jobs::failed_rows(&Reading::for_platform(test.database()), 100).await.unwrap();
    let with = |text: &str| failed.iter().filter(|row| row.last_error.contains(text)).count();
    assert_eq!((with("panicked"), with("this row fails"), with("division by zero")), (3, 3, 3));
}

#[tokio::test]
async fn a_failed_row_is_retried_later_and_less_often() {
    let test = test_database().await;
    add(&test, 1, "fails").await;
    let mut tried = Vec::new();
    for _ in 0..6 {
        tried.push(sweep(&test).await);
        test.clock().advance(Duration::from_mins(1));
    }
    assert_eq!(tried, [1, 1, 1, 0, 1, 0]);
    let repaired = sqlx::query("UPDATE chore SET ending = 'succeeds'");
    repaired.execute(&mut test.raw().await).await.unwrap();
    test.clock().advance(Duration::from_hours(7));
    assert_eq!(sweep(&test).await, 1);
    assert_eq!((rows(&test, "chore").await, rows(&test, "sweep_failure").await), (0, 0));
}

#[tokio::test]
async fn the_failure_of_a_row_that_is_no_longer_due_is_forgotten() {
    let test = test_database().await;
    add(&test, 2, "fails").await;
    sweep(&test).await;
    assert_eq!(rows(&test, "sweep_failure").await, 2);
    let deleted =
        sqlx::query("DELETE FROM chore WHERE id = (SELECT min(id::text)::uuid FROM chore)");
    deleted.execute(&mut test.raw().await).await.unwrap();
    test.clock().advance(Duration::from_mins(1));
    sweep(&test).await;
    assert_eq!(rows(&test, "sweep_failure").await, 1);
}

/// Returns the same row again and again.
struct Endless;

impl Sweep for Endless {
    const NAME: &'static str = "endless";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        _: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        Chores::find(sql, None, limit).await
    }

    async fn process(_: Database, _: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(())
    }
}

#[tokio::test]
async fn a_sweep_that_does_not_advance_fails() {
    let test = test_database().await;
    add(&test, 300, "succeeds").await;
    let mut work = Work::for_platform(test.database()).await.unwrap();
    jobs::enqueue_sweep::<Endless>(&mut work).await.unwrap();
    work.commit().await.unwrap();
    let runner = Runner::new(test.database().clone(), RunnerSettings::default())
        .sweep::<Endless>(Duration::from_mins(1), ());
    runner.run_until_idle().await.unwrap();
    let error: String = sqlx::query_scalar("SELECT last_error FROM job")
        .fetch_one(&mut test.raw().await)
        .await
        .unwrap();
    assert!(error.contains("not ordered"), "{error}");
}
