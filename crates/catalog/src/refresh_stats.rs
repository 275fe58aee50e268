//! The job that recomputes the counts and quality figures of a store's catalog.

use std::time::Duration;

use database::Work;
use jobs::{Job, JobContext, JobError, Outcome};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};

use crate::{CatalogError, table};

/// Time for which changes accumulate before the figures are recomputed.
const DELAY: Duration = Duration::from_secs(5);

/// Time for which pushes of equal products accumulate: only the freshness follows from them.
const EQUAL_PUSHES_DELAY: Duration = Duration::from_mins(5);

/// Schedules [`RefreshCatalogStats`] for a store, once for all changes within a few seconds.
pub async fn schedule_catalog_stats(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<(), CatalogError> {
    schedule(work, merchant, DELAY).await
}

/// Schedules [`RefreshCatalogStats`] for a store whose pushes changed nothing but were recorded, once for all within minutes.
pub async fn schedule_freshness(work: &mut Work, merchant: MerchantId) -> Result<(), CatalogError> {
    schedule(work, merchant, EQUAL_PUSHES_DELAY).await
}

async fn schedule(
    work: &mut Work,
    merchant: MerchantId,
    delay: Duration,
) -> Result<(), CatalogError> {
    let at = work.now().plus(delay);
    let seconds = delay.as_secs();
    let window = at.unix_seconds() / i64::try_from(seconds).unwrap_or(1);
    let key = format!("{merchant}/{seconds}/{window}");
    jobs::enqueue_unique(work, &RefreshCatalogStats { merchant }, &key, at).await?;
    Ok(())
}

/// Recomputes the product counts and the quality figures of a store's catalog.
#[derive(Debug, Serialize, Deserialize)]
pub struct RefreshCatalogStats {
    pub merchant: MerchantId,
}

impl Job for RefreshCatalogStats {
    const NAME: &'static str = "catalog.take_stock";
    type Dependencies = ();

    fn merchant(&self) -> Option<MerchantId> {
        Some(self.merchant)
    }

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        // Several transactions, because each takes seconds for a store with a million products.
        crate::refresh_quality(context.database(), self.merchant).await?;
        let mut work = context.work_for_store(self.merchant).await?;
        crate::refresh_counts(&mut work, self.merchant).await?;
        work.commit().await?;
        let mut work = context.work_for_store(self.merchant).await?;
        table::recount_size(&mut work, self.merchant).await?;
        context.finish(work).await
    }
}
