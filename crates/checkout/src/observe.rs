//! What a provider says of a payment is asked and recorded, in the same way after a webhook, by the schedule, and when the buyer comes
//! back. Only the answer to a call of ours is believed.

use database::{Database, Reading, Work, crash_point};
use payments::{
    CallError, Charge, ChargeOutcome, FindingKind, NewFinding, Payment, PaymentStatus, Provider,
    ProviderName, ProviderStatus,
};
use primitives::{CheckoutId, MerchantId, PaymentId, Timestamp};

use crate::late::settle_late;
use crate::settle::{Settled, settle};
use crate::{CheckoutContext, CheckoutError, PaymentGateway, SessionSnapshot, alarm, read};

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    /// The payment has an outcome, which is recorded.
    Ended,
    /// The provider has to be asked again.
    Unresolved,
}

/// Asks a provider about the payment that a webhook names, and records what it says. Returns `false` if the store has no such payment:
/// a merchant can have others at the provider.
pub async fn observe_payment(
    database: &Database,
    gateway: &PaymentGateway,
    merchant: MerchantId,
    provider: ProviderName,
    reference: &str,
) -> Result<bool, CheckoutError> {
    let reading = Reading::for_store(database, merchant)?;
    let found = payments::find_by_reference(&reading, merchant, provider, reference).await?;
    let Some(id) = found else { return Ok(false) };
    let (payment, now) = find(database, merchant, id).await?.ok_or(CheckoutError::Unreadable)?;
    observe(database, gateway, &payment, now).await?;
    Ok(true)
}

/// Asks the provider about the payment of a session that is in progress, records what it says, and returns the session: for a buyer who
/// comes back from the provider's page.
pub async fn refresh_payment(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let pending = payments::find_pending_of(&mut work, merchant, id).await?;
    let now = work.now();
    work.rollback().await?;
    if let Some(payment) = pending {
        observe(context.database, context.gateway, &payment, now).await?;
    }
    read::session(&context.reading()?, merchant, id, None).await
}

/// Returns a payment with the time of the database. One with an unknown provider raises the alarm, and is an error.
pub(crate) async fn find(
    database: &Database,
    merchant: MerchantId,
    id: PaymentId,
) -> Result<Option<(Payment, Timestamp)>, CheckoutError> {
    let reading = Reading::for_store(database, merchant)?;
    match payments::find(&reading, merchant, id).await {
        Ok(found) => Ok(found),
        Err(error) => {
            if let Some(finding) = alarm::finding_of(id, &error) {
                alarm::open_finding(database, merchant, finding).await?;
            }
            Err(error.into())
        }
    }
}

/// Asks the provider about a payment, and records what it says. A payment of a provider that is not configured raises the alarm, and is
/// an error.
pub(crate) async fn observe(
    database: &Database,
    gateway: &PaymentGateway,
    payment: &Payment,
    now: Timestamp,
) -> Result<Observed, CheckoutError> {
    let Some(provider) = gateway.provider(payment.provider) else {
        let finding = NewFinding {
            payment: payment.id,
            kind: FindingKind::UnknownProvider,
            expected: String::from("a payment provider that is configured"),
            found: payment.provider.as_str().to_owned(),
        };
        alarm::open_finding(database, payment.merchant, finding).await?;
        return Err(CheckoutError::ProviderMissing { provider: payment.provider });
    };
    let attempt = payment.attempt();
    let asked = if payment.is_overdue(now) {
        provider.expire(&attempt).await
    } else {
        provider.status(&attempt).await
    };
    crash_point("observe.asked");
    let asked = match asked {
        Ok(ProviderStatus::Approved) if payment.status.is_pending() && !payment.is_overdue(now) => {
            capture(database, provider, payment).await?
        }
        // Its capture was declined, and the answer was lost: the same capture is declined again.
        Ok(ProviderStatus::Open) if payment.status == PaymentStatus::Processing => {
            capture(database, provider, payment).await?
        }
        asked => asked,
    };
    match asked {
        Ok(status) => record(database, payment, status).await,
        Err(error) => {
            let (merchant, id) = (payment.merchant, payment.id);
            tracing::warn!(%merchant, payment = %id, cause = %error, "the payment provider returned no status; it is asked again");
            Ok(Observed::Unresolved)
        }
    }
}

/// Takes the money of an approved attempt. Before, the attempt is processing, so that it cannot be given up any more: whoever closes it and
/// whoever takes its money decide by its row.
async fn capture(
    database: &Database,
    provider: &dyn Provider,
    payment: &Payment,
) -> Result<Result<ProviderStatus, CallError>, CheckoutError> {
    if payment.status != PaymentStatus::Processing {
        let mut work = Work::for_checkout(database, payment.merchant).await?;
        let is_ours = payments::record_processing(&mut work, payment, None).await?;
        work.commit().await?;
        if !is_ours {
            // Another call takes the money, or the attempt was closed.
            return Ok(Ok(ProviderStatus::Approved));
        }
    }
    crash_point("observe.before_capture");
    let captured = provider.capture(&payment.attempt()).await;
    crash_point("observe.captured");
    Ok(captured)
}

