//! Findings: what does not agree between us and a provider, or between payments and orders. Somebody has to look at each.

use database::{Reading, Snapshot, Work};
use primitives::{MerchantId, PaymentId, Timestamp};

use crate::{PaymentError, table};

/// Characters of what was expected or found.
const TEXT_CHARS_MAX: usize = 300;

primitives::text_enum! {
    /// What a finding is about.
    #[strum(serialize_all = "snake_case")]
    pub enum FindingKind {
        /// No provider is configured that can be asked about the payment.
        UnknownProvider,
        /// The provider took another amount, or in another currency, than the attempt asked for.
        AmountMismatch,
        /// The provider names money or an attempt that belong to another payment.
        ReferenceTaken,
        /// Money arrived for an attempt that had ended, and no order can be placed for it.
        PaidAfterEnd,
        /// The outcome of a payment is not known after a day.
        Unresolved,
        /// The outcome of a refund is not known after a day: repeating it could return the money twice.
        RefundUnresolved,
        /// The ledger has another sum than the provider or the order.
        LedgerDifference,
    }
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub merchant: MerchantId,
    pub payment: PaymentId,
    /// The name of a [`FindingKind`].
    pub kind: String,
    pub expected: String,
    pub found: String,
    pub opened_at: Timestamp,
}

/// A finding to open.
#[derive(Debug, Clone)]
pub struct NewFinding {
    pub payment: PaymentId,
    pub kind: FindingKind,
    pub expected: String,
    pub found: String,
}

/// Opens a finding. Returns `false` if one of the kind is open for the payment.
pub async fn open_finding(
    work: &mut Work,
    merchant: MerchantId,
    finding: &NewFinding,
) -> Result<bool, PaymentError> {
    let cut = |text: &str| -> String {
        text.chars().filter(|char| *char != '\0').take(TEXT_CHARS_MAX).collect()
    };
    let (expected, found) = (cut(&finding.expected), cut(&finding.found));
    Ok(table::finding::open(work, merchant, finding, &expected, &found).await?)
}

/// Closes the open findings of these kinds of a payment, because they no longer apply. Returns their number.
pub async fn close_findings(
    work: &mut Work,
    merchant: MerchantId,
    payment: PaymentId,
    kinds: &[FindingKind],
) -> Result<u64, PaymentError> {
    Ok(table::finding::close(work, merchant, payment, kinds).await?)
}

/// Returns the open findings of a store, the oldest first.
pub async fn findings(
    reading: &Reading,
    merchant: MerchantId,
    limit: i64,
) -> Result<Vec<Finding>, PaymentError> {
    reading.run(async |sql| Ok(table::finding::find_open(sql, Some(merchant), limit).await?)).await
}

/// Returns the open findings of all stores, the oldest first.
pub async fn all_findings(sql: &mut Snapshot, limit: i64) -> Result<Vec<Finding>, PaymentError> {
    Ok(table::finding::find_open(sql, None, limit).await?)
}
