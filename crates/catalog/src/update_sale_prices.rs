//! The sweep that changes prices when a sale begins or ends.

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{Id, ProductId};

use crate::{table, update_offers};

/// Changes the prices of products whose sale begins or ends. Reads compute the price of a sale themselves; this lets the
/// search index, the price history and filters follow.
#[derive(Debug)]
pub struct UpdateSalePrices;

impl Sweep for UpdateSalePrices {
    const NAME: &'static str = "catalog.update_sale_prices";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::prices_due(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        let mut work = Work::for_store(&database, row.merchant).await?;
        let product = ProductId::from_uuid(row.id);
        update_offers::update_sale_prices(&mut work, row.merchant, product).await?;
        work.commit().await?;
        Ok(())
    }
}
