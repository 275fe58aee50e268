//! The ledger of a store: every movement of real money, by double entry, in integers. A transfer takes an amount from one account and
//! adds it to another, so that all balances of a currency sum to zero whatever is recorded. Nothing is changed or deleted.

use database::{Reading, Work};
use primitives::{Currency, MerchantId, Money, PaymentId, Timestamp};

use crate::{Payment, PaymentError, ProviderName, table};

primitives::text_enum! {
    /// What a transfer records.
    #[strum(serialize_all = "snake_case")]
    pub enum TransferKind {
        /// A buyer paid.
        Charge,
        /// A charge, or a part of it, was returned to the buyer.
        Refund,
        /// What the provider keeps of a charge.
        Fee,
        /// A charge, or a part of it, was taken back by somebody else than the merchant: a chargeback.
        Reversal,
    }
}

primitives::text_enum! {
    /// Who says that the money moved.
    #[strum(serialize_all = "snake_case")]
    pub enum StatedBy {
        /// The provider that moved it.
        Provider,
        /// The merchant. Nobody else can be asked.
        Merchant,
    }
}

/// An account of a store's ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Account {
    /// Money that a provider owes the store, or has paid out to it.
    Provider(ProviderName),
    Sales,
    Refunds,
    Fees,
    Reversals,
}

impl Account {
    /// Returns the name under which transfers are stored.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Provider(provider) => provider.as_str(),
            Self::Sales => "sales",
            Self::Refunds => "refunds",
            Self::Fees => "fees",
            Self::Reversals => "reversals",
        }
    }
}

impl TransferKind {
    /// Returns the accounts that a transfer debits and credits.
    #[must_use]
    pub const fn accounts(self, provider: ProviderName) -> (Account, Account) {
        let provider = Account::Provider(provider);
        match self {
            Self::Charge => (provider, Account::Sales),
            Self::Refund => (Account::Refunds, provider),
            Self::Fee => (Account::Fees, provider),
            Self::Reversal => (Account::Reversals, provider),
        }
    }
}

/// A movement of money to record.
#[derive(Debug, Clone, Copy)]
pub struct NewTransfer<'new> {
    pub kind: TransferKind,
    /// The id of what moved the money. For each kind, it is recorded once.
    pub source: &'new str,
    /// Above 0. In the currency of the payment, except for a fee.
    pub amount: Money,
    pub stated_by: StatedBy,
}

/// What the ledger has of a payment, in minor units of its currency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaymentTotals {
    pub charged_minor: i64,
    pub refunded_minor: i64,
    pub reversed_minor: i64,
    /// Of refunds that the provider was asked for, and whose outcome is not known.
    pub refunding_minor: i64,
}

impl PaymentTotals {
    /// Returns what can still be returned to the buyer.
    #[must_use]
    pub const fn refundable_minor(self) -> i64 {
        self.charged_minor - self.refunded_minor - self.reversed_minor - self.refunding_minor
    }
}

/// A recorded movement of money.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    pub kind: TransferKind,
    pub source: String,
    pub payment: PaymentId,
    pub debited: String,
    pub credited: String,
    pub amount: Money,
    pub stated_by: StatedBy,
    pub recorded_at: Timestamp,
}

/// The balance of an account: its debits less its credits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Balance {
    pub account: String,
    pub currency: Currency,
    pub balance_minor: i64,
}

/// Records a movement of real money. Returns the sums of the payment, or `None`, and records nothing, if one of this kind and source is
/// recorded. Returns `ExceedsCharge` if more would be returned than was charged, after which the work can only be rolled back.
pub async fn record_transfer(
    work: &mut Work,
    payment: &Payment,
    transfer: &NewTransfer<'_>,
) -> Result<Option<PaymentTotals>, PaymentError> {
    let is_fee = transfer.kind == TransferKind::Fee;
    let is_same_currency = transfer.amount.currency() == payment.amount.currency();
    if !payment.is_live || !(is_fee || is_same_currency) {
        let (expected, found) = (payment.amount, transfer.amount);
        return Err(PaymentError::AmountMismatch { expected, found });
    }
    if !table::ledger::insert(work, payment, transfer).await? {
        return Ok(None);
    }
    let minor = transfer.amount.minor();
    let added = match transfer.kind {
        TransferKind::Charge => PaymentTotals { charged_minor: minor, ..Default::default() },
        TransferKind::Refund => PaymentTotals { refunded_minor: minor, ..Default::default() },
        TransferKind::Reversal => PaymentTotals { reversed_minor: minor, ..Default::default() },
        TransferKind::Fee => PaymentTotals::default(),
    };
    table::ledger::add(work, payment, added).await.map(Some)
}

/// Returns the balances of all accounts of a store, by currency and account.
pub async fn balances(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<Balance>, PaymentError> {
    reading.run(async |sql| table::ledger::balances(sql, merchant).await).await
}

/// Returns the transfers of a payment, in the order in which they were recorded.
pub async fn transfers(
    reading: &Reading,
    merchant: MerchantId,
    payment: PaymentId,
) -> Result<Vec<Transfer>, PaymentError> {
    reading.run(async |sql| table::ledger::transfers(sql, merchant, payment).await).await
}
