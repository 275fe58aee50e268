//! A verb: paying by the agent itself, in tokens (docs/contract/payments.md#agent-payment). The quote is stored before it is sent, and what
//! the agent signed before a facilitator hears of it. After that only the chain decides.

mod error;
mod known;
mod quote;
mod record;

use carts::{Cart, CartOwner, OpenPart};
use database::{Work, crash_point};
use merchants::{ConfirmationPolicy, X402Settings};
use orders::ConfirmationLevel;
use payments::{NewPayment, NewX402Authorization, Payment, PaymentError, ProviderName};
use primitives::{CheckoutId, PaymentId};
use x402::{
    PaymentIdentifier, PaymentPayload, PaymentRequired, PaymentRequirements, VerifiedAuthorization,
};

pub use error::{AGENT_PAYMENT_ERRORS, AgentPaymentError};
pub use known::agent_payment;
pub use quote::AGENT_PAYMENT_PATH;
pub use record::{AgentPayment, AgentPaymentRecord, AgentPaymentStatus};

use crate::confirmation::{self, ensure_not_declined};
use crate::settle::Means;
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, ConfirmationRequest, Session, Transition,
    read, table,
};

/// How long an authorization is valid from its signature on: it bounds the time in which an outcome is unknown.
const MAX_TIMEOUT_SECONDS: u32 = 120;

/// What an agent sends to pay for a session.
#[derive(Debug, Clone, Copy)]
pub struct AgentPaymentRequest<'request> {
    pub checkout: CheckoutId,
    /// `None` if the agent asks how to pay.
    pub payload: Option<&'request PaymentPayload>,
}

/// A request to pay, as far as it can be decided from what is stored.
enum Assessed {
    /// The payment exists: its state is the response.
    Known(PaymentId),
    /// The agent asks how to pay.
    Unpaid(Box<PaymentRequired>),
    /// A person has to confirm the purchase first.
    Unconfirmed(Box<ConfirmationRequest>),
    Verified(Box<Verified>),
}

/// A session that can be paid with a verified payload.
struct Verified {
    session: Session,
    proof: ConfirmationProof,
    settings: X402Settings,
    quoted: PaymentRequirements,
    authorization: VerifiedAuthorization,
}

/// Pays for a session with what the agent signed. The same payload returns the state of the same payment. Returns `Unpaid` with the
/// requirements if the agent sends no payload, and `Invalid` if it does not pay what was quoted: nothing is begun then.
pub async fn pay_by_agent(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: AgentPaymentRequest<'_>,
) -> Result<AgentPayment, AgentPaymentError> {
    let identifier = request.payload.map(|payload| payload.extensions.payment_identifier());
    let identifier = identifier.transpose()?.flatten();
    let mut start_block = None;
    loop {
        let mut work = context.work().await?;
        let assessed = assess(&mut work, context, owner, &request, identifier.as_ref()).await?;
        let (verified, payload) = match (assessed, request.payload) {
            (Assessed::Verified(verified), Some(payload)) => (verified, payload),
            (Assessed::Known(payment), _) => {
                work.rollback().await?;
                return known::resolve(context, payment).await;
            }
            (Assessed::Unconfirmed(requested), _) => {
                work.commit().await?;
                return Err(AgentPaymentError::Unconfirmed(requested));
            }
            (Assessed::Unpaid(required), _) => {
                work.commit().await?;
                return Err(AgentPaymentError::Unpaid(required));
            }
            (Assessed::Verified(_), None) => return Err(CheckoutError::Unreadable.into()),
        };
        let Some(start_block) = start_block else {
            work.rollback().await?;
            match find_start_block(context, &verified).await {
                Ok(found) => start_block = Some(found),
                // Another request may have begun the same payment in the meantime.
                Err(error) => {
                    let known = known::find_now(context, owner, &request, identifier.as_ref());
                    let Some(payment) = known.await? else { return Err(error) };
                    return known::resolve(context, payment).await;
                }
            }
            continue;
        };
        let new = NewX402Authorization {
            agent: owner.key,
            identifier: identifier.as_ref(),
            requirements: &verified.quoted,
            payload,
            verified: &verified.authorization,
            confirmations: verified.settings.confirmations,
            start_block,
        };
        let payment = start(&mut work, context, verified.session.clone(), verified.proof, &new);
        let payment = payment.await?;
        crash_point("agent_pay.before_commit");
        work.commit().await?;
        crash_point("agent_pay.committed");
        return known::resolve(context, payment.id).await;
    }
}

/// Decides about a request from what is stored, and locks the session. Quotes and requests for a confirmation are written: the work is to
/// be committed for them.
async fn assess(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &AgentPaymentRequest<'_>,
    identifier: Option<&PaymentIdentifier>,
) -> Result<Assessed, AgentPaymentError> {
    let merchant = context.merchant();
    let (session, cart) = read::lock(work, merchant, request.checkout, Some(owner.key)).await?;
    if let Some(known) = known::find(work, context, owner, request, identifier).await? {
        return Ok(Assessed::Known(known));
    }
    let (settings, policy) = ensure_payable(work, context, &session, &cart).await?;
    let required = required_level(&session, &settings, policy);
    let proof = match confirmation::require_of_session(work, context, &session, required).await? {
        Ok(proof) => proof,
        Err(requested) => return Ok(Assessed::Unconfirmed(requested)),
    };
    let quoted = quote::find_or_create(work, merchant, &session, &settings).await?;
    let Some(payload) = request.payload else {
        let required = quote::payment_required(context, &session, quoted, None);
        return Ok(Assessed::Unpaid(Box::new(required)));
    };
    match x402::verify(&quoted, payload, work.now()) {
        Ok(authorization) => {
            let verified = Verified { session, proof, settings, quoted, authorization };
            Ok(Assessed::Verified(Box::new(verified)))
        }
        Err(rejection) => {
            let message = rejection.message();
            let required = quote::payment_required(context, &session, quoted, Some(message));
            Err(AgentPaymentError::rejected(rejection, required))
        }
    }
}

