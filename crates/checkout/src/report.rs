//! A verb: the merchant says that a session was paid on its own page.

use payments::Outcome;
use primitives::{CheckoutId, Money};

use crate::pay::{begin, settle};
use crate::{At, CheckoutError, Counter, Status, read};

/// Who the merchant is as a provider.
const MERCHANT: &str = "merchant";

/// What a merchant reports.
#[derive(Debug, Clone)]
pub struct Reported {
    /// What the merchant calls the payment, or its own order.
    pub reference: String,
    /// What was paid, if the merchant says; it has to be what was agreed to.
    pub amount: Option<Money>,
}

/// Notes that a session was paid: the order exists from here on. Reporting the same payment again changes nothing.
pub async fn report_paid(
    counter: &Counter<'_>,
    id: CheckoutId,
    reported: &Reported,
) -> Result<At, CheckoutError> {
    let merchant = counter.merchant();
    let mut work = counter.work().await?;
    let now = work.now();
    let (mut session, _) = read::hold(&mut work, merchant, id, None).await?;
    if let Some(amount) = reported.amount
        && amount != session.total
    {
        return Err(CheckoutError::OtherAmount { expected: session.total });
    }
    if session.kept_status == Status::Completed {
        let paid = payments::paid(&mut work, merchant, id).await?;
        let is_same = paid.is_some_and(|it| it.reference.as_ref() == Some(&reported.reference));
        let before = CheckoutError::PaidBefore { checkout: id };
        return if is_same { Ok(At { session, now }) } else { Err(before) };
    }
    let payment = begin(&mut work, merchant, &mut session, MERCHANT, "own page").await?;
    let outcome = Outcome::Paid { reference: reported.reference.clone() };
    let session = settle(&mut work, merchant, &payment, &outcome).await?;
    database::crash_point("report.before_commit");
    work.commit().await?;
    database::crash_point("report.committed");
    Ok(At { session, now })
}
