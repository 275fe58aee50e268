//! Findings of payments, and the alarm that each raises.

use database::{Database, Work};
use payments::{FindingKind, NewFinding, PaymentError};
use primitives::{MerchantId, PaymentId};

use crate::CheckoutError;

/// Opens a finding in a work of its own, and raises the alarm. Returns `false` if it is open already.
pub(crate) async fn open_finding(
    database: &Database,
    merchant: MerchantId,
    finding: NewFinding,
) -> Result<bool, CheckoutError> {
    let mut work = Work::for_checkout(database, merchant).await?;
    let is_new = payments::open_finding(&mut work, merchant, &finding).await?;
    work.commit().await?;
    raise(merchant, &finding, is_new);
    Ok(is_new)
}

/// Raises the alarm of a finding that is committed: a line in the log each time, and the metric once.
pub(crate) fn raise(merchant: MerchantId, finding: &NewFinding, is_new: bool) {
    let NewFinding { payment, kind, expected, found } = finding;
    tracing::error!(%merchant, %payment, %kind, %expected, %found, "a payment needs attention");
    if is_new {
        metrics::counter!("souk_payment_findings_total", "kind" => kind.as_str()).increment(1);
    }
}

/// Returns the finding of an error that one payment causes for good, if it is one. Nothing was recorded then.
pub(crate) fn finding_of(payment: PaymentId, error: &PaymentError) -> Option<NewFinding> {
    let (kind, expected, found) = match error {
        PaymentError::UnknownProvider { name, .. } => (
            FindingKind::UnknownProvider,
            String::from("a payment provider that this release knows"),
            name.clone(),
        ),
        PaymentError::AmountMismatch { expected, found } => {
            let text = |money: &primitives::Money| {
                format!("{} {}", money.to_decimal_text(), money.currency())
            };
            (FindingKind::AmountMismatch, text(expected), text(found))
        }
        PaymentError::ReferenceTaken => (
            FindingKind::ReferenceTaken,
            String::from("a reference of this payment alone"),
            String::from("the reference of another payment"),
        ),
        PaymentError::ExceedsCharge => (
            FindingKind::LedgerDifference,
            String::from("refunds up to what was charged"),
            String::from("more was refunded or reversed"),
        ),
        PaymentError::AlreadyProcessed
        | PaymentError::AuthorizationUsed
        | PaymentError::IdentifierUsed
        | PaymentError::Unreadable
        | PaymentError::Database(_) => return None,
    };
    Some(NewFinding { payment, kind, expected, found })
}
