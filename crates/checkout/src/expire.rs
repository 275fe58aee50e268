//! A job: expiring sessions that were not paid in time.

use database::{DatabaseError, Reading};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::{CheckoutId, MerchantId};
use serde::{Deserialize, Serialize};

use crate::cancel::end;
use crate::{CheckoutError, Status, Transition, read, table};

/// Sessions read at a time.
const BATCH_SIZE: i64 = 200;

/// Expires sessions that were not paid in time. Scheduled every minute. Each session is expired in its own transaction, so
/// that a worker that dies leaves the rest to the next run.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExpireSessions {
    epoch: Epoch,
}

impl Scheduled for ExpireSessions {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for ExpireSessions {
    const NAME: &'static str = "checkout.notice_abandoned";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let reading = Reading::for_platform(context.database());
        loop {
            let expired = reading
                .run(async |sql| {
                    let now = sql.now().await?;
                    let expired = table::find_expired(sql, now, BATCH_SIZE).await?;
                    Ok::<_, DatabaseError>(expired)
                })
                .await?;
            let is_last = i64::try_from(expired.len()).unwrap_or(i64::MAX) < BATCH_SIZE;
            for (merchant, id) in expired {
                expire(&context, merchant, id).await?;
            }
            if is_last {
                return Ok(Outcome::DONE);
            }
        }
    }
}

async fn expire(
    context: &JobContext,
    merchant: MerchantId,
    id: CheckoutId,
) -> Result<(), CheckoutError> {
    let mut work = context.work_for_store(merchant).await?;
    let now = work.now();
    let (mut session, _) = match read::lock(&mut work, merchant, id, None).await {
        Err(CheckoutError::NotFound) => return Ok(()),
        locked => locked?,
    };
    // The session may have changed since it was read.
    if session.status(now) != Status::Expired || session.stored_status() == Status::Expired {
        return Ok(work.rollback().await?);
    }
    end(&mut work, merchant, &mut session, Transition::Expire).await?;
    database::crash_point("expire.before_commit");
    Ok(work.commit().await?)
}
