//! A verb: importing what is known of checkouts of the past, such as those of the demo data.

use database::Work;
use primitives::{CheckoutId, KeyId, MerchantId, Money, Timestamp};

use crate::{CheckoutError, table};

/// A checkout whose session is not kept any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCheckout {
    pub id: CheckoutId,
    /// The key of the agent that started it.
    pub agent: KeyId,
    pub started_at: Timestamp,
    /// When it became an order; `None` if it did not.
    pub completed_at: Option<Timestamp>,
    /// What the merchant reported as paid.
    pub reports: Vec<PastReport>,
}

/// A report of a payment whose quote left nothing open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastReport {
    /// The merchant's own id of the payment or order.
    pub reference: String,
    /// The total of the quote.
    pub expected: Money,
    /// Accepted if it is the expected amount.
    pub reported: Money,
    pub at: Timestamp,
}

/// Imports the events and reports of checkouts, without publishing anything: nobody acts on what is long past. Those that exist
/// stay as they are.
pub async fn import(
    work: &mut Work,
    merchant: MerchantId,
    checkouts: &[PastCheckout],
) -> Result<(), CheckoutError> {
    table::import_events(work, merchant, checkouts).await?;
    table::import_reports(work, merchant, checkouts).await?;
    Ok(())
}
