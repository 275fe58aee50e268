//! A payment attempt.

use database::{DatabaseError, Reading, Snapshot, Work};
use primitives::{CheckoutId, MerchantId, Money, PaymentId, Timestamp};

use crate::{ChargeOutcome, ChargeRequest, PaymentError, table};

primitives::text_enum! {
    /// Status of a payment.
    #[strum(serialize_all = "snake_case")]
    pub enum PaymentStatus {
        /// The outcome is not known yet.
        #[strum(serialize = "begun")]
        Pending,
        Paid,
        Declined,
    }
}

/// A payment attempt of a checkout session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Also the idempotency key that the provider receives.
    pub id: PaymentId,
    pub checkout: CheckoutId,
    /// [`Provider::name`](crate::Provider::name) of the provider.
    pub provider: String,
    /// A token of the provider, never a card number.
    pub instrument: String,
    pub amount: Money,
    pub status: PaymentStatus,
    /// The provider's own id of the payment; `None` until it is paid.
    pub reference: Option<String>,
}

impl Payment {
    /// Returns the request that the provider receives for this payment.
    #[must_use]
    pub fn charge_request(&self) -> ChargeRequest {
        let instrument = self.instrument.clone();
        ChargeRequest { payment: self.id, amount: self.amount, instrument }
    }
}

/// Creates a pending payment. It exists only if the work commits; the provider is called after that.
pub async fn create(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
    provider: &str,
    instrument: &str,
    amount: Money,
) -> Result<Payment, PaymentError> {
    let payment = Payment {
        id: work.new_id(),
        checkout,
        provider: provider.to_owned(),
        instrument: instrument.to_owned(),
        amount,
        status: PaymentStatus::Pending,
        reference: None,
    };
    table::insert(work, merchant, &payment).await?;
    Ok(payment)
}

/// Records the outcome of a pending payment. Returns `false` if an outcome was recorded before.
pub async fn record_outcome(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    outcome: &ChargeOutcome,
) -> Result<bool, PaymentError> {
    Ok(table::record_outcome(work, merchant, payment, outcome).await?)
}

/// Returns the paid payment of a session, if there is one.
pub async fn find_paid(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    table::find_paid(work.sql(), merchant, checkout).await
}

/// Returns a payment, if it exists.
pub async fn find(
    reading: &Reading,
    merchant: MerchantId,
    id: PaymentId,
) -> Result<Option<Payment>, PaymentError> {
    reading.run(async |sql| table::find(sql, merchant, id).await).await
}

/// Returns payments of all stores that were created before a timestamp and are still pending, with the time of their
/// creation, the oldest first. With a payment, only those after it.
pub async fn find_pending(
    sql: &mut Snapshot,
    before: Timestamp,
    after: Option<(Timestamp, PaymentId)>,
    limit: i64,
) -> Result<Vec<(MerchantId, PaymentId, Timestamp)>, DatabaseError> {
    Ok(table::find_pending(sql, before, after, limit).await?)
}

/// Deletes the payments of a session.
pub async fn purge(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<(), PaymentError> {
    Ok(table::delete(work, merchant, checkout).await?)
}
