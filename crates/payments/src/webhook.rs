//! Webhooks that were received: each counts once, however often the processor delivers it.

use std::time::Duration;

use database::{DatabaseError, Work};
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use primitives::MerchantId;
use serde::{Deserialize, Serialize};

use crate::{PaymentError, ProviderName, table};

/// How long a webhook is known. Processors repeat a delivery for three days, and merchants by hand for a month.
const RETENTION: Duration = Duration::from_hours(31 * 24);
/// Rows deleted at a time.
const BATCH: i64 = 1_000;

/// Records a verified webhook by the processor's id of the event. Returns `false` if it was received before.
pub async fn record_webhook(
    work: &mut Work,
    merchant: MerchantId,
    provider: ProviderName,
    event: &str,
) -> Result<bool, PaymentError> {
    Ok(table::webhook::insert(work, merchant, provider, event).await?)
}

/// Deletes webhooks that were received long ago. Scheduled daily.
#[derive(Debug, Serialize, Deserialize)]
pub struct PurgePaymentWebhooks {}

impl Job for PurgePaymentWebhooks {
    const NAME: &'static str = "payments.purge_webhooks";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        loop {
            let mut work = context.work_for_platform().await?;
            let before = work.now().minus(RETENTION);
            let deleted = table::webhook::delete_before(&mut work, before, BATCH).await;
            let deleted = deleted.map_err(DatabaseError::from)?;
            context.advance(work).await?;
            if deleted == 0 {
                return Ok(Outcome::DONE);
            }
        }
    }
}

impl Scheduled for PurgePaymentWebhooks {
    fn for_epoch(_: Epoch) -> Self {
        Self {}
    }
}
