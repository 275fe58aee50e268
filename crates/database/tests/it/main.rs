//! Tests against a real database.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::time::Duration;

use database::{DatabaseError, Reading, SHARDS, Work, shard_of};
use primitives::{CartId, ErrorCode, Id, MerchantId, Problem};
use testkit::{START, TestDatabase};

fn merchant(number: u128) -> MerchantId {
    MerchantId::from_random(number)
}

async fn execute(test: &TestDatabase, statement: &'static str) {
    sqlx::raw_sql(statement).execute(&mut test.raw().await).await.unwrap();
}

#[tokio::test]
async fn a_work_has_one_timestamp_and_seeded_randomness_replays() {
    let first = TestDatabase::new().await;
    let second = TestDatabase::new().await;
    let mut works = Vec::new();
    for test in [&first, &second] {
        let mut work = Work::for_platform(test.database()).await.unwrap();
        assert_eq!(work.now().unix_micros(), START);
        test.clock().advance(Duration::from_secs(1));
        assert_eq!(work.now().unix_micros(), START);
        works.push((work.new_id::<CartId>(), work.new_id::<CartId>()));
    }
    assert_eq!(works[0], works[1]);
    assert_ne!(works[0].0, works[0].1);
}

#[tokio::test]
async fn in_production_now_is_the_transaction_timestamp() {
    let test = TestDatabase::new().await;
    let database = test.another_process();
    let mut work = Work::for_platform(&database).await.unwrap();
    let transaction_timestamp: time::OffsetDateTime =
        sqlx::query_scalar("SELECT now()").fetch_one(work.sql()).await.unwrap();
    assert_eq!(work.now(), transaction_timestamp.into());
}

#[tokio::test]
async fn a_reading_cannot_write() {
    let test = TestDatabase::new().await;
    let mut snapshot = Reading::for_platform(test.database()).open().await.unwrap();
    let refused = sqlx::raw_sql("UPDATE platform.cell_epoch SET epoch = 2").execute(&mut *snapshot);
    assert!(refused.await.unwrap_err().to_string().contains("read-only transaction"));
}

#[tokio::test]
async fn all_statements_of_a_reading_see_the_same_state() {
    let test = TestDatabase::new().await;
    let mut snapshot = Reading::for_platform(test.database()).open().await.unwrap();
    let epoch = "SELECT epoch FROM platform.cell_epoch";
    let before: i64 = sqlx::query_scalar(epoch).fetch_one(&mut *snapshot).await.unwrap();
    execute(&test, "UPDATE platform.cell_epoch SET epoch = epoch + 1").await;
    let after: i64 = sqlx::query_scalar(epoch).fetch_one(&mut *snapshot).await.unwrap();
    assert_eq!(before, after);
}

#[tokio::test]
async fn a_cell_rejects_a_merchant_of_another_cell() {
    let test = TestDatabase::new().await;
    let ours = merchant(1);
    Work::for_store(test.database(), ours).await.unwrap();
    Reading::for_store(test.database(), ours).unwrap();

    execute(
        &test,
        "UPDATE platform.cell_shard SET cell = 'cell-2'; UPDATE platform.cell_epoch SET epoch = 2",
    )
    .await;
    // A work reads the rows; a reading uses the cached directory.
    let refused = Work::for_store(test.database(), ours).await.err().unwrap();
    assert!(matches!(refused, DatabaseError::WrongCell { epoch: 2 }));
    assert_eq!(refused.code(), ErrorCode::ServiceUnavailable);
    test.database().refresh_directory().await.unwrap();
    assert!(Reading::for_store(test.database(), ours).is_err());
    assert!(shard_of(ours) < SHARDS);
}

#[tokio::test]
async fn a_closed_connection_is_replaced_without_an_error() {
    let test = TestDatabase::new().await;
    for _ in 0..5 {
        Work::for_platform(test.database()).await.unwrap().commit().await.unwrap();
        execute(
            &test,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .await;
    }
    Work::for_platform(test.database()).await.unwrap();
}

#[tokio::test]
async fn pending_migrations_are_detected() {
    let test = TestDatabase::new().await;
    assert!(test.database().is_migrated().await.unwrap());
    execute(&test, "DELETE FROM _sqlx_migrations").await;
    assert!(!test.database().is_migrated().await.unwrap());
}
