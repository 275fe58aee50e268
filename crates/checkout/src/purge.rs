//! A job: purging the data of old sandboxes.

use std::time::Duration;

use database::{DatabaseError, Reading};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::{CheckoutError, table};

/// Age at which the data of a sandbox is purged (docs/contract/authentication.md#sandbox-isolation).
const SANDBOX_LIFETIME: Duration = Duration::from_hours(24);

/// Deletes carts, sessions, confirmations and orders of sandboxes older than a day. Scheduled every hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgeSandboxes {
    epoch: Epoch,
}

impl Scheduled for PurgeSandboxes {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for PurgeSandboxes {
    const NAME: &'static str = "checkout.forget_sandboxes";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let (before, merchants) = Reading::for_platform(context.database())
            .run(async |sql| {
                let before = sql.now().await?.minus(SANDBOX_LIFETIME);
                let merchants = table::merchants_with_sandboxes_before(sql, before).await?;
                Ok::<_, DatabaseError>((before, merchants))
            })
            .await?;
        for merchant in merchants {
            let mut work = context.work_for_store(merchant).await?;
            table::purge_sandbox(&mut work, merchant, before).await?;
            orders::purge_sandbox(&mut work, merchant, before)
                .await
                .map_err(CheckoutError::from)?;
            carts::purge_sandbox(&mut work, merchant, before).await.map_err(CheckoutError::from)?;
            catalog::purge_sandbox(&mut work, merchant, before)
                .await
                .map_err(CheckoutError::from)?;
            work.commit().await?;
        }
        Ok(Outcome::DONE)
    }
}