/// Returns how the store takes tokens, and its policy of confirmation; an error unless the session can be paid with them now, and its total
/// is final.
async fn ensure_payable(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    session: &Session,
    cart: &Cart,
) -> Result<(X402Settings, ConfirmationPolicy), AgentPaymentError> {
    let (merchant, from) = (context.merchant(), session.status(work.now()));
    if !session.is_holding || from.after(Transition::StartPayment).is_none() {
        return Err(CheckoutError::InvalidTransition { from }.into());
    }
    let (store, settings) = merchants::store_and_settings_now(work, merchant).await?;
    // Nothing new is paid at a store that was closed to agents in the meantime.
    store.admit()?;
    let accepted = context.gateway.token_payments(&settings, session.owner.is_sandbox);
    let (_, x402) = accepted.ok_or(AgentPaymentError::NotAccepted)?;
    ensure_not_declined(work, context, cart).await?;
    let missing = missing(session);
    if !missing.is_empty() {
        return Err(CheckoutError::NotReady { missing, messages: Vec::new() }.into());
    }
    Ok((x402, settings.confirmation))
}

/// Returns what has to be set before the total is final, and the order can be sent.
fn missing(session: &Session) -> Vec<&'static str> {
    let open = &session.terms.open;
    let is_address_open = open.iter().any(|part| *part != OpenPart::Buyer);
    let destination = (is_address_open || !session.terms.has_address()).then_some("destination");
    let buyer = open.contains(&OpenPart::Buyer).then_some("buyer");
    destination.into_iter().chain(buyer).collect()
}

/// Returns the level of confirmation that a payment by the agent needs (docs/contract/payments.md#x402-confirmation): up to the limit of the
/// store that of its policy, above it one by a person.
fn required_level(
    session: &Session,
    settings: &X402Settings,
    policy: ConfirmationPolicy,
) -> ConfirmationLevel {
    let of_store = match policy {
        ConfirmationPolicy::Attested => ConfirmationLevel::Attested,
        ConfirmationPolicy::Hosted => ConfirmationLevel::Hosted,
        ConfirmationPolicy::Mandate => ConfirmationLevel::Mandate,
    };
    if session.total.minor() <= settings.unattended_limit_minor {
        of_store
    } else {
        of_store.max(ConfirmationLevel::Hosted)
    }
}

/// Returns the latest block, in which the authorization is unused and its payer has the tokens. No work is open.
async fn find_start_block(
    context: &CheckoutContext<'_>,
    verified: &Verified,
) -> Result<u64, AgentPaymentError> {
    let Verified { session, quoted, authorization, .. } = verified;
    let provider = context.gateway.x402().ok_or(AgentPaymentError::NotAccepted)?;
    let snapshot = provider.snapshot(quoted, authorization.transfer()).await?;
    let reject = |reason: &'static str, message: &'static str| {
        let required = quote::payment_required(context, session, quoted.clone(), Some(message));
        AgentPaymentError::invalid(reason, message, Some(required))
    };
    if snapshot.is_used {
        return Err(reject(error::USED, "the authorization was used or canceled before"));
    }
    if snapshot.balance < quoted.amount {
        return Err(reject("insufficient_funds", "the payer has fewer tokens than the amount"));
    }
    Ok(snapshot.block.number)
}

/// Starts the payment of a session, which is locked, with what the agent signed.
async fn start(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    mut session: Session,
    proof: ConfirmationProof,
    new: &NewX402Authorization<'_>,
) -> Result<Payment, AgentPaymentError> {
    let (merchant, now, before) = (context.merchant(), work.now(), session.version);
    if let Some(id) = proof.confirmation {
        // It may be the one that the session was completed with.
        table::mark_confirmation_used(work, merchant, id, session.id).await?;
    }
    session.apply(Transition::StartPayment, now)?;
    (session.confirmation, session.confirmed_scope) = (Some(proof), Some(session.terms.scope()));
    let transfer = new.verified.transfer();
    let payer = transfer.from.to_string();
    let (provider, account) = (ProviderName::X402, None);
    let means = Means { provider, account, is_live: true, instrument: &payer };
    let until = i64::try_from(transfer.valid_before).unwrap_or(i64::MAX / 1_000_000);
    let expires_at = primitives::Timestamp::from_unix_micros(until.saturating_mul(1_000_000));
    let attempt = NewPayment { expires_at, ..means.attempt_of(&session) };
    let payment = payments::create(work, merchant, attempt).await?;
    payments::authorize(work, &payment, new).await.map_err(|error| match error {
        PaymentError::AuthorizationUsed => AgentPaymentError::used(),
        error => error.into(),
    })?;
    table::update(work, merchant, &mut session, before).await?;
    Ok(payment)
}
