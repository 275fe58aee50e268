//! A job: reconciling pending payments with the payment provider.

use std::time::Duration;

use database::{Database, DatabaseError, Reading, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use payments::PaymentStatus;
use primitives::{Id, MerchantId, PaymentId};

use crate::pay::settle;
use crate::{CheckoutError, PaymentGateway};

/// Age at which a pending payment is reconciled.
const RECONCILE_AFTER: Duration = Duration::from_secs(30);

/// Asks the provider for the outcome of payments that stayed pending, and settles them. Scheduled every minute.
#[derive(Debug)]
pub struct ReconcilePayments;

impl Sweep for ReconcilePayments {
    const NAME: &'static str = "checkout.ask_again";
    type Dependencies = PaymentGateway;

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let before = sql.now().await?.minus(RECONCILE_AFTER);
        let after = after.map(|row| (row.due_at, PaymentId::from_uuid(row.id)));
        let pending = payments::find_pending(sql, before, after, limit).await?;
        let row = |(merchant, id, due_at): (MerchantId, PaymentId, _)| SweepRow {
            merchant,
            id: id.uuid(),
            due_at,
        };
        Ok(pending.into_iter().map(row).collect())
    }

    async fn process(
        database: Database,
        row: SweepRow,
        gateway: PaymentGateway,
    ) -> Result<(), JobError> {
        reconcile(&database, row.merchant, PaymentId::from_uuid(row.id), &gateway).await
    }
}

async fn reconcile(
    database: &Database,
    merchant: MerchantId,
    id: PaymentId,
    gateway: &PaymentGateway,
) -> Result<(), JobError> {
    let reading = Reading::for_store(database, merchant)?;
    let found = payments::find(&reading, merchant, id).await.map_err(CheckoutError::from)?;
    let Some(payment) = found else { return Ok(()) };
    if payment.status != PaymentStatus::Pending {
        return Ok(());
    }
    if payment.provider != gateway.provider.name() {
        let cause =
            format!("no provider is configured that knows payments of {}", payment.provider);
        return Err(JobError::Failed(cause));
    }
    // Without an outcome the payment stays pending, and the next run asks again.
    let Ok(outcome) = gateway.provider.find(&payment.charge_request()).await else {
        tracing::warn!(%merchant, payment = %id, "the payment provider returned no outcome; the payment stays pending");
        return Ok(());
    };
    let mut work = Work::for_checkout(database, merchant).await?;
    settle(&mut work, merchant, &payment, &outcome).await?;
    Ok(work.commit().await?)
}
