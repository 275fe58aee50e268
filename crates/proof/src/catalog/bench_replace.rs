//! Products brought in per second: a replacement from NDJSON, read twice, checked and written by the
//! job that does it in production, against psql, which copies rows that are ready and runs the same
//! statements on them. The ratio is what reading, checking and being safe costs on top of the engine.

mod grown;
mod rows;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use catalog::{ApplyRun, FeedFormat, NewRun, ProductDraft, Run, RunMode, RunState};
use database::{Database, Dice, Reading, Work};
use jobs::{Runner, RunnerSettings};
use primitives::{Id, JobId, MerchantId};
use sqlx::PgConnection;
use testkit::TestDatabase;

use crate::catalog::shop::{merchant, open_store};
use crate::report::{Failure, ensure, grouped};
use crate::table_print::{Spread, Table};
use crate::worker::open;

const ROUNDS: usize = 5;
/// Products of a feed.
const ROWS: u32 = 50_000;
/// Products of other stores in the same table.
const OTHERS: u32 = 100_000;
/// Rows written in one transaction, as the catalog does it.
const BATCH: usize = 500;
/// Bytes of a feed that are kept in one row.
const CHUNK: usize = 1024 * 1024;
/// What we promise: at least so much of what the engine itself can do.
const TARGET: f64 = 0.5;
const SCRIPT: &str = include_str!("../../psql/bring_in.sql");

/// What a feed does to the catalog.
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

/// A feed, in the form of either side.
struct Feed {
    ndjson: Vec<u8>,
    copy: PathBuf,
}

/// Seconds of our rounds and of theirs.
#[derive(Default)]
struct Rounds {
    applied: Vec<f64>,
    with_upload: Vec<f64>,
    bare: Vec<f64>,
}

struct Bench {
    url: String,
    sql: PgConnection,
    database: Database,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    let mut bench = Bench::set(&test).await?;
    bench.compare().await?;
    grown::run(&mut bench).await?;
    bench.database.close().await;
    Ok(())
}

impl Bench {
    async fn set(test: &TestDatabase) -> Result<Self, Failure> {
        let database = open(test.url(), 10, Dice::real())?;
        database.refresh_directory().await?;
        open_store(&database).await;
        let mut bench = Self { url: test.url(), sql: test.raw().await, database };
        for setting in ["synchronous_commit", "fsync"] {
            let show = sqlx::query_scalar("SELECT current_setting($1)");
            let value: String = show.bind(setting).fetch_one(&mut bench.sql).await?;
            ensure(value == "on", || {
                format!("{setting} is {value}: the figures would say nothing")
            })?;
        }
        let mut work = Work::for_store(&bench.database, merchant()).await?;
        for category in rows::categories() {
            catalog::put_category(&mut work, merchant(), &category).await?;
        }
        work.commit().await?;
        Ok(bench)
    }

    /// Rounds of the one and the other in turn, so that a slow minute hits both. A round is a catalog
    /// brought into an empty store, and then all of it brought in again with another price and text.
    async fn compare(&mut self) -> Result<(), Failure> {
        let other = MerchantId::from_random(2);
        grown::fill(&mut self.sql, other, "o", 0..OTHERS).await?;
        let feeds = [Feed::write(Case::AllNew)?, Feed::write(Case::AllChanged)?];
        let mut rounds = [Rounds::default(), Rounds::default()];
        for round in 0..ROUNDS {
            for turn in 0..2 {
                self.clear().await?;
                for ((case, feed), rounds) in Case::BOTH.into_iter().zip(&feeds).zip(&mut rounds) {
                    self.prepare().await?;
                    if (round + turn) % 2 == 0 {
                        let (applied, with_upload) = self.run_ours(&feed.ndjson, case).await?;
                        rounds.applied.push(applied.as_secs_f64());
                        rounds.with_upload.push(with_upload.as_secs_f64());
                    } else {
                        rounds.bare.push(self.run_bare(feed, case).await?.as_secs_f64());
                    }
                }
            }
        }
        for feed in &feeds {
            std::fs::remove_file(&feed.copy)?;
        }
        let size = feeds.first().map_or(0, |feed| feed.ndjson.len());
        println!(
            "products brought in per second: feeds of {} ({} bytes each), {} of another store beside them",
            grouped(ROWS),
            size / usize::try_from(ROWS)?,
            grouped(OTHERS)
        );
        println!("median of {ROUNDS} rounds (least–most); the ratio's target is {TARGET}");
        let head = ["feed", "souk", "with upload", "COPY and psql", "ratio", "with upload"];
        let mut table = Table::new(&head);
        for (case, rounds) in Case::BOTH.into_iter().zip(&rounds) {
            table.add(rounds.row(case.name()));
        }
        table.print();
        Ok(())
    }

