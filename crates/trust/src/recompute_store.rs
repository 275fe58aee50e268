//! A verb: computes the score of a store again, with everything that it needs, as an operator requests it.

use database::{Database, Reading, Work};
use primitives::MerchantId;

use crate::gather::{Unnamed, gather, one};
use crate::rebuild::rebuild;
use crate::recompute::{ATTEMPTS_MAX, append_after, compute_score, require_scorable};
use crate::{Cause, Computation, Epoch, FailureStage, MethodologyVersion, TrustError, table};

/// Computes the score of a store again, as a new revision in the current epoch, also if it equals the former one. Before, it
/// computes the figures of its catalog, if there are none, and counts its facts, if they are not counted. Nothing is locked
/// while the score is computed. Returns `Suspended` for a store that an operator closed.
pub async fn recompute_store(
    database: &Database,
    merchant: MerchantId,
    in_force: MethodologyVersion,
) -> Result<Computation, TrustError> {
    ensure_figures(database, merchant).await?;
    if !is_counted(database, merchant).await? {
        rebuild(database, merchant).await?;
    }
    for _ in 0..ATTEMPTS_MAX {
        let (former, store) = read(database, merchant).await?;
        let scored = compute_score(store, Cause::Requested, in_force).await?;
        let mut work = Work::for_platform(database).await?;
        if let Some(computation) = append_after(&mut work, former, scored).await? {
            work.commit().await?;
            return Ok(computation);
        }
        work.rollback().await?;
    }
    Err(TrustError::Busy)
}

/// Computes the figures of a catalog if nothing was ever imported, or if the jobs that compute them never ran.
async fn ensure_figures(database: &Database, merchant: MerchantId) -> Result<(), TrustError> {
    let own = Reading::for_store(database, merchant)?;
    let figures = catalog::quality(&own, merchant).await?;
    if figures.is_some_and(|figures| !figures.is_outdated) {
        return Ok(());
    }
    catalog::refresh_quality(database, merchant).await?;
    Ok(())
}

/// Returns whether the facts of before the first epoch are counted.
async fn is_counted(database: &Database, merchant: MerchantId) -> Result<bool, TrustError> {
    let reading = Reading::for_platform(database);
    reading
        .run(async |sql| {
            let is_backfilled = table::backfill::backfill(sql).await?.is_complete;
            let failures = table::failure::attempts(sql, merchant, FailureStage::Count).await?;
            Ok(is_backfilled && failures == 0)
        })
        .await
}

/// Returns the newest revision of the current epoch, and the evidence of now.
async fn read(
    database: &Database,
    merchant: MerchantId,
) -> Result<(Option<i32>, Unnamed), TrustError> {
    let reading = Reading::for_platform(database);
    reading
        .run(async |sql| {
            let current = Epoch::of(sql.now().await?);
            require_scorable(sql, merchant, current).await?;
            let former = table::score::newest_revision(sql, merchant, current).await?;
            Ok((former, one(gather(sql, &[merchant], current).await?)?))
        })
        .await
}
