//! `failing-schedule`: a scheduled job fails in every period. It stays one job, which is tried again in each period, and
//! works again once the cause is removed.
//!
//! The schedule is set back once per second, so that each second is a new period.

use std::time::Duration;

use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

const KIND: &str = "checkout.ask_again";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let mut raw = test.raw().await;
    // The job reads pending payments first.
    sqlx::raw_sql("ALTER TABLE payment RENAME TO payment_elsewhere").execute(&mut raw).await?;
    let _worker = Souk::work(&test.url(), 30)?;
    let periods = trial.by_tier(3, 30);
    for _ in 0..periods {
        tokio::time::sleep(Duration::from_secs(1)).await;
        sqlx::query("UPDATE schedule SET epoch = epoch - 1 WHERE name = $1")
            .bind(KIND)
            .execute(&mut raw)
            .await?;
    }
    let (queued, attempts) = state(&test).await?;
    ensure(queued == 1, || format!("{queued} jobs after {periods} failed periods"))?;
    ensure(attempts > 1, || format!("only {attempts} attempts in {periods} periods"))?;
    sqlx::raw_sql("ALTER TABLE payment_elsewhere RENAME TO payment").execute(&mut raw).await?;
    sqlx::query("UPDATE schedule SET epoch = epoch - 1 WHERE name = $1")
        .bind(KIND)
        .execute(&mut raw)
        .await?;
    for _ in 0..100 {
        if state(&test).await?.0 == 0 {
            return Ok(format!(
                "{periods} periods: one job with {attempts} failed attempts and no dead letter; done once the cause was \
                 removed"
            ));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("the job was not done after the cause was removed".into())
}

/// Returns the number of jobs of the schedule, dead ones included, and the failed attempts of one.
async fn state(test: &TestDatabase) -> Result<(i64, i32), Failure> {
    let query = "SELECT (SELECT count(*) FROM job WHERE kind = $1) + (SELECT count(*) FROM dead_job WHERE kind = $1),
                        coalesce((SELECT max(attempts) FROM job WHERE kind = $1), 0)";
    Ok(sqlx::query_as(query).bind(KIND).fetch_one(&mut test.raw().await).await?)
}
