//! Imports of Google feeds. `large-feed`: a large feed is imported in bounded memory, reports its
//! progress and its row errors, and importing the same file again writes nothing. `row-errors`: of a feed
//! with a thousand invalid rows of every kind, the valid rows are imported and each invalid one is
//! reported.

mod feed;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::catalog::import::feed::{Feed, RowDefect};
use crate::catalog::merchant::Merchant;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, command, output, peak_kilobytes, store_key};

const STORE: &str = "orto-lucido";
/// Maximum growth of the peak memory of a process.
const GROWTH_MAX_KILOBYTES: u64 = 150 * 1024;
const IMPORT: &str = "/api/v1/merchant/imports?format=google_xml";

/// The service with a private database.
struct Deployment {
    test: TestDatabase,
    server: Souk,
    worker: Souk,
    merchant: Merchant,
}

impl Deployment {
    async fn start() -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let merchant = Merchant::new(store_key(&url, STORE).await?);
        // A debug build receives a feed of a hundred megabytes slowly.
        let server = Souk::serve(&url, &["--request-seconds-max", "300"]).await?;
        let worker = Souk::work(&url, 30)?;
        Ok(Self { test, server, worker, merchant })
    }

    /// Sends a feed, waits for its job, and returns the final state and the distinct progress values, in
    /// thousandths.
    async fn import(&self, feed: &[u8]) -> Result<(Value, BTreeSet<u64>), Failure> {
        let port = self.server.port;
        let job = self.merchant.send(port, "POST", IMPORT, feed).await?;
        let job = job.ok_or("the upload failed: no response, or a 5xx status")?;
        let (mut progress_values, mut last, mut decreased) = (BTreeSet::new(), 0.0, false);
        let end = self.merchant.wait_for_job(
            || port,
            &job,
            |state| {
                let progress = state["progress"].as_f64().unwrap_or(0.0);
                decreased |= progress < last;
                last = progress;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "0 to 1000"
                )]
                progress_values.insert((progress * 1_000.0) as u64);
            },
        );
        let end = end.await?;
        ensure(!decreased, || String::from("the progress decreased"))?;
        ensure(end["status"] == "completed", || {
            format!("unexpected final state of the job: {end}")
        })?;
        Ok((end, progress_values))
    }

    async fn check_row_errors(&self, job: &Value, feed: &Feed) -> Result<usize, Failure> {
        let job = job["job_id"].as_str().unwrap_or_default();
        let found = self.merchant.row_errors(self.server.port, job).await?;
        let mut expected: BTreeMap<i64, &RowDefect> =
            feed.invalid_rows.iter().map(|(line, defect)| (*line, defect)).collect();
        for (line, field, code) in &found {
            let defect = expected.remove(line).ok_or_else(|| {
                format!("line {line} is valid, but has the row error {field}: {code}")
            })?;
            ensure(defect.matches(field, code), || {
                format!("line {line} has the defect {defect:?}, but the row error {field}: {code}")
            })?;
        }
        let left = expected.iter().next().map(|(line, defect)| format!("{line} ({defect:?})"));
        ensure(left.is_none(), || format!("no row error for line {}", left.unwrap_or_default()))?;
        Ok(found.len())
    }
}

