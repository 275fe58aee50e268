//! A payment attempt.

use std::time::Duration;

use database::{DatabaseError, Reading, Snapshot, Work};
use primitives::{CheckoutId, MerchantId, Money, PaymentAccountId, PaymentId, Timestamp};

use crate::ledger::{self, NewTransfer, StatedBy, TransferKind};
use crate::{
    Attempt, Charge, ChargeOutcome, PaymentError, PaymentStatus, PaymentTotals, PaymentTransition,
    ProviderName, ProviderPage, table,
};

/// Time until a provider is asked for the first time; it doubles with each time.
const CHECK_AFTER: Duration = Duration::from_secs(30);
/// The longest time until a provider is asked again.
const CHECK_AFTER_MAX: Duration = Duration::from_hours(1);
/// Time after the end of an attempt until its provider is asked once more, whether both sides agree.
const COMPARE_AFTER: Duration = Duration::from_hours(24);

/// A payment attempt of a checkout session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Also the idempotency key that the provider receives.
    pub id: PaymentId,
    pub merchant: MerchantId,
    pub checkout: CheckoutId,
    pub provider: ProviderName,
    /// The account with which it was started, and is completed and refunded; `None` for a provider without accounts.
    pub account: Option<PaymentAccountId>,
    /// A token of the provider, never a card number.
    pub instrument: String,
    pub amount: Money,
    /// The hash of the terms that are paid; `None` for attempts from before it was recorded.
    pub quote_hash: Option<[u8; 32]>,
    /// Whether real money moves, which the ledger then has.
    pub is_live: bool,
    pub status: PaymentStatus,
    /// The provider's id of the attempt, such as its page.
    pub attempt_reference: Option<String>,
    /// Where the buyer pays.
    pub page_url: Option<String>,
    /// The provider's own id of the money; `None` until it is taken.
    pub reference: Option<String>,
    pub begun_at: Timestamp,
    /// Until when the buyer can pay.
    pub expires_at: Timestamp,
    /// How often the provider was asked.
    pub check_count: u32,
    /// What the ledger has of the payment.
    pub totals: PaymentTotals,
}

impl Payment {
    /// Returns what the provider receives for this payment.
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        Attempt {
            payment: self.id,
            merchant: self.merchant,
            checkout: self.checkout,
            account: self.account,
            amount: self.amount,
            instrument: self.instrument.clone(),
            reference: self.attempt_reference.clone(),
            charge: self.reference.clone(),
            begun_at: self.begun_at,
            expires_at: self.expires_at,
        }
    }

    /// Returns whether the buyer can no longer pay at `now`, although the attempt is not closed.
    #[must_use]
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        matches!(self.status, PaymentStatus::Begun | PaymentStatus::Open) && now >= self.expires_at
    }

    /// Returns when the provider is asked after `now`. An attempt that can be paid is closed at its end.
    fn next_check(&self, now: Timestamp) -> Timestamp {
        let next = now.plus(check_delay(self.check_count));
        if now < self.expires_at && self.status != PaymentStatus::Processing {
            next.min(self.expires_at)
        } else {
            next
        }
    }
}

/// Returns the time until a provider is asked that was asked this often.
#[must_use]
pub fn check_delay(check_count: u32) -> Duration {
    CHECK_AFTER.saturating_mul(1 << check_count.min(16)).min(CHECK_AFTER_MAX)
}

/// An attempt to create.
#[derive(Debug, Clone)]
pub struct NewPayment<'new> {
    pub checkout: CheckoutId,
    pub provider: ProviderName,
    pub account: Option<PaymentAccountId>,
    pub instrument: &'new str,
    pub amount: Money,
    pub quote_hash: Option<[u8; 32]>,
    pub is_live: bool,
    pub expires_at: Timestamp,
}

