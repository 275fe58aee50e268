//! Counts the facts of before the first epoch, once: an upgrade finds orders and checkouts that no event announces. Epochs begin
//! when all stores are counted.

use std::time::Instant;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{JobContext, JobError, Sweep, SweepRow};
use primitives::MerchantId;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::table::backfill::{Backfill, Candidate};
use crate::{FailureStage, TrustError, failure, rebuild, table};

/// Stores whose progress is recorded together.
const BATCH: i64 = 100;
/// Stores counted concurrently.
const CONCURRENCY: usize = 4;

/// Whether the facts of before the first epoch are counted.
pub async fn is_backfilled(reading: &Reading) -> Result<bool, TrustError> {
    Ok(progress(reading).await?.is_complete)
}

/// Counts the facts of all stores, unless that is done, until a time. A store that fails is recorded, is counted again later, is not
/// scored until then, and stops no other. Returns whether all stores are counted.
pub(crate) async fn backfill(
    database: &Database,
    job: Option<&JobContext>,
    until: Option<Instant>,
) -> Result<bool, TrustError> {
    let reading = Reading::for_platform(database);
    loop {
        let Backfill { is_complete, position } = progress(&reading).await?;
        if is_complete {
            return Ok(true);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(false);
        }
        let page = candidates(&reading, position).await?;
        let with_facts = page.iter().filter(|it| it.has_facts).map(|it| it.merchant);
        count_all(database, with_facts.collect()).await?;
        let mut work = match job {
            Some(job) => job.work_for_platform().await?,
            None => Work::for_platform(database).await?,
        };
        match page.last() {
            Some(last) => table::backfill::advance(&mut work, last.merchant.uuid()).await?,
            None => table::backfill::complete(&mut work).await?,
        }
        match job {
            Some(job) => job.advance(work).await?,
            None => work.commit().await?,
        }
    }
}

/// Counts the facts of stores again that could not be counted, each after a time. Scheduled every few seconds.
#[derive(Debug)]
pub struct RecountFacts;

impl Sweep for RecountFacts {
    const NAME: &'static str = "trust.recount";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::failure::uncounted(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(count(database, row.merchant).await?)
    }
}

async fn progress(reading: &Reading) -> Result<Backfill, TrustError> {
    reading.run(async |sql| Ok(table::backfill::backfill(sql).await?)).await
}

async fn candidates(reading: &Reading, after: Option<Uuid>) -> Result<Vec<Candidate>, TrustError> {
    reading.run(async |sql| Ok(table::backfill::candidates(sql, after, BATCH).await?)).await
}

/// Counts the facts of stores, some at a time.
async fn count_all(database: &Database, mut stores: Vec<MerchantId>) -> Result<(), TrustError> {
    let mut tasks = JoinSet::new();
    loop {
        while tasks.len() < CONCURRENCY
            && let Some(merchant) = stores.pop()
        {
            tasks.spawn(count(database.clone(), merchant));
        }
        match tasks.join_next().await {
            None => return Ok(()),
            Some(ended) => ended.map_err(|error| TrustError::Defect(error.to_string()))??,
        }
    }
}

async fn count(database: Database, merchant: MerchantId) -> Result<(), TrustError> {
    // In a task of its own, so that a panic is an error of this store.
    let counting = database.clone();
    let counted = tokio::spawn(async move { rebuild(&counting, merchant).await }).await;
    let error = match counted {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) if error.is_outage() => return Err(error),
        Ok(Err(error)) => error,
        Err(error) => TrustError::Defect(error.to_string()),
    };
    failure::record(&database, merchant, FailureStage::Count, &error).await
}
