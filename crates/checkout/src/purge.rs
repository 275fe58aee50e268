//! A job: what sandboxes played with goes when they are over.

use std::time::Duration;

use database::Reading;
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::abandon::failed;
use crate::table;

/// Sandboxes last a day (decisions §5).
const LIFETIME: Duration = Duration::from_hours(24);

/// Forgets carts, sessions, questions and orders of sandboxes older than a day. It comes round every hour.
#[derive(Debug, Serialize, Deserialize)]
pub struct ForgetSandboxes {
    epoch: Epoch,
}

impl Scheduled for ForgetSandboxes {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for ForgetSandboxes {
    const NAME: &'static str = "checkout.forget_sandboxes";
    type Needs = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let mut snapshot = Reading::for_platform(context.database()).open().await?;
        let before = snapshot.now().await?.minus(LIFETIME);
        let stores = table::played_before(&mut snapshot, before).await?;
        snapshot.close().await?;
        for merchant in stores {
            let mut work = context.work_for_store(merchant).await?;
            table::forget_sandbox(&mut work, merchant, before).await?;
            orders::forget_sandbox(&mut work, merchant, before)
                .await
                .map_err(|error| failed(error.into()))?;
            carts::forget_sandbox(&mut work, merchant, before)
                .await
                .map_err(|error| failed(error.into()))?;
            catalog::forget_sandbox(&mut work, merchant, before)
                .await
                .map_err(|error| failed(error.into()))?;
            work.commit().await?;
        }
        Ok(Outcome::DONE)
    }
}
