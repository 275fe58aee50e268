//! `crowded-queue`: hundreds of long imports of one merchant are in the queue. The job that releases held stock starts as
//! soon as without them, and so do jobs of other merchants.
//!
//! An import is made long by a lock on the table that it reads first: it occupies its slot until the lock timeout.

use std::time::{Duration, Instant};

use catalog::{ApplyFeedRun, RefreshCatalogStats};
use checkout::ExpireSessions;
use database::{Database, Work};
use primitives::{FeedRunId, Id, MerchantId};
use sqlx::PgConnection;
use testkit::{StoreBuilder, TestDatabase};

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// Imports in the queue: more than any number of slots.
const IMPORTS: u128 = 200;
/// Largest growth of the latency.
const GROWTH_MAX: f64 = 1.5;
/// A worker looks for jobs at intervals of about 200 ms: differences within one interval are chance.
const INTERVAL: Duration = Duration::from_millis(300);
/// How often the latency beside the imports is measured, if something else on the machine has delayed a job.
const MEASUREMENTS_MAX: u32 = 3;
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let database = test.another_process();
    let (busy, other) = (MerchantId::from_random(1), MerchantId::from_random(2));
    for (slug, merchant) in [("busy", busy), ("other", other)] {
        StoreBuilder::new(slug).merchant(merchant).build(&database).await;
    }
    let _worker = Souk::work(&test.url(), 30)?;
    let samples = trial.by_tier(3, 60);
    let (before, _) = latencies(&test, &database, other, samples).await?;
    let mut lock = test.raw().await;
    sqlx::raw_sql("BEGIN; LOCK TABLE catalog_run IN ACCESS EXCLUSIVE MODE")
        .execute(&mut lock)
        .await?;
    enqueue_imports(&database, busy).await?;
    // Until the imports have all slots that they can get.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut raw = test.raw().await;
    let running = "SELECT count(*) FROM job WHERE lane = 1 AND kind = 'catalog.apply_run'";
    let running: i64 = sqlx::query_scalar(running).fetch_one(&mut raw).await?;
    ensure(running > 0, || String::from("no import is running"))?;
    let (mut after, mut of_other) = latencies(&test, &database, other, samples).await?;
    let mut measurements = 1;
    while after > INTERVAL.max(before.mul_f64(GROWTH_MAX)) && measurements < MEASUREMENTS_MAX {
        (after, of_other) = latencies(&test, &database, other, samples).await?;
        measurements += 1;
    }
    sqlx::raw_sql("ROLLBACK").execute(&mut lock).await?;
    ensure(after <= INTERVAL.max(before.mul_f64(GROWTH_MAX)), || {
        format!(
            "hold expiry took {after:?} at most beside the imports in the last of {measurements} measurements, {before:?} \
             without them"
        )
    })?;
    Ok(format!(
        "{IMPORTS} long imports of one merchant, {running} running: hold expiry done after at most {} ms, without them {} \
         ms; jobs of another merchant after at most {} ms",
        after.as_millis(),
        before.as_millis(),
        of_other.as_millis(),
    ))
}

async fn enqueue_imports(database: &Database, merchant: MerchantId) -> Result<(), Failure> {
    let mut work = Work::for_platform(database).await?;
    for number in 0..IMPORTS {
        let run = FeedRunId::from_random(number);
        jobs::enqueue(&mut work, &ApplyFeedRun { merchant, run }).await?;
    }
    work.commit().await?;
    Ok(())
}

/// Returns the longest time until the job that releases held stock was done, and until a job of a merchant was.
async fn latencies(
    test: &TestDatabase,
    database: &Database,
    merchant: MerchantId,
    samples: usize,
) -> Result<(Duration, Duration), Failure> {
    let mut raw = test.raw().await;
    let (mut expiry, mut of_merchant) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..samples {
        let mut work = Work::for_platform(database).await?;
        jobs::enqueue_sweep::<ExpireSessions>(&mut work).await?;
        work.commit().await?;
        expiry = expiry.max(until_done(&mut raw, "checkout.notice_abandoned").await?);
        let mut work = Work::for_platform(database).await?;
        jobs::enqueue(&mut work, &RefreshCatalogStats { merchant }).await?;
        work.commit().await?;
        of_merchant = of_merchant.max(until_done(&mut raw, "catalog.take_stock").await?);
    }
    Ok((expiry, of_merchant))
}

/// Waits until no job of a kind is queued or running.
async fn until_done(raw: &mut PgConnection, kind: &str) -> Result<Duration, Failure> {
    let since = Instant::now();
    while since.elapsed() < TIMEOUT {
        let waits: bool = sqlx::query_scalar("SELECT EXISTS (SELECT FROM job WHERE kind = $1)")
            .bind(kind)
            .fetch_one(&mut *raw)
            .await?;
        if !waits {
            return Ok(since.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Err(format!("a job of kind {kind} was not done within {TIMEOUT:?}").into())
}
