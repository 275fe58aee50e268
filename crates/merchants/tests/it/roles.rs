//! What the role of stores may not write.

use database::Work;
use testkit::TestDatabase;

use crate::{one, register, store};

#[tokio::test]
async fn a_store_cannot_write_from_what_its_standing_follows() {
    let test = TestDatabase::new().await;
    register(test.database(), &store(1, "a")).await.unwrap();
    for table in
        ["standing", "identity_verification", "placed_order", "agent_event", "payment_report"]
    {
        for statement in [
            format!("INSERT INTO {table} (merchant_id) SELECT merchant_id FROM store"),
            format!("UPDATE {table} SET merchant_id = merchant_id"),
            format!("DELETE FROM {table}"),
        ] {
            let mut work = Work::for_store(test.database(), one()).await.unwrap();
            let statement = sqlx::AssertSqlSafe(statement);
            let refused = sqlx::raw_sql(statement).execute(work.sql()).await.unwrap_err();
            assert!(refused.to_string().contains("permission denied"), "{table}: {refused}");
        }
    }
}

#[tokio::test]
async fn a_checkout_writes_evidence_of_its_own_store_only() {
    let test = TestDatabase::new().await;
    let write = |merchant: &str| {
        format!(
            "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at)
             VALUES ({merchant}, gen_random_uuid(), 'CHECKOUT_START', gen_random_uuid(), now())"
        )
    };
    let mut work = Work::for_checkout(test.database(), one()).await.unwrap();
    let own = sqlx::AssertSqlSafe(write("current_merchant()"));
    assert_eq!(sqlx::raw_sql(own).execute(work.sql()).await.unwrap().rows_affected(), 1);
    let others = sqlx::AssertSqlSafe(write("gen_random_uuid()"));
    let refused = sqlx::raw_sql(others).execute(work.sql()).await.unwrap_err();
    assert!(refused.to_string().contains("row-level security"), "{refused}");
    let mut work = Work::for_checkout(test.database(), one()).await.unwrap();
    let standing = sqlx::raw_sql("DELETE FROM standing").execute(work.sql()).await.unwrap_err();
    assert!(standing.to_string().contains("permission denied"), "{standing}");
}
