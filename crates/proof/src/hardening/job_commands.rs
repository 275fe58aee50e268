//! `job-commands`: an operator lists a dead letter, looks at it, revives it and discards it; each change is in the audit
//! log with who, why and when.

use std::time::{Duration, Instant};

use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, output};

/// A payload that the kind does not accept, so that the job fails for good.
const INSERT: &str = "INSERT INTO job (id, kind, payload, run_at, enqueued_at)
                      VALUES (gen_random_uuid(), 'catalog.take_stock', '{\"merchant\": 7}', now(), now())";
const TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) async fn prove(_: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let url = test.url();
    sqlx::query(INSERT).execute(&mut test.raw().await).await?;
    let _worker = Souk::work(&url, 30)?;
    let job = dead_letter(&test).await?;
    let shown = output(&url, &["jobs", "show", &job]).await?;
    ensure(shown.contains("cannot be deserialized") && shown.contains("\"merchant\":7"), || {
        format!("`souk jobs show` lacks the error or the payload: {shown}")
    })?;
    let unexplained = output(&url, &["jobs", "revive", &job]).await;
    ensure(unexplained.is_err(), || String::from("a job was revived without a reason"))?;
    output(&url, &["jobs", "revive", &job, "--reason", "the cause is removed"]).await?;
    // It fails again, because the cause is not removed.
    let again = dead_letter(&test).await?;
    ensure(again == job, || format!("{again} instead of {job} is a dead letter"))?;
    output(&url, &["jobs", "discard", &job, "--reason", "the merchant does not exist"]).await?;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM dead_job")
        .fetch_one(&mut test.raw().await)
        .await?;
    ensure(left == 0, || format!("{left} dead letters are left"))?;
    let audit = output(&url, &["admin", "audit", &job]).await?;
    for expected in [
        "operator  job.revived",
        "operator  job.discarded",
        "the cause is removed",
        "the merchant does not exist",
    ] {
        ensure(audit.contains(expected), || format!("the audit log lacks `{expected}`: {audit}"))?;
    }
    Ok(String::from(
        "a dead letter listed, shown, revived and discarded; both changes in the audit log with their reasons",
    ))
}

/// Waits until `souk jobs list` lists a dead letter, and returns its id.
async fn dead_letter(test: &TestDatabase) -> Result<String, Failure> {
    let since = Instant::now();
    while since.elapsed() < TIMEOUT {
        let listed = output(&test.url(), &["jobs", "list"]).await?;
        if let Some(job) = listed.split_whitespace().find(|word| word.starts_with("job_")) {
            return Ok(job.to_owned());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Err("the job did not become a dead letter".into())
}
