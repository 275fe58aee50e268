//! Payments that exist: a repeated request returns their state, and never begins another one.

use std::time::Duration;

use carts::CartOwner;
use database::Work;
use payments::{PaymentError, ProviderName};
use primitives::{CheckoutId, PaymentId};
use x402::PaymentIdentifier;

use super::{AgentPayment, AgentPaymentError, AgentPaymentRequest, quote};
use crate::{CheckoutContext, CheckoutError, observe, read};

/// Time after which a request is answered although the outcome is not known.
const RESPOND_AFTER: Duration = Duration::from_secs(20);

/// Returns the payment that a request is about: that of the same payload, or, if the agent asks how to pay, the one that is in progress or
/// paid. Returns `AlreadyProcessed` if another payment is in progress or paid, and an error if nonce or identifier belong to another one.
pub(super) async fn find(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &AgentPaymentRequest<'_>,
    identifier: Option<&PaymentIdentifier>,
) -> Result<Option<PaymentId>, AgentPaymentError> {
    let merchant = context.merchant();
    let mut is_used = false;
    if let Some(payload) = request.payload {
        let hash = payments::payload_hash(payload);
        let same = payments::find_same(work, merchant, owner.key, payload, identifier).await?;
        for found in same {
            let is_of_agent = found.agent == owner.key;
            let is_of_session = found.checkout == request.checkout;
            if is_of_agent && is_of_session && found.payload_hash == hash {
                return Ok(Some(found.payment));
            }
            let identifier = identifier.map(PaymentIdentifier::as_str);
            if is_of_agent && identifier.is_some() && found.identifier.as_deref() == identifier {
                return Err(PaymentError::IdentifierUsed.into());
            }
            is_used = true;
        }
    }
    let pending = payments::find_pending_of(work, merchant, request.checkout).await?;
    let live = match pending {
        Some(pending) => Some(pending),
        None => payments::find_paid(work, merchant, request.checkout).await?,
    };
    match live {
        Some(live) if request.payload.is_none() && live.provider == ProviderName::X402 => {
            Ok(Some(live.id))
        }
        Some(_) => Err(PaymentError::AlreadyProcessed.into()),
        None if is_used => Err(AgentPaymentError::used()),
        None => Ok(None),
    }
}

/// Returns the payment that a request is about, in a work of its own.
pub(super) async fn find_now(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &AgentPaymentRequest<'_>,
    identifier: Option<&PaymentIdentifier>,
) -> Result<Option<PaymentId>, AgentPaymentError> {
    let mut work = context.work().await?;
    let known = find(&mut work, context, owner, request, identifier).await?;
    work.rollback().await?;
    Ok(known)
}

/// Returns the state of a payment. One without an outcome is advanced first: the facilitator is asked if that is due, and the chain is
/// read. No work is open. Returns `Invalid` if the payment has failed.
pub(super) async fn resolve(
    context: &CheckoutContext<'_>,
    id: PaymentId,
) -> Result<AgentPayment, AgentPaymentError> {
    let (database, merchant) = (context.database, context.merchant());
    let found = observe::find(database, merchant, id).await?;
    let (payment, now) = found.ok_or(CheckoutError::NotFound)?;
    if payment.status.is_pending() {
        let observed = observe::observe(database, context.gateway, &payment, now);
        // Whatever is not known by then, the schedule finds out.
        if let Ok(observed) = tokio::time::timeout(RESPOND_AFTER, observed).await {
            observed?;
        }
    }
    let paid = read_payment(context, id).await?;
    match paid.failure() {
        None => Ok(paid),
        Some((reason, message)) => {
            let required = quote::current(context, &paid.session, message).await?;
            let error = AgentPaymentError::failed(&paid, reason, message, required);
            Err(error)
        }
    }
}

/// Returns the newest payment of a session by its agent, or `None` if the agent has not begun one. Returns `NotFound` if another agent owns
/// the session.
pub async fn agent_payment(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    checkout: CheckoutId,
) -> Result<Option<AgentPayment>, AgentPaymentError> {
    let (reading, merchant) = (context.reading()?, context.merchant());
    read::session(&reading, merchant, checkout, Some(owner.key)).await?;
    let found = payments::find_authorization_of(&reading, merchant, checkout).await?;
    match found {
        Some(found) => Ok(Some(read_payment(context, found.payment).await?)),
        None => Ok(None),
    }
}

async fn read_payment(
    context: &CheckoutContext<'_>,
    id: PaymentId,
) -> Result<AgentPayment, AgentPaymentError> {
    let (reading, merchant) = (context.reading()?, context.merchant());
    let payment = payments::find(&reading, merchant, id).await?;
    let (payment, _) = payment.ok_or(CheckoutError::NotFound)?;
    let authorization = payments::find_authorization(&reading, merchant, id).await?;
    let (authorization, _) = authorization.ok_or(CheckoutError::Unreadable)?;
    let session = read::session(&reading, merchant, payment.checkout, None).await?.session;
    Ok(AgentPayment { session, payment, authorization })
}
