//! A job: reconciling pending payments with the payment provider.

use std::time::Duration;

use database::Reading;
use jobs::{Epoch, Job, JobContext, JobError, Outcome, Scheduled};
use serde::{Deserialize, Serialize};

use crate::pay::settle;
use crate::{CheckoutError, PaymentGateway};

/// Age at which a pending payment is reconciled.
const RECONCILE_AFTER: Duration = Duration::from_secs(30);
/// Payments read at a time.
const BATCH_SIZE: i64 = 100;

/// Asks the provider for the outcome of payments that stayed pending, and settles them. Scheduled every minute.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReconcilePayments {
    epoch: Epoch,
}

impl Scheduled for ReconcilePayments {
    fn for_epoch(epoch: Epoch) -> Self {
        Self { epoch }
    }
}

impl Job for ReconcilePayments {
    const NAME: &'static str = "checkout.ask_again";
    type Dependencies = PaymentGateway;

    async fn run(self, context: JobContext, gateway: PaymentGateway) -> Result<Outcome, JobError> {
        let reading = Reading::for_platform(context.database());
        let before = reading.run(async |sql| sql.now().await).await?.minus(RECONCILE_AFTER);
        let pending = payments::find_pending(&reading, before, BATCH_SIZE)
            .await
            .map_err(CheckoutError::from)?;
        for (merchant, payment) in pending {
            if payment.provider != gateway.provider.name() {
                continue;
            }
            let request = payment.charge_request();
            let Ok(outcome) = gateway.provider.find(&request).await else { continue };
            let mut work = context.work_for_store(merchant).await?;
            settle(&mut work, merchant, &payment, &outcome).await?;
            work.commit().await?;
        }
        Ok(Outcome::DONE)
    }
}
