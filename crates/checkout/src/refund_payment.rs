//! A verb, and a job: refunding a payment through its provider. The refund is stored in one work, the provider is called outside of any
//! with the id of the refund as its key, and the order and the ledger are changed in another.

use database::{Database, DatabaseError, Reading, Snapshot, Work, crash_point};
use jobs::{JobError, Sweep, SweepRow};
use orders::{Actor, OrderContext, OrderError, Refund, RefundReason, Viewer};
use payments::{
    CallError, FindingKind, NewFinding, NewPaymentRefund, Payment, PaymentRefund, RefundAttempt,
    RefundStatus,
};
use primitives::{Id, MerchantId, Money, OrderId, RefundId, Timestamp};

use crate::{CheckoutError, PaymentGateway, alarm};

/// A refund that a merchant requests.
#[derive(Debug, Clone)]
pub struct RefundRequest<'request> {
    pub order: OrderId,
    /// `None`: everything that is left of the payment.
    pub amount: Option<Money>,
    pub reason: RefundReason,
    /// Merchant text for the buyer.
    pub note: Option<&'request str>,
}

/// Asks the provider that took the payment of an order to return money, and returns the refund as it is then. Its outcome can be unknown:
/// [`ReconcileRefunds`] repeats it. Returns `RefundedByMerchant` for payments that the merchant refunds and records itself
/// ([`orders::refund`]), and `ExceedsCharge` if all refunds together would exceed what was paid.
pub async fn refund_payment(
    database: &Database,
    gateway: &PaymentGateway,
    merchant: MerchantId,
    request: &RefundRequest<'_>,
) -> Result<PaymentRefund, CheckoutError> {
    let reading = Reading::for_store(database, merchant)?;
    let order = orders::order(&reading, merchant, request.order, &Viewer::All).await?;
    let mut work = Work::for_checkout(database, merchant).await?;
    let payment = payments::find_paid(&mut work, merchant, order.checkout).await?;
    let payment = payment.ok_or(CheckoutError::RefundedByMerchant)?;
    if payment.provider.is_refunded_by_merchant() {
        return Err(CheckoutError::RefundedByMerchant);
    }
    if gateway.provider(payment.provider).is_none() {
        return Err(CheckoutError::ProviderMissing { provider: payment.provider });
    }
    // Refunds that the merchant records are in the ledger soon after.
    let left_minor = order.total.minor().saturating_sub(order.refunded_minor);
    let left_minor = left_minor.min(payment.totals.refundable_minor());
    let left = Money::new(left_minor, payment.amount.currency());
    let amount = request.amount.unwrap_or(left);
    if amount.minor() > left_minor || amount.minor() <= 0 {
        return Err(payments::PaymentError::ExceedsCharge.into());
    }
    let new = NewPaymentRefund {
        order: request.order,
        amount,
        reason: request.reason.as_str(),
        note: request.note,
    };
    let refund = payments::create_refund(&mut work, &payment, new).await?;
    crash_point("refund.before_commit");
    work.commit().await?;
    crash_point("refund.requested");
    let id = refund.id;
    make(database, gateway, &payment, &refund).await?;
    let (refund, ..) = find(database, merchant, id).await?.ok_or(CheckoutError::Unreadable)?;
    Ok(refund)
}

async fn find(
    database: &Database,
    merchant: MerchantId,
    id: RefundId,
) -> Result<Option<(PaymentRefund, Payment, Timestamp)>, CheckoutError> {
    let reading = Reading::for_store(database, merchant)?;
    Ok(payments::find_refund(&reading, merchant, id).await?)
}

/// Asks the provider for a refund, always with the same key, and records what it says.
async fn make(
    database: &Database,
    gateway: &PaymentGateway,
    payment: &Payment,
    refund: &PaymentRefund,
) -> Result<(), CheckoutError> {
    let provider = gateway.provider(payment.provider);
    let provider = provider.ok_or(CheckoutError::ProviderMissing { provider: payment.provider })?;
    let attempt = RefundAttempt {
        refund: refund.id,
        attempt: payment.attempt(),
        amount: refund.amount,
        reference: refund.reference.clone(),
    };
    let asked = provider.refund(&attempt).await;
    crash_point("refund.asked");
    match asked {
        Ok(RefundStatus::Done { reference }) => {
            record_done(database, payment, refund, reference).await
        }
        Ok(RefundStatus::Refused) => record_refused(database, payment, refund).await,
        // The refund that is known is not refused because a question about it is.
        Err(CallError::Refused) if refund.reference.is_none() => {
            record_refused(database, payment, refund).await
        }
        Ok(RefundStatus::Pending { reference }) => {
            keep_open(database, payment, refund, Some(&reference)).await
        }
        Err(_) => keep_open(database, payment, refund, None).await,
    }
}

