//! Scores computed per second, against the bare read of the same rows by SQL: the state of each store and its rows of days, in
//! the same batches and with as many connections, read and thrown away.
//!
//! A round of Souk is one epoch of all merchants, as the schedule computes it: both methodologies, one appended row for each
//! merchant with components and hash, its details replaced, standings and events. The clock is fixed and advanced by an epoch
//! between two rounds, so that every round has an epoch of its own.

use std::time::{Duration, Instant};

use database::Clock;
use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;
use tokio::task::JoinSet;
use trust::{Epoch, MethodologyVersion};
use uuid::Uuid;

use super::many_merchants::fill;
use crate::engines::Engines;
use crate::report::{Failure, ensure, grouped};
use crate::souk::cpu_micros;
use crate::table_print::{Spread, Table};

const ROUNDS: usize = 5;
/// Merchants, unless an option says otherwise.
const MERCHANTS: u32 = 50_000;
/// Rows of days of each: accounts on days of the last 94.
const ROWS_EACH: u32 = 30;
/// Merchants of a batch, and batches at a time, as the job has them.
const BATCH: usize = 500;
const CONCURRENCY: usize = 4;
/// Target of the ratio to the bare read.
const TARGET: f64 = 0.5;
const EPOCH: Duration = Duration::from_hours(6);
/// From the time at which the clock of a test starts, two hours after the begin of an epoch, to the last minute of the epoch: all
/// scores of it are due.
const UNTIL_ALL_IS_DUE: Duration = Duration::from_mins(239);
/// What has to be computed in six hours at the size that is planned for.
const PLANNED_MERCHANTS: f64 = 5_000_000.0;

/// The rows of days that the job reads.
const DAYS: &str = "SELECT merchant_id, day - DATE '1970-01-01', account_id, started, completed, lasting, kept, orders,
                           amount_minor, in_stock, out_of_stock, on_time, late, delivered, price_equal, price_different,
                           disputes_lost
                    FROM trust_agent_day
                    WHERE merchant_id = ANY ($1) AND day >= DATE '1970-01-01' + $2::int AND day <= DATE '1970-01-01' + $3::int
                    ORDER BY merchant_id, account_id, day";
/// The state of stores that the job reads.
const STATES: &str = "SELECT store.merchant_id, slug, currency, member_since, last_sync_at, products, complete, consistent,
                             rated_products, rating_sum_hundredths, pushed_since, return_window_days, shipping_days_max,
                             privacy_url, delivered, identity.status, setting.shipping, checkout_url_template
                      FROM store
                      LEFT JOIN catalog_quality USING (merchant_id)
                      LEFT JOIN store_policy USING (merchant_id)
                      LEFT JOIN trust_tally USING (merchant_id)
                      LEFT JOIN identity_verification AS identity USING (merchant_id)
                      LEFT JOIN store_setting AS setting USING (merchant_id)
                      WHERE store.merchant_id = ANY ($1) ORDER BY store.merchant_id";

pub(crate) async fn bench(size: Option<u32>) -> Result<(), Failure> {
    let merchants = size.unwrap_or(MERCHANTS);
    let bench = Bench::open(merchants).await?;
    let (mut ours, mut reads) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for turn in 0..2 {
            if (round + turn) % 2 == 0 {
                ours.push(bench.compute().await?);
            } else {
                reads.push(bench.read().await?);
            }
        }
    }
    bench.check(ours.len()).await?;
    // The first round of each is a warm-up.
    print(merchants, &ours.split_off(1), &reads.split_off(1));
    Ok(())
}

/// The result of a round: merchants per second, and CPU per merchant in microseconds.
struct Round {
    rate: f64,
    own: f64,
    postgres: f64,
}

/// CPU times and the time of a moment, to be subtracted.
struct Moment {
    own: u64,
    postgres: u64,
    at: Instant,
}

impl Moment {
    fn now(engines: &Engines) -> Result<Self, Failure> {
        let own = cpu_micros(std::process::id())?;
        Ok(Self { own, postgres: engines.postgres_cpu_micros()?, at: Instant::now() })
    }

    #[expect(clippy::cast_precision_loss, reason = "times of minutes in microseconds")]
    fn until_now(&self, engines: &Engines, merchants: u32) -> Result<Round, Failure> {
        let (end, number) = (Self::now(engines)?, f64::from(merchants));
        Ok(Round {
            rate: number / end.at.duration_since(self.at).as_secs_f64(),
            own: end.own.saturating_sub(self.own) as f64 / number,
            postgres: end.postgres.saturating_sub(self.postgres) as f64 / number,
        })
    }
}

/// Merchants in a database of their own.
struct Bench {
    test: TestDatabase,
    /// All stores, in the order of their ids.
    ids: Vec<Uuid>,
    merchants: u32,
    // Last, because everything else uses it.
    engines: Engines,
}

