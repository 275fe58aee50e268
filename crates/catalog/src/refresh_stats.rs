//! The job that recomputes the counts and quality figures of a store's catalog.

use std::time::Duration;

use database::Work;
use jobs::{Job, JobContext, JobError, Outcome};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};

use crate::{CatalogError, table};

/// Time for which changes accumulate before the figures are recomputed.
const DELAY: Duration = Duration::from_secs(5);

/// Schedules [`RefreshCatalogStats`] for a store, once for all changes within a few seconds.
pub async fn schedule_catalog_stats(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<(), CatalogError> {
    let at = work.now().plus(DELAY);
    let window = at.unix_seconds() / i64::try_from(DELAY.as_secs()).unwrap_or(1);
    let key = format!("{merchant}/{window}");
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
        let mut work = context.work_for_store(self.merchant).await?;
        crate::refresh_counts(&mut work, self.merchant).await?;
        work.commit().await?;
        let mut work = context.work_for_store(self.merchant).await?;
        crate::refresh_quality(&mut work, self.merchant).await?;
        work.commit().await?;
        let mut work = context.work_for_store(self.merchant).await?;
        table::recount_size(&mut work, self.merchant).await?;
        context.finish(work).await
    }
}