async fn record_refused(
    database: &Database,
    payment: &Payment,
    refund: &PaymentRefund,
) -> Result<(), CheckoutError> {
    let mut work = Work::for_checkout(database, payment.merchant).await?;
    payments::record_refund_refused(&mut work, payment, refund).await?;
    Ok(work.commit().await?)
}

async fn keep_open(
    database: &Database,
    payment: &Payment,
    refund: &PaymentRefund,
    reference: Option<&str>,
) -> Result<(), CheckoutError> {
    let mut work = Work::for_checkout(database, payment.merchant).await?;
    let now = work.now();
    payments::record_refund_open(&mut work, payment, refund, reference).await?;
    work.commit().await?;
    if reference.is_none() && refund.is_unresolved(now) {
        let finding = NewFinding {
            payment: payment.id,
            kind: FindingKind::RefundUnresolved,
            expected: String::from("an outcome within a day"),
            found: format!("the outcome of {} is unknown", refund.id),
        };
        alarm::open_finding(database, payment.merchant, finding).await?;
    }
    Ok(())
}

/// Records returned money with the order, in the ledger and with the refund, in one work.
async fn record_done(
    database: &Database,
    payment: &Payment,
    refund: &PaymentRefund,
    reference: String,
) -> Result<(), CheckoutError> {
    let merchant = payment.merchant;
    let store = merchants::store(&Reading::for_store(database, merchant)?, merchant).await?;
    let context = OrderContext {
        database,
        merchant,
        slug: store.slug.as_str(),
        actor: Actor::SYSTEM,
        viewer: Viewer::All,
        idempotency_key: None,
    };
    let reason = RefundReason::parse(&refund.reason).unwrap_or(RefundReason::Other);
    let of_order = Refund {
        id: refund.id,
        return_id: None,
        amount_minor: refund.amount.minor(),
        reason,
        note: refund.note.clone(),
        reference: Some(reference.clone()),
        created_at: refund.requested_at,
    };
    let recorded = orders::record_provider_refund(
        &context,
        refund.order,
        of_order,
        async |work: &mut Work| -> Result<(), CheckoutError> {
            payments::record_refund_done(work, payment, refund, &reference).await?;
            Ok(())
        },
    );
    match recorded.await {
        Ok(_) => Ok(()),
        // The merchant recorded another refund in the meantime, so that the order has more refunds than it cost.
        Err(CheckoutError::Order(OrderError::RefundExceeded { .. })) => {
            let finding = NewFinding {
                payment: payment.id,
                kind: FindingKind::LedgerDifference,
                expected: String::from("refunds of the order up to its total"),
                found: format!("the provider made {} ({reference}) beside them", refund.id),
            };
            let mut work = Work::for_checkout(database, merchant).await?;
            payments::record_refund_done(&mut work, payment, refund, &reference).await?;
            work.commit().await?;
            alarm::open_finding(database, merchant, finding).await.map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Repeats refunds whose outcome is not known, with the same key, at growing intervals. Scheduled every minute.
#[derive(Debug)]
pub struct ReconcileRefunds;

impl Sweep for ReconcileRefunds {
    const NAME: &'static str = "checkout.reconcile_refunds";
    type Dependencies = PaymentGateway;

    async fn find(
        sql: &mut Snapshot,
        after: Option<SweepRow>,
        limit: i64,
    ) -> Result<Vec<SweepRow>, DatabaseError> {
        let now = sql.now().await?;
        let after = after.map(|row| (row.due_at, RefundId::from_uuid(row.id)));
        let due = payments::find_due_refunds(sql, now, after, limit).await?;
        let row = |(merchant, id, due_at): (MerchantId, RefundId, _)| SweepRow {
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
        let found = find(&database, row.merchant, RefundId::from_uuid(row.id)).await?;
        match found {
            Some((refund, payment, _)) if !refund.status.is_final() => {
                Ok(make(&database, &gateway, &payment, &refund).await?)
            }
            _ => Ok(()),
        }
    }
}