impl Bench {
    async fn open(merchants: u32) -> Result<Self, Failure> {
        let engines = tokio::task::spawn_blocking(Engines::start).await??;
        let test = TestDatabase::on(&engines.database_url).await;
        test.clock().advance(UNTIL_ALL_IS_DUE);
        let since = Instant::now();
        let now = test.database().local_now();
        fill(&test, test.database(), merchants, now, ROWS_EACH).await?;
        let ids = sqlx::query_scalar("SELECT merchant_id FROM store ORDER BY merchant_id")
            .fetch_all(&mut test.raw().await)
            .await?;
        println!(
            "{} merchants with {ROWS_EACH} rows of days each, after {} s",
            grouped(merchants),
            since.elapsed().as_secs()
        );
        Ok(Self { test, ids, merchants, engines })
    }

    fn clock(&self) -> &Clock {
        self.test.clock()
    }

    fn epoch(&self) -> Epoch {
        Epoch::of(self.test.database().local_now())
    }

    /// Computes the scores of an epoch, and advances the clock to the next one.
    async fn compute(&self) -> Result<Round, Failure> {
        let before = Moment::now(&self.engines)?;
        while !trust::compute_due(self.test.database(), MethodologyVersion::V20).await? {}
        let round = before.until_now(&self.engines, self.merchants)?;
        self.clock().advance(EPOCH);
        Ok(round)
    }

    /// Reads the rows of all merchants.
    async fn read(&self) -> Result<Round, Failure> {
        let epoch = self.epoch();
        let (first, last) = (epoch.first_day().0, epoch.last_day().0);
        let mut connections = Vec::new();
        for _ in 0..CONCURRENCY {
            connections.push(PgConnection::connect(&self.test.url()).await?);
        }
        let before = Moment::now(&self.engines)?;
        let mut tasks: JoinSet<Result<usize, Failure>> = JoinSet::new();
        for (number, mut sql) in connections.into_iter().enumerate() {
            let batches = self.ids.chunks(BATCH).skip(number).step_by(CONCURRENCY);
            let batches: Vec<Vec<Uuid>> = batches.map(<[Uuid]>::to_vec).collect();
            tasks.spawn(async move {
                let mut rows = 0;
                for batch in batches {
                    rows += sqlx::query(STATES).bind(&batch).fetch_all(&mut sql).await?.len();
                    let days = sqlx::query(DAYS).bind(&batch).bind(first).bind(last);
                    rows += days.fetch_all(&mut sql).await?.len();
                }
                Ok(rows)
            });
        }
        let mut rows = 0;
        while let Some(ended) = tasks.join_next().await {
            rows += ended??;
        }
        ensure(rows > self.ids.len(), || format!("only {rows} rows were read"))?;
        before.until_now(&self.engines, self.merchants)
    }

    /// Checks that every round computed an epoch of all merchants.
    async fn check(&self, rounds: usize) -> Result<(), Failure> {
        let scores: i64 = sqlx::query_scalar("SELECT count(*) FROM trust_score WHERE revision = 0")
            .fetch_one(&mut self.test.raw().await)
            .await?;
        let expected = self.ids.len() * rounds;
        // A tenth of the stores began a while before the first epoch, and has all of them.
        ensure(usize::try_from(scores)? == expected, || {
            format!("{scores} scores in {rounds} rounds of {} stores", self.ids.len())
        })
    }
}

fn print(merchants: u32, ours: &[Round], reads: &[Round]) {
    println!(
        "{} merchants a round, {BATCH} in a batch, {CONCURRENCY} batches at a time, synchronous_commit = on; median of {ROUNDS} \
         interleaved rounds (min–max)",
        grouped(merchants)
    );
    let show = |rounds: &[Round], of: fn(&Round) -> f64| Spread::of(rounds.iter().map(of)).show(0);
    let ratio = Spread::of(ours.iter().zip(reads).map(|(ours, read)| ours.rate / read.rate));
    let mut rates =
        Table::new(&["merchants per second", "souk", "bare read", "ratio", "at least 0.5"]);
    rates.add(vec![
        String::from("one process"),
        show(ours, |round| round.rate),
        show(reads, |round| round.rate),
        ratio.show(2),
        String::from(if ratio.median >= TARGET { "yes" } else { "NO" }),
    ]);
    rates.print();
    let mut cpu = Table::new(&["CPU per merchant, µs", "this process", "PostgreSQL"]);
    for (name, rounds) in [("souk", ours), ("bare read", reads)] {
        let (own, postgres) =
            (show(rounds, |round| round.own), show(rounds, |round| round.postgres));
        cpu.add(vec![name.to_owned(), own, postgres]);
    }
    cpu.print();
    let hours =
        PLANNED_MERCHANTS / Spread::of(ours.iter().map(|round| round.rate)).median / 3_600.0;
    let is_enough = if hours <= 6.0 { "within" } else { "NOT within" };
    println!(
        "5,000,000 merchants take {hours:.2} h at this rate, {is_enough} six hours; {:.0} merchants per second are needed",
        PLANNED_MERCHANTS / EPOCH.as_secs_f64()
    );
}