pub(crate) async fn prove_large(trial: Trial) -> Verdict {
    let rows = trial.by_tier(3_000, 100_000);
    let deployment = Deployment::start().await?;
    let feed = Feed::large(rows);
    let pids = [deployment.server.pid(), deployment.worker.pid()];
    let before = [peak_kilobytes(pids[0])?, peak_kilobytes(pids[1])?];
    trial.progress(|| format!("{} rows, {} bytes", rows, feed.bytes.len()));
    let began = Instant::now();
    let (end, progress_values) = deployment.import(&feed.bytes).await?;
    let took = began.elapsed();
    let growth = [peak_kilobytes(pids[0])? - before[0], peak_kilobytes(pids[1])? - before[1]];
    ensure(growth.iter().all(|growth| *growth < GROWTH_MAX_KILOBYTES), || {
        format!("peak memory grew by {growth:?} kB")
    })?;
    ensure(progress_values.len() >= 4, || format!("too few progress values: {progress_values:?}"))?;
    let valid = rows - feed.invalid_rows.len();
    let created = end["created"].as_u64().unwrap_or(0);
    ensure(created == valid as u64, || format!("{created} of {valid} products created: {end}"))?;
    let errors = deployment.check_row_errors(&end, &feed).await?;
    let again = import_again(&deployment, &feed, valid).await?;
    Ok(format!(
        "{} rows ({} MB) in {:.0} s; peak memory of server and worker grew by {} and {} MB; {} progress values; \
         {errors} row errors, each with its line; {again}",
        grouped(rows),
        feed.bytes.len() / 1_000_000,
        took.as_secs_f64(),
        growth[0] / 1_024,
        growth[1] / 1_024,
        progress_values.len(),
    ))
}

/// Imports the same file with `souk catalog import` and verifies that no row of the catalog was written.
async fn import_again(
    deployment: &Deployment,
    feed: &Feed,
    valid: usize,
) -> Result<String, Failure> {
    // The catalog statistics are refreshed by another job; wait until it has run.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let mut sql = deployment.test.raw().await;
    let before = row_versions(&mut sql).await?;
    let file = std::env::temp_dir().join(format!("souk-proof-{}.xml", std::process::id()));
    let error_file = file.with_extension("tsv");
    std::fs::write(&file, &feed.bytes)?;
    let (path, error_path) = (file.display().to_string(), error_file.display().to_string());
    let arguments = ["catalog", "import", &path, "--store", STORE, "--errors", &error_path];
    let output_text = output(&deployment.test.url(), &arguments).await;
    let listed = std::fs::read_to_string(&error_file).unwrap_or_default();
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&error_file));
    let output_text = output_text?;
    let unchanged = format!("0 created, 0 updated, {valid} unchanged");
    ensure(output_text.contains(&unchanged), || {
        format!("unexpected output of souk catalog import: {output_text}")
    })?;
    let lines = listed.lines().count().saturating_sub(1);
    ensure(lines == feed.invalid_rows.len(), || {
        format!("{lines} lines in the error file, expected {}", feed.invalid_rows.len())
    })?;
    let after = row_versions(&mut sql).await?;
    ensure(before == after, || format!("rows were written: {before:?} became {after:?}"))?;
    Ok(String::from("importing the same file again wrote no row, price or event"))
}

/// Returns a hash of the location and transaction ids of all rows of each table; any write changes it.
async fn row_versions(sql: &mut PgConnection) -> Result<Vec<Option<String>>, Failure> {
    let mut row_versions = Vec::new();
    for table in ["product", "variant", "category", "price_history", "outbox", "review"] {
        let query = format!(
            "SELECT md5(string_agg(ctid::text || xmin::text || xmax::text, ',' ORDER BY ctid)) FROM {table}"
        );
        row_versions
            .push(sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut *sql).await?);
    }
    Ok(row_versions)
}

pub(crate) async fn prove_broken(trial: Trial) -> Verdict {
    let (rows, invalid) = trial.by_tier((600, 100), (5_000, 1_000));
    let deployment = Deployment::start().await?;
    let feed = Feed::with_invalid_rows(rows, invalid);
    let (end, _) = deployment.import(&feed.bytes).await?;
    let valid = (rows - invalid) as u64;
    let created = end["created"].as_u64().unwrap_or(0);
    ensure(created == valid, || format!("{created} of {valid} valid rows imported: {end}"))?;
    ensure(end["complete"] == false, || String::from("a truncated file was reported as complete"))?;
    let errors = deployment.check_row_errors(&end, &feed).await?;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, defect) in &feed.invalid_rows {
        *kinds.entry(format!("{defect:?}")).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Ok(format!(
        "{} valid rows imported, {} invalid ones rejected ({}); {errors} row errors, each with its line and field",
        grouped(valid),
        grouped(feed.invalid_rows.len()),
        kinds.join(", "),
    ))
}
