//! The sweep that computes figures of catalogs again that an earlier version computed.

use database::{Database, DatabaseError, Reading, Snapshot};
use jobs::{JobError, Sweep, SweepRow};

use crate::{refresh_quality, table};

/// Computes outdated quality figures, each catalog by itself: an upgrade does not wait for those of all stores.
#[derive(Debug)]
pub struct RefreshOutdatedFigures;

impl Sweep for RefreshOutdatedFigures {
    const NAME: &'static str = "catalog.refresh_outdated_figures";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        Ok(table::outdated_figures(sql, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let reading = Reading::for_store(&database, row.merchant)?;
        let stored = crate::quality(&reading, row.merchant).await?;
        if stored.is_some_and(|figures| figures.is_outdated) {
            refresh_quality(&database, row.merchant).await?;
        }
        Ok(())
    }
}
