//! (a) A large Google feed comes in without growing the memory, shows how far it is, says what was wrong,
//! and the second time writes nothing. (b) A feed with a thousand broken rows of every kind brings in the
//! rest and explains each of them.

mod feed;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::Value;
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::catalog::import::feed::{Breakage, Feed};
use crate::catalog::merchant::Merchant;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, answer, command, peak_kilobytes, store_key};

const STORE: &str = "orto-lucido";
/// What the memory of a process may grow by (the issue names it).
const GROWTH_MAX_KILOBYTES: u64 = 150 * 1024;
const IMPORT: &str = "/api/v1/merchant/imports?format=google_xml";

/// The service on a database of its own.
struct House {
    test: TestDatabase,
    server: Souk,
    worker: Souk,
    merchant: Merchant,
}

impl House {
    async fn open() -> Result<Self, Failure> {
        let test = TestDatabase::new().await;
        let url = test.url();
        command(&url, &["seed"])?;
        let merchant = Merchant::new(store_key(&url, STORE).await?);
        // A feed of a hundred megabytes takes a while to send to a development build.
        let server = Souk::serve(&url, &["--request-seconds-max", "300"]).await?;
        let worker = Souk::work(&url, 30)?;
        Ok(Self { test, server, worker, merchant })
    }

    /// Sends a feed, follows it, and answers how it ended and the progress it showed.
    async fn import(&self, feed: &[u8]) -> Result<(Value, BTreeSet<u64>), Failure> {
        let port = self.server.port;
        let job = self.merchant.send(port, "POST", IMPORT, feed).await?;
        let job = job.ok_or("the feed was not accepted")?;
        let (mut shown, mut last, mut went_back) = (BTreeSet::new(), 0.0, false);
        let end = self.merchant.follow(
            || port,
            &job,
            |state| {
                let progress = state["progress"].as_f64().unwrap_or(0.0);
                went_back |= progress < last;
                last = progress;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "0 to 1000"
                )]
                shown.insert((progress * 1_000.0) as u64);
            },
        );
        let end = end.await?;
        ensure(!went_back, || String::from("the progress went back"))?;
        ensure(end["status"] == "completed", || format!("the job ended as {end}"))?;
        Ok((end, shown))
    }

    async fn check_faults(&self, job: &Value, feed: &Feed) -> Result<usize, Failure> {
        let job = job["job_id"].as_str().unwrap_or_default();
        let found = self.merchant.faults(self.server.port, job).await?;
        let mut expected: BTreeMap<i64, &Breakage> =
            feed.broken.iter().map(|(line, breakage)| (*line, breakage)).collect();
        for (line, field, code) in &found {
            let breakage = expected
                .remove(line)
                .ok_or_else(|| format!("line {line} is sound, but {field} was called {code}"))?;
            ensure(breakage.explains(field, code), || {
                format!("line {line} is {breakage:?}, but {field} was called {code}")
            })?;
        }
        let left = expected.iter().next().map(|(line, breakage)| format!("{line} ({breakage:?})"));
        ensure(left.is_none(), || format!("line {left:?} was not explained"))?;
        Ok(found.len())
    }
}

