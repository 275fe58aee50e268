//! A job: expiring sessions that were not paid in time.

use carts::CartError;
use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use primitives::{CheckoutId, Id, MerchantId};

use crate::cancel::end;
use crate::{CheckoutError, Status, Transition, read, table};

/// Expires sessions that were not paid in time. Scheduled every minute.
#[derive(Debug)]
pub struct ExpireSessions;

impl Sweep for ExpireSessions {
    const NAME: &'static str = "checkout.notice_abandoned";
    type Dependencies = ();

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        Ok(table::find_expired(sql, now, after, limit).await?)
    }

    async fn process(database: Database, row: SweepRow, (): ()) -> Result<(), JobError> {
        Ok(expire(&database, row.merchant, CheckoutId::from_uuid(row.id)).await?)
    }
}

async fn expire(
    database: &Database,
    merchant: MerchantId,
    id: CheckoutId,
) -> Result<(), CheckoutError> {
    let mut work = Work::for_checkout(database, merchant).await?;
    let now = work.now();
    let mut session = match read::lock(&mut work, merchant, id, None).await {
        Ok((session, _)) => session,
        Err(CheckoutError::NotFound) => return Ok(()),
        // A session without its cart still holds units. Its version guards the change.
        Err(CheckoutError::Cart(CartError::NotFound)) => {
            match table::find(work.sql(), merchant, Some(id), None).await? {
                Some(session) => session,
                None => return Ok(()),
            }
        }
        Err(error) => return Err(error),
    };
    // The session may have changed since it was read.
    if session.status(now) != Status::Expired || session.stored_status() == Status::Expired {
        return Ok(work.rollback().await?);
    }
    end(&mut work, merchant, &mut session, Transition::Expire).await?;
    database::crash_point("expire.before_commit");
    Ok(work.commit().await?)
}
