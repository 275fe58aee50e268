//! Products imported per second: an NDJSON feed that replaces the catalog, read twice, validated and
//! written by the production job, compared with psql, which copies prepared rows and runs the same
//! statements on them. The ratio shows the cost of parsing, validation and crash safety on top of
//! PostgreSQL.

mod catalog_size;
mod rows;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use catalog::{
    ApplyFeedRun, FeedFormat, FeedRun, FeedRunMode, FeedRunState, NewFeedRun, ProductDraft,
};
use database::{Database, RandomSource, Reading, Work};
use jobs::{Runner, RunnerSettings};
use primitives::{FeedRunId, Id, MerchantId};
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::catalog::store::{create_store, merchant};
use crate::report::{Failure, ensure, grouped};
use crate::table_print::{Spread, Table};
use crate::worker::open;

const ROUNDS: usize = 5;
/// Products of a feed.
const ROWS: u32 = 50_000;
/// Products of other stores in the same table.
const OTHERS: u32 = 100_000;
/// Rows written in one transaction, as in the catalog crate.
const BATCH: usize = 500;
/// Bytes of a feed that are stored in one row.
const CHUNK: usize = 1024 * 1024;
/// Minimum ratio of Souk's throughput to psql's.
const TARGET: f64 = 0.5;
const SCRIPT: &str = include_str!("../../psql/import_products.sql");

/// The effect of a feed on the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    AllNew,
    AllChanged,
}

impl Case {
    const BOTH: [Self; 2] = [Self::AllNew, Self::AllChanged];

    fn name(self) -> &'static str {
        match self {
            Self::AllNew => "all new",
            Self::AllChanged => "all changed",
        }
    }
}

/// A feed, as NDJSON for Souk and as a `COPY` file for psql.
struct Feed {
    ndjson: Vec<u8>,
    copy: PathBuf,
}

/// Durations of the rounds, in seconds.
#[derive(Default)]
struct Rounds {
    applied: Vec<f64>,
    with_upload: Vec<f64>,
    psql: Vec<f64>,
}

struct Bench {
    url: String,
    sql: PgConnection,
    database: Database,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    let mut bench = Bench::new(&test).await?;
    bench.compare().await?;
    catalog_size::run(&mut bench).await?;
    bench.database.close().await;
    Ok(())
}

impl Bench {
    async fn new(test: &TestDatabase) -> Result<Self, Failure> {
        let database = open(test.url(), 10, RandomSource::system())?;
        database.refresh_directory().await?;
        create_store(&database).await;
        let mut bench = Self { url: test.url(), sql: test.raw().await, database };
        for setting in ["synchronous_commit", "fsync"] {
            let show = sqlx::query_scalar("SELECT current_setting($1)");
            let value: String = show.bind(setting).fetch_one(&mut bench.sql).await?;
            ensure(value == "on", || {
                format!("{setting} is {value}; it must be on for a meaningful measurement")
            })?;
        }
        let mut work = Work::for_store(&bench.database, merchant()).await?;
        for category in rows::categories() {
            catalog::put_category(&mut work, merchant(), &category).await?;
        }
        work.commit().await?;
        Ok(bench)
    }

    /// Runs rounds of Souk and psql in turn, so that a temporary slowdown affects both. A round imports
    /// a catalog into an empty store and then the same products with other prices and descriptions.
    async fn compare(&mut self) -> Result<(), Failure> {
        let other = MerchantId::from_random(2);
        catalog_size::fill(&mut self.sql, other, "o", 0..OTHERS).await?;
        let feeds = [Feed::write(Case::AllNew)?, Feed::write(Case::AllChanged)?];
        let mut rounds = [Rounds::default(), Rounds::default()];
        for round in 0..ROUNDS {
            for turn in 0..2 {
                self.clear().await?;
                for ((case, feed), rounds) in Case::BOTH.into_iter().zip(&feeds).zip(&mut rounds) {
                    self.prepare().await?;
                    if (round + turn) % 2 == 0 {
                        let (applied, with_upload) = self.run_souk(&feed.ndjson, case).await?;
                        rounds.applied.push(applied.as_secs_f64());
                        rounds.with_upload.push(with_upload.as_secs_f64());
                    } else {
                        rounds.psql.push(self.run_psql(feed, case).await?.as_secs_f64());
                    }
                }
            }
        }
        for feed in &feeds {
            std::fs::remove_file(&feed.copy)?;
        }
        let size = feeds.first().map_or(0, |feed| feed.ndjson.len());
        println!(
            "products imported per second: feeds of {} products ({} bytes each), {} products of another store in the table",
            grouped(ROWS),
            size / usize::try_from(ROWS)?,
            grouped(OTHERS)
        );
        println!("median of {ROUNDS} rounds (min–max); target ratio: {TARGET}");
        let head = ["feed", "souk", "with upload", "COPY and psql", "ratio", "with upload"];
        let mut table = Table::new(&head);
        for (case, rounds) in Case::BOTH.into_iter().zip(&rounds) {
            table.add(rounds.row(case.name()));
        }
        table.print();
        Ok(())
    }