pub(crate) async fn prove_large(trial: Trial) -> Verdict {
    let rows = trial.by_tier(3_000, 100_000);
    let house = House::open().await?;
    let feed = Feed::large(rows);
    let pids = [house.server.pid(), house.worker.pid()];
    let before = [peak_kilobytes(pids[0])?, peak_kilobytes(pids[1])?];
    trial.progress(|| format!("{} rows, {} bytes", rows, feed.bytes.len()));
    let began = Instant::now();
    let (end, shown) = house.import(&feed.bytes).await?;
    let took = began.elapsed();
    let growth = [peak_kilobytes(pids[0])? - before[0], peak_kilobytes(pids[1])? - before[1]];
    ensure(growth.iter().all(|growth| *growth < GROWTH_MAX_KILOBYTES), || {
        format!("the memory grew by {growth:?} kB")
    })?;
    ensure(shown.len() >= 4, || format!("the progress showed only {shown:?}"))?;
    let sound = rows - feed.broken.len();
    let created = end["created"].as_u64().unwrap_or(0);
    ensure(created == sound as u64, || format!("{created} of {sound} products came in: {end}"))?;
    let faults = house.check_faults(&end, &feed).await?;
    let again = second_time(&house, &feed, sound).await?;
    Ok(format!(
        "{} rows ({} MB) in {:.0} s; server and worker grew by {} and {} MB; {} steps of progress; {faults} row \
         errors, each with its line; {again}",
        grouped(rows),
        feed.bytes.len() / 1_000_000,
        took.as_secs_f64(),
        growth[0] / 1_024,
        growth[1] / 1_024,
        shown.len(),
    ))
}

/// Imports the same file by the command, and holds every row of the catalog against what it was.
async fn second_time(house: &House, feed: &Feed, sound: usize) -> Result<String, Failure> {
    // Counting what the catalog holds is work of its own; it is done before we look.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let mut sql = house.test.raw().await;
    let before = traces(&mut sql).await?;
    let file = std::env::temp_dir().join(format!("souk-proof-{}.xml", std::process::id()));
    let errors = file.with_extension("tsv");
    std::fs::write(&file, &feed.bytes)?;
    let (path, error_path) = (file.display().to_string(), errors.display().to_string());
    let arguments = ["catalog", "import", &path, "--store", STORE, "--errors", &error_path];
    let said = answer(&house.test.url(), &arguments).await;
    let listed = std::fs::read_to_string(&errors).unwrap_or_default();
    let _ = (std::fs::remove_file(&file), std::fs::remove_file(&errors));
    let said = said?;
    let unchanged = format!("0 created, 0 updated, {sound} unchanged");
    ensure(said.contains(&unchanged), || format!("the command said: {said}"))?;
    let lines = listed.lines().count().saturating_sub(1);
    ensure(lines == feed.broken.len(), || format!("{lines} lines in the file of errors"))?;
    let after = traces(&mut sql).await?;
    ensure(before == after, || format!("something was written: {before:?} became {after:?}"))?;
    Ok(String::from("the same file again, by the command, wrote no row, no price and no event"))
}

/// What every write leaves behind: the place and the transactions of each row.
async fn traces(sql: &mut PgConnection) -> Result<Vec<Option<String>>, Failure> {
    let mut traces = Vec::new();
    for table in ["product", "variant", "category", "price_history", "outbox", "review"] {
        let query = format!(
            "SELECT md5(string_agg(ctid::text || xmin::text || xmax::text, ',' ORDER BY ctid)) FROM {table}"
        );
        traces.push(sqlx::query_scalar(sqlx::AssertSqlSafe(query)).fetch_one(&mut *sql).await?);
    }
    Ok(traces)
}

pub(crate) async fn prove_broken(trial: Trial) -> Verdict {
    let (rows, broken) = trial.by_tier((600, 100), (5_000, 1_000));
    let house = House::open().await?;
    let feed = Feed::broken(rows, broken);
    let (end, _) = house.import(&feed.bytes).await?;
    let sound = (rows - broken) as u64;
    let created = end["created"].as_u64().unwrap_or(0);
    ensure(created == sound, || format!("{created} of {sound} sound rows came in: {end}"))?;
    ensure(end["complete"] == false, || String::from("a truncated file counted as complete"))?;
    let faults = house.check_faults(&end, &feed).await?;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, breakage) in &feed.broken {
        *kinds.entry(format!("{breakage:?}")).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    Ok(format!(
        "{} sound rows came in beside {} broken ones ({}); {faults} explanations, each with the line and the field",
        grouped(sound),
        grouped(feed.broken.len()),
        kinds.join(", "),
    ))
}
