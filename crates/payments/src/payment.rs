//! One try to pay, and its verbs.

use database::{Reading, Work};
use primitives::{CheckoutId, MerchantId, Money, PaymentId, Timestamp};

use crate::{Asked, Outcome, PaymentError, table};

/// What became of a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaymentStatus {
    /// Nobody knows yet.
    Begun,
    /// The money is there.
    Paid,
    /// It was refused.
    Declined,
}

impl PaymentStatus {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Begun, "begun"), (Self::Paid, "paid"), (Self::Declined, "declined")];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(status, _)| *status == self).map_or("begun", |(_, name)| name)
    }

    /// Reads a name.
    #[must_use]
    pub fn from_name(text: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, name)| *name == text).map(|(status, _)| *status)
    }
}

/// One try to pay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Its id, by which the provider knows it too.
    pub id: PaymentId,
    /// What is paid.
    pub checkout: CheckoutId,
    /// Who takes it.
    pub provider: String,
    /// From what.
    pub instrument: String,
    /// How much.
    pub amount: Money,
    /// What became of it.
    pub status: PaymentStatus,
    /// What the provider calls it.
    pub reference: Option<String>,
}

impl Payment {
    /// What the provider is asked.
    #[must_use]
    pub fn asked(&self) -> Asked {
        let instrument = self.instrument.clone();
        Asked { payment: self.id, amount: self.amount, instrument }
    }
}

/// Begins a payment. It exists only if the work commits, and the provider is asked after that.
pub async fn begin(
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
        status: PaymentStatus::Begun,
        reference: None,
    };
    table::insert(work, merchant, &payment).await?;
    Ok(payment)
}

/// Writes how a payment ended. False if that was written before.
pub async fn end(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    outcome: &Outcome,
) -> Result<bool, PaymentError> {
    Ok(table::end(work, merchant, payment, outcome).await?)
}

/// The payment a session was paid with, if it was.
pub async fn paid(
    work: &mut Work,
    merchant: MerchantId,
    checkout: CheckoutId,
) -> Result<Option<Payment>, PaymentError> {
    table::paid(work.sql(), merchant, checkout).await
}

/// Payments of all stores that were begun before a moment and whose end nobody wrote.
pub async fn stuck(
    reading: &Reading,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<(MerchantId, Payment)>, PaymentError> {
    let mut snapshot = reading.open().await?;
    let found = table::stuck(&mut snapshot, before, limit).await?;
    snapshot.close().await?;
    Ok(found)
}