    /// Statistics that know of the store, and nothing left to write. Without the former the engine
    /// takes the store for empty and goes through all of it in every batch, until autovacuum comes by:
    /// either side would measure when that is.
    async fn prepare(&mut self) -> Result<(), Failure> {
        for statement in ["VACUUM ANALYZE product", "CHECKPOINT"] {
            sqlx::raw_sql(statement).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    /// An empty store in a tidy table.
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

    async fn run_ours(
        &mut self,
        ndjson: &[u8],
        case: Case,
    ) -> Result<(Duration, Duration), Failure> {
        let (run, applied, with_upload) =
            bring_in(&self.database, ndjson, RunMode::Replace).await?;
        let done = match case {
            Case::AllNew => run.tally.created,
            Case::AllChanged => run.tally.updated,
        };
        let whole = run.complete && done == i64::from(ROWS);
        ensure(whole, || format!("the run came to {run:?}"))?;
        self.judge(case).await?;
        Ok((applied, with_upload))
    }

    async fn run_bare(&mut self, feed: &Feed, case: Case) -> Result<Duration, Failure> {
        let script = SCRIPT
            .replace("{file}", &feed.copy.to_string_lossy())
            .replace("{merchant}", &merchant().uuid().to_string())
            .replace("{run}", &JobId::from_random(9).uuid().to_string())
            .replace("{are_new}", if case == Case::AllNew { "true" } else { "false" });
        let path = temporary("bring_in.sql");
        std::fs::write(&path, script)?;
        let mut command = Command::new("psql");
        command.args(["--no-psqlrc", "--quiet", "--file"]).arg(&path).arg(&self.url);
        let since = Instant::now();
        let output = tokio::task::spawn_blocking(move || command.output()).await??;
        let elapsed = since.elapsed();
        std::fs::remove_file(&path)?;
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure(output.status.success(), || format!("psql failed: {complaint}"))?;
        self.judge(case).await?;
        Ok(elapsed)
    }

    /// Either side has to have written the same number of everything.
    async fn judge(&mut self, case: Case) -> Result<(), Failure> {
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
        ensure(counts == expected, || format!("there are {counts:?} and not {expected:?}"))
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
        let ratio = |ours: &[f64]| {
            Spread::of(self.bare.iter().zip(ours).map(|(bare, ours)| bare / ours)).show(2)
        };
        vec![
            case.to_owned(),
            rate(&self.applied),
            rate(&self.with_upload),
            rate(&self.bare),
            ratio(&self.applied),
            ratio(&self.with_upload),
        ]
    }
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("souk-proof-{}-{name}", std::process::id()))
}

/// Brings a feed in as production does: uploaded in pieces, accepted, applied by the job. The times
/// are from the acceptance and from the first byte until the run is done.
async fn bring_in(
    database: &Database,
    feed: &[u8],
    mode: RunMode,
) -> Result<(Run, Duration, Duration), Failure> {
    // Nobody else works here: the lease need not be renewed.
    let settings = RunnerSettings { lease: Duration::from_mins(10), ..RunnerSettings::default() };
    let runner =
        Runner::new(database.clone(), settings).register::<ApplyRun>(connectors::read_feed);
    let asked =
        NewRun { format: FeedFormat::Ndjson, mode, dry_run: false, force: false, file_name: None };
    let uploaded = Instant::now();
    let id = catalog::begin_run(database, merchant(), &asked).await?;
    for (number, chunk) in (0..).zip(feed.chunks(CHUNK)) {
        catalog::receive(database, merchant(), id, number, chunk).await?;
    }
    let accepted = Instant::now();
    let length = i64::try_from(feed.len())?;
    catalog::accept(database, merchant(), id, length, id.uuid().as_bytes()).await?;
    runner.run_until_idle().await?;
    let (applied, with_upload) = (accepted.elapsed(), uploaded.elapsed());
    let reading = Reading::for_store(database, merchant())?;
    let run = catalog::run(&reading, merchant(), id).await?;
    ensure(run.state == RunState::Completed, || format!("the run came to {run:?}"))?;
    Ok((run, applied, with_upload))
}