/// Records what a provider said of a payment.
pub(crate) async fn record(
    database: &Database,
    payment: &Payment,
    status: ProviderStatus,
) -> Result<Observed, CheckoutError> {
    match status {
        ProviderStatus::Done(outcome) if payment.status.is_pending() => {
            let settled = record_outcome(database, payment, &outcome).await?;
            Ok(settled.map_or(Observed::Unresolved, |_| Observed::Ended))
        }
        status if !payment.status.is_pending() => compare(database, payment, &status).await,
        ProviderStatus::Processing if payment.status != PaymentStatus::Processing => {
            let mut work = Work::for_checkout(database, payment.merchant).await?;
            payments::record_processing(&mut work, payment, None).await?;
            work.commit().await?;
            Ok(Observed::Unresolved)
        }
        _ => Ok(Observed::Unresolved),
    }
}

/// Settles a payment with an outcome, in a work of its own. Returns `None` if the outcome contradicts the payment: that raises the alarm, and
/// nothing is recorded. Money for a payment that ended in the meantime is settled late.
pub(crate) async fn record_outcome(
    database: &Database,
    payment: &Payment,
    outcome: &ChargeOutcome,
) -> Result<Option<Settled>, CheckoutError> {
    let merchant = payment.merchant;
    let mut work = Work::for_checkout(database, merchant).await?;
    let settled = match settle(&mut work, merchant, payment, outcome).await {
        Ok(settled) => settled,
        Err(CheckoutError::Payment(error)) => {
            work.rollback().await?;
            let Some(finding) = alarm::finding_of(payment.id, &error) else {
                return Err(error.into());
            };
            alarm::open_finding(database, merchant, finding).await?;
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    crash_point("pay.settled");
    work.commit().await?;
    crash_point("pay.committed");
    if settled.is_recorded {
        return Ok(Some(settled));
    }
    if let ChargeOutcome::Paid(charge) = outcome
        && let Some((payment, _)) = find(database, merchant, payment.id).await?
        && !payment.status.is_pending()
    {
        compare_charge(database, &payment, charge).await?;
    }
    let reading = Reading::for_store(database, merchant)?;
    let session = read::session(&reading, merchant, payment.checkout, None).await?.session;
    Ok(Some(Settled { session, is_recorded: false }))
}

/// Compares a payment that has ended with what its provider says.
async fn compare(
    database: &Database,
    payment: &Payment,
    status: &ProviderStatus,
) -> Result<Observed, CheckoutError> {
    match status {
        ProviderStatus::Done(ChargeOutcome::Paid(charge)) => {
            compare_charge(database, payment, charge).await?;
        }
        _ if payment.status == PaymentStatus::Paid => {
            let found = format!("the provider says {status:?}");
            differ(database, payment, FindingKind::LedgerDifference, found).await?;
        }
        _ => {}
    }
    Ok(Observed::Ended)
}

/// Compares money that a provider took with a payment that has ended. Without money of its own, it is settled late.
async fn compare_charge(
    database: &Database,
    payment: &Payment,
    charge: &Charge,
) -> Result<(), CheckoutError> {
    let found = format!(
        "{}: {} {}",
        charge.reference,
        charge.amount.to_decimal_text(),
        charge.amount.currency()
    );
    if charge.amount != payment.amount {
        differ(database, payment, FindingKind::AmountMismatch, found).await
    } else if let Some(reference) = &payment.reference {
        if *reference == charge.reference {
            let mut work = Work::for_checkout(database, payment.merchant).await?;
            payments::record_fee(&mut work, payment, charge).await?;
            return Ok(work.commit().await?);
        }
        // Money was taken twice for one attempt.
        differ(database, payment, FindingKind::LedgerDifference, found).await
    } else {
        match settle_late(database, payment, charge).await {
            Err(CheckoutError::Payment(error)) => match alarm::finding_of(payment.id, &error) {
                Some(finding) => {
                    alarm::open_finding(database, payment.merchant, finding).await.map(drop)
                }
                None => Err(error.into()),
            },
            settled => settled,
        }
    }
}

/// Opens a finding that the provider says something else than what is recorded.
async fn differ(
    database: &Database,
    payment: &Payment,
    kind: FindingKind,
    found: String,
) -> Result<(), CheckoutError> {
    let (amount, status) = (payment.amount, payment.status);
    let reference = payment.reference.as_deref().unwrap_or("no money");
    let expected =
        format!("{reference}: {} {}, {status}", amount.to_decimal_text(), amount.currency());
    let finding = NewFinding { payment: payment.id, kind, expected, found };
    alarm::open_finding(database, payment.merchant, finding).await.map(drop)
}
