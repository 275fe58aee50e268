//! `old-rows`: dead letters, failures of rows, idempotency keys and outbox events whose retention is over are deleted, in
//! small transactions; younger ones stay.

use std::time::{Duration, Instant};

use testkit::TestDatabase;

use crate::report::{Trial, Verdict, ensure, grouped};
use crate::souk::Souk;

/// The tables with the age at which a row is deleted, in units that can be added to, and an insert of `$1` rows that are
/// `$2` old.
const TABLES: [(&str, &str, &str); 4] = [
    (
        "dead_job",
        "90 days",
        "INSERT INTO dead_job (id, kind, payload, reason, attempts, crashes, enqueued_at, died_at)
         SELECT gen_random_uuid(), 'test', '{}', 'failed', 1, 0, now() - $2::interval, now() - $2::interval
         FROM generate_series(1, $1)",
    ),
    (
        "sweep_failure",
        "7 days",
        "INSERT INTO sweep_failure (sweep, row_id, merchant_id, attempts, retry_at, last_error, failed_at)
         SELECT 'test', gen_random_uuid(), gen_random_uuid(), 1, now(), 'test', now() - $2::interval
         FROM generate_series(1, $1)",
    ),
    (
        "idempotency",
        "2 days",
        "INSERT INTO idempotency (merchant_id, caller, key, request_hash, created_at)
         SELECT gen_random_uuid(), 'test', 'test', '', now() - $2::interval FROM generate_series(1, $1)",
    ),
    (
        "outbox",
        "7 days",
        "INSERT INTO outbox (merchant_id, topic, subject, payload, at)
         SELECT gen_random_uuid(), 'test', gen_random_uuid(), '{}', now() - $2::interval FROM generate_series(1, $1)",
    ),
];
const YOUNG: i64 = 10;
const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut raw = test.raw().await;
    let old: i64 = trial.by_tier(2_500, 40_000);
    for (_, age, insert) in TABLES {
        let insert = |age: String| insert.replace("$2", &format!("'{age}'"));
        for (rows, age) in [(old, format!("{age} 1 minute")), (YOUNG, format!("{age} -1 hours"))] {
            let insert = sqlx::AssertSqlSafe(insert(age));
            sqlx::query(insert).bind(rows).execute(&mut raw).await?;
        }
    }
    sqlx::raw_sql(
        "CREATE TABLE deletion (count bigint NOT NULL);
         GRANT INSERT ON deletion TO souk_platform;
         CREATE FUNCTION count_deletion() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO deletion SELECT count(*) FROM gone; RETURN NULL; END $$;
         CREATE TRIGGER count_deletion AFTER DELETE ON dead_job REFERENCING OLD TABLE AS gone
             FOR EACH STATEMENT EXECUTE FUNCTION count_deletion()",
    )
    .execute(&mut raw)
    .await?;
    let _worker = Souk::work(&test.url(), 30)?;
    let since = Instant::now();
    for (table, ..) in TABLES {
        loop {
            let count = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
            let left: i64 = sqlx::query_scalar(count).fetch_one(&mut raw).await?;
            if left == YOUNG {
                break;
            }
            ensure(left > YOUNG && since.elapsed() < TIMEOUT, || {
                format!("{table} has {left} rows, {YOUNG} of them are young")
            })?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    let largest: Option<i64> =
        sqlx::query_scalar("SELECT max(count) FROM deletion").fetch_one(&mut raw).await?;
    let largest = largest.unwrap_or(0);
    ensure((1..=1_000).contains(&largest), || format!("{largest} rows were deleted at once"))?;
    Ok(format!(
        "{} old rows in each of {} tables deleted within {:.0} s, at most {} per statement; the young ones are kept",
        grouped(u64::try_from(old)?),
        TABLES.len(),
        since.elapsed().as_secs_f64(),
        grouped(u64::try_from(largest)?),
    ))
}
