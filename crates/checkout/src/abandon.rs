//! A verb: giving up the payment that is in progress. The buyer came back from the provider's page without paying, and chooses again.

use payments::{PaymentStatus, ProviderStatus};
use primitives::CheckoutId;
use subtle::ConstantTimeEq;

use crate::{CheckoutContext, CheckoutError, SessionSnapshot, Status, observe, read};

/// Closes the attempt of a session at its provider, so that nobody can pay it any more, and lets the person pay again. If it was paid in the
/// meantime, the order is placed. A session without an attempt in progress is returned as it is. Returns `InvalidTransition` once the money
/// is being taken, and `CsrfRejected` unless the form token is the session's.
pub async fn abandon_payment(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    form_token: &[u8],
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let (session, _) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    let now = work.now();
    let pending = payments::find_pending_of(&mut work, merchant, id).await?;
    work.rollback().await?;
    let Some(payment) = pending else { return Ok(SessionSnapshot { session, now }) };
    if payment.status == PaymentStatus::Processing {
        return Err(CheckoutError::InvalidTransition { from: Status::CompleteInProgress });
    }
    let provider = context.gateway.provider(payment.provider);
    let provider = provider.ok_or(CheckoutError::ProviderMissing { provider: payment.provider })?;
    match provider.expire(&payment.attempt()).await {
        // What is approved is not taken here: the schedule decides.
        Ok(status @ (ProviderStatus::Done(_) | ProviderStatus::Processing)) => {
            // If the money is about to be taken since, the attempt does not end.
            observe::record(context.database, &payment, status).await?;
        }
        Ok(status) => {
            let payment = payment.id;
            tracing::warn!(%merchant, %payment, ?status, "the payment provider did not close the payment");
        }
        Err(error) => {
            let payment = payment.id;
            tracing::warn!(%merchant, %payment, cause = %error, "the payment was not closed; the provider is asked again");
        }
    }
    read::session(&context.reading()?, merchant, id, None).await
}
