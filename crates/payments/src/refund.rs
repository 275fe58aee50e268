//! Refunds that a payment provider is asked for.

use std::time::Duration;

use database::{DatabaseError, Reading, Snapshot, Work};
use primitives::{MerchantId, Money, OrderId, PaymentId, RefundId, Timestamp};

use crate::ledger::{self, NewTransfer, StatedBy, TransferKind};
use crate::{Payment, PaymentError, check_delay, table};

/// How long a refund is repeated whose outcome is unknown: providers forget keys after a day, and would return the money again.
const REPEATED_FOR: Duration = Duration::from_hours(20);

primitives::text_enum! {
    /// Status of a refund.
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentRefundStatus {
        /// The provider was not asked, or has not answered.
        Requested,
        /// The provider may have returned the money.
        Unknown,
        /// The provider returns the money, and can still fail.
        Pending,
        /// The money was returned.
        Done,
        /// No money was returned.
        Refused,
    }
}

impl PaymentRefundStatus {
    /// Returns whether the status is final.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Refused)
    }
}

/// A refund that a provider is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentRefund {
    /// Also the idempotency key that the provider receives.
    pub id: RefundId,
    pub payment: PaymentId,
    pub order: OrderId,
    pub amount: Money,
    /// The name of the reason, which the order knows.
    pub reason: String,
    pub note: Option<String>,
    pub status: PaymentRefundStatus,
    /// The provider's id of the refund.
    pub reference: Option<String>,
    pub requested_at: Timestamp,
    pub check_count: u32,
}

impl PaymentRefund {
    /// Returns whether the refund cannot be repeated any more at `now`: its outcome is for a person to find out.
    #[must_use]
    pub fn is_unresolved(&self, now: Timestamp) -> bool {
        let is_known = self.reference.is_some() || self.status.is_final();
        !is_known && now.since(self.requested_at) >= REPEATED_FOR
    }
}

/// A refund to request.
#[derive(Debug, Clone)]
pub struct NewPaymentRefund<'new> {
    pub order: OrderId,
    /// Above 0, in the currency of the payment.
    pub amount: Money,
    pub reason: &'new str,
    pub note: Option<&'new str>,
}

/// Creates a refund of a paid payment, and reserves its amount: all refunds together never exceed the charge. Returns `ExceedsCharge` if
/// they would. It exists only if the work commits; the provider is called after that.
pub async fn create_refund(
    work: &mut Work,
    payment: &Payment,
    new: NewPaymentRefund<'_>,
) -> Result<PaymentRefund, PaymentError> {
    if new.amount.currency() != payment.amount.currency() {
        let (expected, found) = (payment.amount, new.amount);
        return Err(PaymentError::AmountMismatch { expected, found });
    }
    let refund = PaymentRefund {
        id: work.new_id(),
        payment: payment.id,
        order: new.order,
        amount: new.amount,
        reason: new.reason.to_owned(),
        note: new.note.map(str::to_owned),
        status: PaymentRefundStatus::Requested,
        reference: None,
        requested_at: work.now(),
        check_count: 0,
    };
    let next_at = next_check(work, 0);
    table::refund::reserve(work, payment, new.amount.minor()).await?;
    table::refund::insert(work, payment, &refund, next_at).await?;
    Ok(refund)
}

/// Records that the money was returned: the reservation becomes a refund in the ledger. Returns `false` if an outcome was recorded before.
pub async fn record_refund_done(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
    reference: &str,
) -> Result<bool, PaymentError> {
    let status = PaymentRefundStatus::Done;
    if !table::refund::end(work, payment, refund, status, Some(reference)).await? {
        return Ok(false);
    }
    table::refund::release(work, payment, refund.amount.minor()).await?;
    let source = refund.id.to_string();
    let (kind, stated_by) = (TransferKind::Refund, StatedBy::Provider);
    let transfer = NewTransfer { kind, source: &source, amount: refund.amount, stated_by };
    ledger::record_transfer(work, payment, &transfer).await?;
    Ok(true)
}

/// Records that no money was returned, and releases the reservation. Returns `false` if an outcome was recorded before.
pub async fn record_refund_refused(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
) -> Result<bool, PaymentError> {
    let status = PaymentRefundStatus::Refused;
    if !table::refund::end(work, payment, refund, status, None).await? {
        return Ok(false);
    }
    table::refund::release(work, payment, refund.amount.minor()).await?;
    Ok(true)
}

/// Records that the outcome of a refund is not known yet, and sets the time at which the provider is asked again: not at all if the
/// refund is unresolved. With a reference, the provider returns the money and can still fail.
pub async fn record_refund_open(
    work: &mut Work,
    payment: &Payment,
    refund: &PaymentRefund,
    reference: Option<&str>,
) -> Result<(), PaymentError> {
    let known = reference.or(refund.reference.as_deref());
    let status =
        if known.is_some() { PaymentRefundStatus::Pending } else { PaymentRefundStatus::Unknown };
    let is_unresolved = reference.is_none() && refund.is_unresolved(work.now());
    let next_at = (!is_unresolved).then(|| next_check(work, refund.check_count.saturating_add(1)));
    Ok(table::refund::keep_open(work, payment, refund, (status, known), next_at).await?)
}

fn next_check(work: &Work, check_count: u32) -> Timestamp {
    work.now().plus(check_delay(check_count))
}

/// Returns a refund with its payment and the time of the database, if it exists.
pub async fn find_refund(
    reading: &Reading,
    merchant: MerchantId,
    id: RefundId,
) -> Result<Option<(PaymentRefund, Payment, Timestamp)>, PaymentError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let Some((refund, payment)) = table::refund::find(sql, merchant, id).await? else {
                return Ok(None);
            };
            Ok(Some((refund, payment, now)))
        })
        .await
}

/// Returns refunds of all stores about which their provider is to be asked, with the time at which that is due, the oldest first. With a
/// refund, only those after it.
pub async fn find_due_refunds(
    sql: &mut Snapshot,
    now: Timestamp,
    after: Option<(Timestamp, RefundId)>,
    limit: i64,
) -> Result<Vec<(MerchantId, RefundId, Timestamp)>, DatabaseError> {
    Ok(table::refund::find_due(sql, now, after, limit).await?)
}
