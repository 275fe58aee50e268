//! Jobs: purging carts and checkouts that are kept no longer (docs/retention.md).

use std::time::Duration;

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled, Sweep, SweepRow};
use primitives::{CartId, Id, MerchantId};
use serde::{Deserialize, Serialize};

use crate::{CheckoutError, table};

/// Age at which the data of a sandbox is purged (docs/contract/authentication.md#sandbox-isolation).
const SANDBOX_LIFETIME: Duration = Duration::from_hours(24);
/// Age at which a cart without an order is purged, with its session and confirmations.
const UNSOLD_LIFETIME: Duration = Duration::from_hours(30 * 24);
/// Age at which a cart with an order is purged, with its session and confirmations. The order remains.
const SOLD_LIFETIME: Duration = Duration::from_hours(400 * 24);
/// Age at which the events of agents are purged; the trust score counts those of 90 days.
pub const EVENT_LIFETIME: Duration = Duration::from_hours(120 * 24);
/// Rows deleted at a time.
const BATCH_SIZE: i64 = 1_000;

/// Deletes old carts with their sessions and confirmations, and the orders and payments of sandboxes. Scheduled every hour.
#[derive(Debug)]
pub struct PurgeCarts;

impl Sweep for PurgeCarts {
    const NAME: &'static str = "checkout.forget_sandboxes";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        let ages = carts::CartAges {
            sandbox: now.minus(SANDBOX_LIFETIME),
            unsold: now.minus(UNSOLD_LIFETIME),
            sold: now.minus(SOLD_LIFETIME),
        };
        let after = after.map(|row| (row.due_at, CartId::from_uuid(row.id)));
        let carts = carts::find_old(sql, ages, after, limit).await?;
        let row = |(merchant, id, due_at): (MerchantId, CartId, _)| SweepRow {
            merchant,
            id: id.uuid(),
            due_at,
        };
        Ok(carts.into_iter().map(row).collect())
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(purge(&database, row.merchant, CartId::from_uuid(row.id)).await?)
    }
}

async fn purge(
    database: &Database,
    merchant: MerchantId,
    cart: CartId,
) -> Result<(), CheckoutError> {
    let mut work = Work::for_checkout(database, merchant).await?;
    let session = table::find(work.sql(), merchant, None, Some(cart)).await?;
    // An open session ends first; one with a pending payment waits for its outcome.
    if session.as_ref().is_some_and(|session| !session.stored_status().is_final()) {
        return Ok(work.rollback().await?);
    }
    table::purge_cart(&mut work, merchant, cart).await?;
    if let Some(session) = session.filter(|session| session.owner.is_sandbox) {
        orders::purge_sandbox(&mut work, merchant, session.id).await?;
        payments::purge(&mut work, merchant, session.id).await?;
    }
    carts::purge(&mut work, merchant, cart).await?;
    let before = work.now().minus(SANDBOX_LIFETIME);
    catalog::purge_sandbox(&mut work, merchant, before).await?;
    Ok(work.commit().await?)
}

/// Deletes old events of agents and declined purchases, in batches. Scheduled every hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeCheckoutEvents {
    epoch: Epoch,
}

impl Scheduled for PurgeCheckoutEvents {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for PurgeCheckoutEvents {
    const NAME: &'static str = "checkout.purge_events";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(SANDBOX_LIFETIME);
            let declined = table::purge_declined(&mut work, before, BATCH_SIZE).await;
            let declined = declined.map_err(CheckoutError::from)?;
            work.commit().await?;
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(EVENT_LIFETIME);
            let events = table::purge_events(&mut work, before, BATCH_SIZE).await;
            let events = events.map_err(CheckoutError::from)?;
            work.commit().await?;
            if declined + events == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}