/// Creates a payment that is begun. It exists only if the work commits; the provider is called after that.
pub async fn create(
    work: &mut Work,
    merchant: MerchantId,
    new: NewPayment<'_>,
) -> Result<Payment, PaymentError> {
    let now = work.now();
    let payment = Payment {
        id: work.new_id(),
        merchant,
        checkout: new.checkout,
        provider: new.provider,
        account: new.account,
        instrument: new.instrument.to_owned(),
        amount: new.amount,
        quote_hash: new.quote_hash,
        is_live: new.is_live,
        status: PaymentStatus::Begun,
        attempt_reference: None,
        page_url: None,
        reference: None,
        begun_at: now,
        expires_at: new.expires_at,
        check_count: 0,
        totals: PaymentTotals::default(),
    };
    table::insert(work, &payment, payment.next_check(now)).await?;
    Ok(payment)
}

/// Records the page of an attempt that is begun. Returns `false` if it is not begun any more: the buyer must not get to the page.
pub async fn record_page(
    work: &mut Work,
    payment: &Payment,
    page: &ProviderPage,
) -> Result<bool, PaymentError> {
    Ok(table::record_page(work, payment, page).await?)
}

/// Records that the buyer has done everything, or that money is about to be taken. Returns `false` if the attempt is processing already,
/// or has ended.
pub async fn record_processing(
    work: &mut Work,
    payment: &Payment,
    reference: Option<&str>,
) -> Result<bool, PaymentError> {
    Ok(table::record_processing(work, payment, reference).await?)
}

/// Records the outcome of a pending payment, and real money in the ledger. Returns the sums of the payment, or `None` if an outcome was
/// recorded before. Returns `AmountMismatch`, and records nothing, if another amount was taken than the attempt asked for.
pub async fn record_outcome(
    work: &mut Work,
    payment: &Payment,
    outcome: &ChargeOutcome,
) -> Result<Option<PaymentTotals>, PaymentError> {
    let (transition, charge) = match outcome {
        ChargeOutcome::Paid(charge) => (PaymentTransition::Pay, Some(charge)),
        ChargeOutcome::Declined => (PaymentTransition::Decline, None),
        ChargeOutcome::Ended if payment.status == PaymentStatus::Processing => {
            (PaymentTransition::Decline, None)
        }
        ChargeOutcome::Ended => (PaymentTransition::Expire, None),
    };
    if let Some(charge) = charge {
        check_amount(payment, charge)?;
    }
    let reference = charge.map(|charge| charge.reference.as_str());
    let compare_at = work.now().plus(COMPARE_AFTER);
    if !table::end(work, payment, transition, reference, compare_at).await? {
        return Ok(None);
    }
    match charge {
        Some(charge) => Ok(Some(record_charge(work, payment, charge).await?)),
        None => Ok(Some(PaymentTotals::default())),
    }
}

/// Records money that the provider took for an attempt that had ended, once. It becomes the payment of an order, or is to be refunded:
/// then the status stays. Returns the sums of the payment, or `None` if it was recorded before.
pub async fn record_late_charge(
    work: &mut Work,
    payment: &Payment,
    charge: &Charge,
    is_order_placed: bool,
) -> Result<Option<PaymentTotals>, PaymentError> {
    check_amount(payment, charge)?;
    let transition = is_order_placed.then_some(PaymentTransition::PayLate);
    if !table::record_late(work, payment, transition, &charge.reference).await? {
        return Ok(None);
    }
    Ok(Some(record_charge(work, payment, charge).await?))
}

fn check_amount(payment: &Payment, charge: &Charge) -> Result<(), PaymentError> {
    let (expected, found) = (payment.amount, charge.amount);
    if expected == found { Ok(()) } else { Err(PaymentError::AmountMismatch { expected, found }) }
}

/// Adds a charge and its fee to the ledger, if real money moved. A charge of nothing moves none.
async fn record_charge(
    work: &mut Work,
    payment: &Payment,
    charge: &Charge,
) -> Result<PaymentTotals, PaymentError> {
    let mut totals = PaymentTotals::default();
    if !payment.is_live || charge.amount.minor() == 0 {
        return Ok(totals);
    }
    let stated_by = match payment.provider {
        ProviderName::Merchant => StatedBy::Merchant,
        _ => StatedBy::Provider,
    };
    let source = payment.id.to_string();
    let (kind, amount) = (TransferKind::Charge, charge.amount);
    let charged = NewTransfer { kind, source: &source, amount, stated_by };
    if let Some(recorded) = ledger::record_transfer(work, payment, &charged).await? {
        totals = recorded;
    }
    record_fee(work, payment, charge).await?;
    Ok(totals)
}