    /// Updates the planner statistics and runs a checkpoint. With stale statistics PostgreSQL assumes
    /// that the store is empty and scans all of it in every batch until autovacuum runs, so that both
    /// results would depend on when that is.
    async fn prepare(&mut self) -> Result<(), Failure> {
        for statement in ["VACUUM ANALYZE product", "CHECKPOINT"] {
            sqlx::raw_sql(statement).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    /// Deletes the products of the store and vacuums its tables.
    async fn clear(&mut self) -> Result<(), Failure> {
        sqlx::query("DELETE FROM product WHERE merchant_id = $1")
            .bind(merchant())
            .execute(&mut self.sql)
            .await?;
        for statement in [
            "TRUNCATE price_history, outbox, job, catalog_run, catalog_run_chunk",
            "VACUUM ANALYZE price_history",
            "VACUUM ANALYZE outbox",
        ] {
            sqlx::raw_sql(statement).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    async fn run_souk(
        &mut self,
        ndjson: &[u8],
        case: Case,
    ) -> Result<(Duration, Duration), Failure> {
        let (run, applied, with_upload) =
            import_feed(&self.database, ndjson, FeedRunMode::Replace).await?;
        let done = match case {
            Case::AllNew => run.counts.created,
            Case::AllChanged => run.counts.updated,
        };
        let is_complete = run.complete && done == i64::from(ROWS);
        ensure(is_complete, || format!("unexpected result of the run: {run:?}"))?;
        self.verify(case).await?;
        Ok((applied, with_upload))
    }

    async fn run_psql(&mut self, feed: &Feed, case: Case) -> Result<Duration, Failure> {
        let script = SCRIPT
            .replace("{file}", &feed.copy.to_string_lossy())
            .replace("{merchant}", &merchant().uuid().to_string())
            .replace("{run}", &FeedRunId::from_random(9).uuid().to_string())
            .replace("{are_new}", if case == Case::AllNew { "true" } else { "false" });
        let path = temporary("import_products.sql");
        std::fs::write(&path, script)?;
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--file"]).arg(&path).arg(&self.url);
        let since = Instant::now();
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let elapsed = since.elapsed();
        std::fs::remove_file(&path)?;
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(output.status.success(), || format!("psql failed: {stderr}"))?;
        self.verify(case).await?;
        Ok(elapsed)
    }

    /// Verifies the number of products, prices and events: both sides must write the same.
    async fn verify(&mut self, case: Case) -> Result<(), Failure> {
        let counts: (i64, i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM product WHERE merchant_id = $1 AND description LIKE $2),
                    (SELECT count(*) FROM price_history), (SELECT count(*) FROM outbox)",
        )
        .bind(merchant())
        .bind(format!("%in edition {}.%", edition(case)))
        .fetch_one(&mut self.sql)
        .await?;
        let changes = i64::from(ROWS) * i64::from(edition(case));
        let expected = (i64::from(ROWS), changes, changes);
        ensure(counts == expected, || {
            format!("products, prices and events are {counts:?}, expected {expected:?}")
        })
    }
}

fn edition(case: Case) -> u32 {
    match case {
        Case::AllNew => 1,
        Case::AllChanged => 2,
    }
}

impl Feed {
    fn write(case: Case) -> Result<Self, Failure> {
        let drafts: Vec<ProductDraft> =
            (0..ROWS).map(|number| rows::draft("a", number, edition(case))).collect();
        let copy = temporary(&format!("{}.copy", edition(case)));
        std::fs::write(&copy, rows::as_copy(&drafts, BATCH)?)?;
        Ok(Self { ndjson: rows::as_feed(&drafts)?, copy })
    }
}

impl Rounds {
    fn row(&self, case: &str) -> Vec<String> {
        let rate = |seconds: &[f64]| {
            Spread::of(seconds.iter().map(|seconds| f64::from(ROWS) / seconds)).show(0)
        };
        let ratio = |souk: &[f64]| {
            Spread::of(self.psql.iter().zip(souk).map(|(psql, souk)| psql / souk)).show(2)
        };
        vec![
            case.to_owned(),
            rate(&self.applied),
            rate(&self.with_upload),
            rate(&self.psql),
            ratio(&self.applied),
            ratio(&self.with_upload),
        ]
    }
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("souk-proof-{}-{name}", std::process::id()))
}

/// Imports a feed as in production: uploads it in chunks, finishes the upload and runs the job. Returns
/// the run, the duration from the end of the upload and the duration from its first byte.
async fn import_feed(
    database: &Database,
    feed: &[u8],
    mode: FeedRunMode,
) -> Result<(FeedRun, Duration, Duration), Failure> {
    // There is no other worker, so the lease need not be renewed.
    let settings = RunnerSettings { lease: Duration::from_mins(10), ..RunnerSettings::default() };
    let runner =
        Runner::new(database.clone(), settings).register::<ApplyFeedRun>(connectors::read_feed);
    let request = NewFeedRun {
        format: FeedFormat::Ndjson,
        mode,
        dry_run: false,
        force: false,
        file_name: None,
        columns: None,
    };
    let uploaded = Instant::now();
    let id = catalog::begin_feed_run(database, merchant(), &request, 0).await?;
    for (number, chunk) in (0..).zip(feed.chunks(CHUNK)) {
        catalog::receive_chunk(database, merchant(), id, number, chunk).await?;
    }
    let accepted = Instant::now();
    let length = i64::try_from(feed.len())?;
    catalog::finish_upload(database, merchant(), id, length, id.uuid().as_bytes()).await?;
    runner.run_until_idle().await?;
    let (applied, with_upload) = (accepted.elapsed(), uploaded.elapsed());
    let reading = Reading::for_store(database, merchant())?;
    let run = catalog::feed_run(&reading, merchant(), id).await?;
    ensure(run.state == FeedRunState::Completed, || {
        format!("unexpected result of the run: {run:?}")
    })?;
    Ok((run, applied, with_upload))
}
