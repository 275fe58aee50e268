//! A verb: the merchant reports that a session was paid on its own page.

use payments::ChargeOutcome;
use primitives::{CheckoutId, Money};

use crate::pay::{settle, start_payment};
use crate::{CheckoutContext, CheckoutError, SessionSnapshot, Status, read};

/// The provider name of payments reported by the merchant.
const MERCHANT: &str = "merchant";

/// A payment reported by the merchant.
#[derive(Debug, Clone)]
pub struct PaymentReport {
    /// The merchant's own id of the payment or order.
    pub reference: String,
    /// The paid amount, if the merchant states it; must equal the session's total.
    pub amount: Option<Money>,
}

/// Records that a session was paid and places its order. Reporting the same payment again has no effect.
pub async fn report_paid(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    report: &PaymentReport,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, _) = read::lock(&mut work, merchant, id, None).await?;
    if let Some(amount) = report.amount
        && amount != session.total
    {
        return Err(CheckoutError::AmountMismatch { expected: session.total });
    }
    if session.stored_status() == Status::Completed {
        let paid = payments::find_paid(&mut work, merchant, id).await?;
        let is_same = paid.is_some_and(|it| it.reference.as_ref() == Some(&report.reference));
        let already_paid = CheckoutError::AlreadyPaid { checkout: id };
        return if is_same { Ok(SessionSnapshot { session, now }) } else { Err(already_paid) };
    }
    let payment = start_payment(&mut work, merchant, &mut session, MERCHANT, "own page").await?;
    let outcome = ChargeOutcome::Paid { reference: report.reference.clone() };
    let session = settle(&mut work, merchant, &payment, &outcome).await?;
    database::crash_point("report.before_commit");
    work.commit().await?;
    database::crash_point("report.committed");
    Ok(SessionSnapshot { session, now })
}
