//! Jobs claimed and finished per second: `jobs::Runner` against pgbench, which sends the same
//! statements and does nothing else. The ratio is the overhead of the runner over PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use database::{Database, RandomSource, Work};
use jobs::{Job, JobContext, JobError, Outcome, Runner, RunnerSettings};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use testkit::TestDatabase;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::pgbench::Pgbench;
use crate::report::{Failure, ensure};
use crate::table_print::{Spread, Table};
use crate::worker::open;

const BATCH: u64 = 50;
const ROUNDS: usize = 5;
/// Jobs in a round: divisible by the batches of 4 and of 8 clients, and some seconds of work.
const JOBS: u64 = 60_000;
const CLIENTS: [u32; 2] = [4, 8];
/// Target of the ratio to pgbench.
const TARGET: f64 = 0.8;
const SCRIPT: &str = include_str!("../../pgbench/claim_and_finish.sql");

/// Does nothing.
#[derive(Serialize, Deserialize)]
struct Nothing {}

impl Job for Nothing {
    const NAME: &'static str = "nothing";
    type Dependencies = Arc<Countdown>;

    async fn run(self, _: JobContext, countdown: Arc<Countdown>) -> Result<Outcome, JobError> {
        countdown.count();
        Ok(Outcome::DONE)
    }
}

/// Stops the runners after the last job.
struct Countdown {
    left: AtomicU64,
    stop: watch::Sender<bool>,
}

impl Countdown {
    fn count(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.send_replace(true);
        }
    }
}

struct Bench {
    url: String,
    sql: PgConnection,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let test = TestDatabase::new().await;
    let mut bench = Bench { url: test.url(), sql: test.raw().await };
    for setting in ["synchronous_commit", "fsync"] {
        let show = sqlx::query_scalar("SELECT current_setting($1)");
        let value: String = show.bind(setting).fetch_one(&mut bench.sql).await?;
        ensure(value == "on", || format!("{setting} is {value}; the benchmark needs it on"))?;
    }
    println!("jobs claimed and finished per second, batches of {BATCH}, synchronous_commit = on");
    println!(
        "median of {ROUNDS} rounds of {JOBS} jobs (min–max); the target of the ratio is {TARGET}"
    );
    let mut table = Table::new(&["clients", "souk", "pgbench", "ratio"]);
    for clients in CLIENTS {
        table.add(bench.compare(clients).await?);
    }
    table.print();
    Ok(())
}

impl Bench {
    /// Alternates rounds of both, so that a slow minute of the machine affects both.
    async fn compare(&mut self, clients: u32) -> Result<Vec<String>, Failure> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            for turn in 0..2 {
                self.fill().await?;
                if (round + turn) % 2 == 0 {
                    ours.push(self.run_ours(clients).await?);
                } else {
                    theirs.push(self.run_pgbench(clients).await?);
                }
            }
        }
        let ratios = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs);
        let ratio = Spread::of(ratios).show(2);
        let row =
            [clients.to_string(), Spread::of(ours).show(0), Spread::of(theirs).show(0), ratio];
        Ok(row.into())
    }

    /// Fills the queue and vacuums the table.
    async fn fill(&mut self) -> Result<(), Failure> {
        sqlx::raw_sql("TRUNCATE job").execute(&mut self.sql).await?;
        let insert = sqlx::query(
            "INSERT INTO job (id, kind, payload, run_at, enqueued_at)
             SELECT md5(number::text)::uuid, $2, '{}', '2026-01-01', '2026-01-01'
             FROM generate_series(1, $1) AS number",
        );
        insert.bind(i64::try_from(JOBS)?).bind(Nothing::NAME).execute(&mut self.sql).await?;
        sqlx::raw_sql("VACUUM ANALYZE job").execute(&mut self.sql).await?;
        sqlx::raw_sql("CHECKPOINT").execute(&mut self.sql).await?;
        Ok(())
    }

    async fn left(&mut self) -> Result<u64, Failure> {
        let left: i64 =
            sqlx::query_scalar("SELECT count(*) FROM job").fetch_one(&mut self.sql).await?;
        Ok(u64::try_from(left)?)
    }

    /// Runs `clients` runners in one process until the queue is empty.
    async fn run_ours(&mut self, clients: u32) -> Result<f64, Failure> {
        let database = open(self.url.clone(), clients * 2, RandomSource::system())?;
        warm_up(&database, clients).await?;
        let (stop, stopped) = watch::channel(false);
        let countdown = Arc::new(Countdown { left: AtomicU64::new(JOBS), stop });
        let mut runners = JoinSet::new();
        let since = Instant::now();
        for _ in 0..clients {
            let batch = usize::try_from(BATCH)?;
            let settings =
                RunnerSettings { concurrency: batch, reserved: 0, ..RunnerSettings::default() };
            let runner =
                Runner::new(database.clone(), settings).register::<Nothing>(Arc::clone(&countdown));
            runners.spawn(runner.run(stopped.clone()));
        }
        runners.join_all().await;
        let elapsed = since.elapsed();
        database.close().await;
        let left = self.left().await?;
        ensure(left == 0, || format!("{left} jobs are left"))?;
        Ok(per_second(JOBS, elapsed))
    }

    async fn run_pgbench(&mut self, clients: u32) -> Result<f64, Failure> {
        let transactions = JOBS / BATCH / u64::from(clients);
        let bench =
            Pgbench { url: &self.url, clients, transactions, script: SCRIPT, variables: &[] };
        let rate = bench.run().await?;
        let done = JOBS - self.left().await?;
        let jobs_per_transaction = as_float(done) / as_float(transactions * u64::from(clients));
        Ok(rate * jobs_per_transaction)
    }
}

/// Opens the connections, so that none is opened during the measurement.
async fn warm_up(database: &Database, clients: u32) -> Result<(), Failure> {
    let mut works = Vec::new();
    for _ in 0..clients * 2 {
        works.push(Work::for_platform(database).await?);
    }
    for work in works {
        work.rollback().await?;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(())
}

fn per_second(jobs: u64, elapsed: Duration) -> f64 {
    as_float(jobs) / elapsed.as_secs_f64()
}

fn as_float(number: u64) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
