//! A job: asking providers about payments. It covers what webhooks and buyers do not bring.

use std::time::Duration;

use database::{Database, DatabaseError, Snapshot, Work};
use jobs::{JobError, Sweep, SweepRow};
use payments::{FindingKind, NewFinding, Payment};
use primitives::{Id, MerchantId, PaymentId, Timestamp};

use crate::observe::{Observed, find, observe};
use crate::{CheckoutError, PaymentGateway, alarm};

/// Age from which a payment without an outcome is a finding.
const UNRESOLVED_AFTER: Duration = Duration::from_hours(24);

/// Asks providers about payments that are due: those that are pending, at growing intervals, and those that ended, once more. Scheduled
/// every minute.
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
        let now = sql.now().await?;
        let after = after.map(|row| (row.due_at, PaymentId::from_uuid(row.id)));
        let due = payments::find_due(sql, now, after, limit).await?;
        let row = |(merchant, id, due_at): (MerchantId, PaymentId, _)| SweepRow {
            merchant,
            id: id.uuid(),
            due_at,
        };
        Ok(due.into_iter().map(row).collect())
    }

    async fn process(
        database: Database,
        row: SweepRow,
        gateway: PaymentGateway,
    ) -> Result<(), JobError> {
        Ok(reconcile(&database, row.merchant, PaymentId::from_uuid(row.id), &gateway).await?)
    }
}

async fn reconcile(
    database: &Database,
    merchant: MerchantId,
    id: PaymentId,
    gateway: &PaymentGateway,
) -> Result<(), CheckoutError> {
    let Some((payment, now)) = find(database, merchant, id).await? else { return Ok(()) };
    match observe(database, gateway, &payment, now).await? {
        // The end of a pending payment has set when it is compared.
        Observed::Ended if payment.status.is_pending() => Ok(()),
        Observed::Ended => {
            let mut work = Work::for_checkout(database, merchant).await?;
            payments::end_checks(&mut work, &payment).await?;
            Ok(work.commit().await?)
        }
        Observed::Unresolved => ask_later(database, &payment, now).await,
    }
}

/// Sets the time of the next question. A payment that is pending for too long is a finding.
async fn ask_later(
    database: &Database,
    payment: &Payment,
    now: Timestamp,
) -> Result<(), CheckoutError> {
    let merchant = payment.merchant;
    // Its status may have changed with the answer.
    let current = find(database, merchant, payment.id).await?;
    let Some((current, _)) = current else { return Ok(()) };
    if current.status.is_pending() == payment.status.is_pending() {
        let mut work = Work::for_checkout(database, merchant).await?;
        payments::schedule_check(&mut work, &current).await?;
        work.commit().await?;
    }
    if current.status.is_pending() && now.since(payment.begun_at) >= UNRESOLVED_AFTER {
        let finding = NewFinding {
            payment: payment.id,
            kind: FindingKind::Unresolved,
            expected: String::from("an outcome within a day"),
            found: format!("the payment is {}", current.status),
        };
        alarm::open_finding(database, merchant, finding).await?;
    }
    Ok(())
}
