//! A job: reads from the outbox which orders changed, and records the refunds in the ledger that merchants have made. Refunds through a
//! payment provider are in the ledger already.

use database::{Database, Reading, Work};
use jobs::{Job, JobContext, JobError, Outcome, Scheduled};
use orders::Viewer;
use payments::{NewTransfer, PaymentError, StatedBy, TransferKind};
use primitives::{Id, MerchantId, Money, OrderId, Problem};
use serde::{Deserialize, Serialize};

use crate::{CheckoutError, alarm};

/// Position in the outbox.
const CURSOR: &str = "checkout.refunds";
const ORDER_CHANGED: &str = "order.changed";
/// Events per step.
const EVENTS: i64 = 200;
/// Steps of a run.
const BATCHES_MAX: usize = 100;

/// Records refunds in the ledger. Scheduled every few seconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordRefunds {}

impl Scheduled for RecordRefunds {
    fn for_epoch(_: jobs::Epoch) -> Self {
        Self {}
    }
}

impl Job for RecordRefunds {
    const NAME: &'static str = "checkout.record_refunds";
    type Dependencies = ();

    async fn run(self, context: JobContext, (): ()) -> Result<Outcome, JobError> {
        let database = context.database();
        let reading = Reading::for_platform(database);
        for _ in 0..BATCHES_MAX {
            let cursor = jobs::cursor(&reading, CURSOR).await?;
            let batch = jobs::read_topics(&reading, &cursor, &[ORDER_CHANGED], EVENTS).await?;
            if batch.next == cursor {
                break;
            }
            for event in &batch.events {
                let order = OrderId::from_uuid(event.subject);
                let recorded = record_refunds(database, event.merchant, order).await;
                skip_permanent(event.merchant, order, recorded)?;
            }
            let mut work = context.work_for_platform().await?;
            jobs::advance(&mut work, CURSOR, &cursor, &batch.next).await?;
            if batch.events.is_empty() {
                return context.finish(work).await;
            }
            context.advance(work).await?;
        }
        Ok(Outcome::DONE)
    }
}

/// Lets an order that cannot be recorded for good hold up no others. An error that goes away is returned.
fn skip_permanent(
    merchant: MerchantId,
    order: OrderId,
    recorded: Result<(), CheckoutError>,
) -> Result<(), JobError> {
    let is_of_database = matches!(recorded, Err(CheckoutError::Database(_)));
    match recorded {
        Err(error) if !is_of_database && !error.is_transient() => {
            tracing::error!(%merchant, %order, %error, "the refunds of an order could not be recorded in the ledger");
            Ok(())
        }
        recorded => Ok(recorded?),
    }
}

/// Records the refunds of an order that the ledger does not have. Idempotent. More refunds than were charged raise the alarm.
async fn record_refunds(
    database: &Database,
    merchant: MerchantId,
    order: OrderId,
) -> Result<(), CheckoutError> {
    let reading = Reading::for_store(database, merchant)?;
    let details = orders::details(&reading, merchant, order, &Viewer::All).await?;
    if details.refunds.is_empty() {
        return Ok(());
    }
    let mut work = Work::for_checkout(database, merchant).await?;
    let paid = payments::find_paid(&mut work, merchant, details.order.checkout).await?;
    // The ledger has no charges from before it existed.
    let Some(payment) = paid.filter(|payment| payment.totals.charged_minor > 0) else {
        return Ok(work.rollback().await?);
    };
    for refund in &details.refunds {
        let amount = Money::new(refund.amount_minor, details.order.total.currency());
        let source = refund.id.to_string();
        let (kind, stated_by) = (TransferKind::Refund, StatedBy::Merchant);
        let transfer = NewTransfer { kind, source: &source, amount, stated_by };
        match payments::record_transfer(&mut work, &payment, &transfer).await {
            Ok(_) => {}
            Err(error @ PaymentError::ExceedsCharge) => {
                work.rollback().await?;
                if let Some(finding) = alarm::finding_of(payment.id, &error) {
                    alarm::open_finding(database, merchant, finding).await?;
                }
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(work.commit().await?)
}