/// Records the fee of a payment that is in the ledger, if it has become known since. It is recorded once.
pub async fn record_fee(
    work: &mut Work,
    payment: &Payment,
    charge: &Charge,
) -> Result<(), PaymentError> {
    let Some(amount) = charge.fee.filter(|fee| fee.minor() > 0 && payment.is_live) else {
        return Ok(());
    };
    let (kind, source) = (TransferKind::Fee, payment.id.to_string());
    let fee = NewTransfer { kind, source: &source, amount, stated_by: StatedBy::Provider };
    ledger::record_transfer(work, payment, &fee).await?;
    Ok(())
}

/// Sets the time at which the provider is asked again about a payment that it was asked about. Of several calls that know the same
/// payment, one counts.
pub async fn schedule_check(work: &mut Work, payment: &Payment) -> Result<(), PaymentError> {
    let asked = Payment { check_count: payment.check_count.saturating_add(1), ..payment.clone() };
    let next_at = asked.next_check(work.now());
    Ok(table::schedule_check(work, payment, Some(next_at)).await?)
}

/// Ends the questions about a payment that has ended.
pub async fn end_checks(work: &mut Work, payment: &Payment) -> Result<(), PaymentError> {
    Ok(table::schedule_check(work, payment, None).await?)
}

/// Returns the paid payment of a session, if there is one.
pub async fn find_paid(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    table::find_paid(work.sql(), merchant, checkout).await
}

/// Returns the attempt of a session that is pending, if there is one.
pub async fn find_pending_of(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    table::find_pending_of(work.sql(), merchant, checkout).await
}

/// Returns the attempt of a session that is pending, if there is one, with the time of the database.
pub async fn find_pending(
    reading: &Reading,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<(Payment, Timestamp)>, PaymentError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let found = table::find_pending_of(sql, merchant, checkout).await?;
            Ok(found.map(|payment| (payment, now)))
        })
        .await
}

/// Returns a payment with the time of the database, if it exists. Returns `UnknownProvider` if its provider has a name that this release does
/// not know.
pub async fn find(
    reading: &Reading,
    merchant: MerchantId,
    id: PaymentId,
) -> Result<Option<(Payment, Timestamp)>, PaymentError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            Ok(table::find(sql, merchant, id).await?.map(|payment| (payment, now)))
        })
        .await
}

/// Returns the id of the payment of a store that a provider knows by this reference: its id of the attempt or of the money.
pub async fn find_by_reference(
    reading: &Reading,
    merchant: MerchantId,
    provider: ProviderName,
    reference: &str,
) -> Result<Option<PaymentId>, PaymentError> {
    reading
        .run(async |sql| Ok(table::find_by_reference(sql, merchant, provider, reference).await?))
        .await
}

/// Returns payments of all stores about which their provider is to be asked, with the time at which that is due, the oldest first. With
/// a payment, only those after it. Names of providers are not read: an unknown one hides no other payment.
pub async fn find_due(
    sql: &mut Snapshot,
    now: Timestamp,
    after: Option<(Timestamp, PaymentId)>,
    limit: i64,
) -> Result<Vec<(MerchantId, PaymentId, Timestamp)>, DatabaseError> {
    Ok(table::find_due(sql, now, after, limit).await?)
}

/// Returns payments of all stores that are pending, that were created before a timestamp, and that the buyer can no longer pay, with the
/// time of their creation, the oldest first.
pub async fn find_stuck(
    sql: &mut Snapshot,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(MerchantId, PaymentId, Timestamp)>, DatabaseError> {
    Ok(table::find_stuck(sql, before, limit).await?)
}

/// Deletes the payments of a session of a sandbox. Payments of real money remain.
pub async fn purge(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<(), PaymentError> {
    table::x402::delete_quotes(work, merchant, checkout).await?;
    Ok(table::delete(work, merchant, checkout).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_questions_doubles_up_to_an_hour() {
        let seconds = |count| check_delay(count).as_secs();
        assert_eq!([0, 1, 2, 6, 7, 40].map(seconds), [30, 60, 120, 1_920, 3_600, 3_600]);
        assert_eq!(seconds(u32::MAX), 3_600);
    }
}
