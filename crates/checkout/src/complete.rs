//! A verb: completing a checkout. A person then pays at the checkout URL; until then the units are held.

use carts::{Cart, CartOwner, CartStatus, QuoteHash};
use database::{Work, crash_point};
use jobs::IdempotencyKey;
use merchants::ConfirmationPolicy;
use orders::ConfirmationLevel;
use payments::PaymentMethod;
use primitives::{CartId, ConfirmationId, MerchantId, Problem};
use serde_json::Value;

use crate::confirmation::{self, ProofRejection};
use crate::create::{NewSession, new_session};
use crate::event::{self, AgentEvent};
use crate::idempotency::{self, Claim};
use crate::revalidate::{Revalidated, record_comparisons, revalidate};
use crate::session::SESSION_LIFETIME;
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, Session, SessionSnapshot, Status,
    Transition, table,
};

/// Attempts if the error is transient.
const ATTEMPTS_MAX: u32 = 4;

/// What is to be completed.
#[derive(Debug, Clone)]
pub struct Complete {
    pub cart: CartId,
    /// The hash of the terms the person approved, if the agent states it.
    pub quote_hash: Option<QuoteHash>,
    /// The human confirmation; if `None`, the strongest valid one of the cart is used.
    pub confirmation: Option<ConfirmationId>,
    pub payment_method: Option<PaymentMethod>,
    /// Where the buyer is sent after the payment.
    pub return_url: Option<String>,
    /// JSON object of the agent, returned to it unchanged.
    pub metadata: Option<Value>,
}

impl Complete {
    /// Returns a request for a cart without any options.
    #[must_use]
    pub const fn cart(cart: CartId) -> Self {
        Self {
            cart,
            quote_hash: None,
            confirmation: None,
            payment_method: None,
            return_url: None,
            metadata: None,
        }
    }
}

/// Completes the checkout of a cart: revalidates the cart, holds its units and returns the session with the checkout URL.
/// A cart that was completed before returns the same session.
pub async fn complete(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let mut attempts = 1;
    loop {
        match try_complete(context, owner, request, idempotency_key).await {
            Err(error) if error.is_transient() && attempts < ATTEMPTS_MAX => attempts += 1,
            result => return result,
        }
    }
}

async fn try_complete(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    request: &Complete,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    crash_point("complete.before");
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let now = work.now();
    crash_point("complete.claimed");
    let cart = carts::lock(&mut work, merchant, request.cart, owner.key).await?;
    let mut existing = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    crash_point("complete.cart_held");
    match existing.as_ref().map(|session| session.status(now)) {
        None => cart.ensure_open(now, None)?,
        Some(Status::Incomplete | Status::ReadyForComplete) => {}
        Some(from @ (Status::Canceled | Status::Expired)) => {
            return Err(CheckoutError::InvalidTransition { from });
        }
        Some(Status::RequiresEscalation | Status::CompleteInProgress | Status::Completed) => {
            let session = existing.ok_or(CheckoutError::Unreadable)?;
            idempotency::record_response(&mut work, idempotency_key, &session).await?;
            work.commit().await?;
            return Ok(SessionSnapshot { session, now });
        }
    }
    // A session whose payment was declined still holds its units; their stock is revalidated like everything else.
    if let Some(session) = &mut existing {
        release(&mut work, merchant, session).await?;
    }
    let revalidated = revalidate(&mut work, context, cart).await?;
    crash_point("complete.revalidated");
    let proof = match check_preconditions(&mut work, context, &revalidated, request).await {
        Ok(proof) => proof,
        Err(error) => {
            work.rollback().await?;
            return Err(record_rejection(context, &revalidated, error).await);
        }
    };
    let session = escalate(&mut work, context, &revalidated, existing, request, proof).await?;
    idempotency::record_response(&mut work, idempotency_key, &session).await?;
    crash_point("complete.response_recorded");
    // Last, because other checkouts of the same product wait for its row until this work ends.
    let (pool, units) = (session.owner.stock_pool(), session.units());
    if let Err(index) = catalog::hold(&mut work, merchant, pool, &units).await? {
        // The next attempt must not wait for locks of this one.
        work.rollback().await?;
        return Err(CheckoutError::ReservedElsewhere { index });
    }
    crash_point("complete.units_held");
    work.commit().await?;
    crash_point("complete.committed");
    Ok(SessionSnapshot { session, now })
}

/// Releases the units of a locked session, if it holds any.
pub(crate) async fn release(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
) -> Result<(), CheckoutError> {
    if session.is_holding {
        let units = session.units();
        catalog::release(work, merchant, session.owner.stock_pool(), &units).await?;
        session.is_holding = false;
    }
    Ok(())
}

/// Returns the human confirmation of the checkout, or an error if the checkout is not allowed.
async fn check_preconditions(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    request: &Complete,
) -> Result<ConfirmationProof, CheckoutError> {
    revalidated.ensure_agent_checkout()?;
    revalidated.ensure_ready()?;
    let current = revalidated.priced.quote_hash;
    match request.quote_hash {
        Some(approved) if approved != current => {
            return Err(CheckoutError::QuoteChanged { current });
        }
        Some(_) => {}
        // A confirmation is bound to the prices the person saw.
        None if request.confirmation.is_some() => {}
        None => revalidated.ensure_prices_unchanged()?,
    }
    let proof = match request.confirmation {
        Some(id) => confirmation::verify(work, context, revalidated, id).await?,
        None => confirmation::strongest(work, context, revalidated).await?,
    };
    let required = match revalidated.settings.confirmation {
        ConfirmationPolicy::Attested => ConfirmationLevel::Attested,
        ConfirmationPolicy::Hosted => ConfirmationLevel::Hosted,
        ConfirmationPolicy::Mandate => ConfirmationLevel::Mandate,
    };
    if proof.level >= required {
        return Ok(proof);
    }
    let reason = match required {
        ConfirmationLevel::Mandate => ProofRejection::MandateNotSupported,
        _ => ProofRejection::Insufficient,
    };
    Err(CheckoutError::ConfirmationRequired { reason, requested: None })
}

/// Records the comparisons of a rejected checkout, and requests a confirmation if that is what is missing. Returns the error
/// to report.
async fn record_rejection(
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    error: CheckoutError,
) -> CheckoutError {
    let (merchant, cart) = (context.merchant(), &revalidated.priced.cart);
    let recorded: Result<_, CheckoutError> = async {
        let mut work = context.work().await?;
        record_comparisons(&mut work, merchant, cart, &revalidated.comparisons).await?;
        let requested = match &error {
            CheckoutError::ConfirmationRequired { reason, .. } if reason.allows_new_request() => {
                Some(confirmation::find_or_create(&mut work, context, &revalidated.priced).await?)
            }
            _ => None,
        };
        work.commit().await?;
        Ok(requested)
    }
    .await;
    match (recorded, error) {
        (Ok(Some(requested)), CheckoutError::ConfirmationRequired { reason, .. }) => {
            let requested = Some(Box::new(requested));
            CheckoutError::ConfirmationRequired { reason, requested }
        }
        (Ok(_), error) => error,
        (Err(cause), error) => {
            tracing::warn!(
                %merchant, cart = %cart.id, %cause,
                "the comparisons of a rejected checkout were not recorded; the checkout stays rejected"
            );
            error
        }
    }
}

/// Writes the session as it is once its units are held.
async fn escalate(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    revalidated: &Revalidated,
    existing: Option<Session>,
    request: &Complete,
    proof: ConfirmationProof,
) -> Result<Session, CheckoutError> {
    let (merchant, now) = (context.merchant(), work.now());
    let before = existing.as_ref().map(|session| session.version);
    let new = NewSession {
        payment_method: request.payment_method,
        return_url: request.return_url.clone(),
        metadata: request.metadata.clone(),
    };
    let mut session = match existing {
        Some(session) => session.updated_with(revalidated, &new),
        None => new_session(work, revalidated, &new),
    };
    session.apply(Transition::Escalate, now)?;
    session.is_holding = true;
    session.is_payment_failed = false;
    session.confirmation = Some(proof);
    session.expires_at = now.plus(SESSION_LIFETIME);
    session.checkout_url = Some(context.checkout_url(&revalidated.settings, &session));
    match before {
        Some(version) => table::update(work, merchant, &mut session, version).await?,
        None => insert_session(work, context, &revalidated.priced.cart, &session).await?,
    }
    crash_point("complete.session_written");
    if let Some(id) = proof.confirmation {
        confirmation::mark_used(work, merchant, id, session.id).await?;
    }
    record_comparisons(work, merchant, &revalidated.priced.cart, &revalidated.comparisons).await?;
    crash_point("complete.recorded");
    Ok(session)
}

/// Inserts a new session, marks its cart and records the event.
pub(crate) async fn insert_session(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    cart: &Cart,
    session: &Session,
) -> Result<(), CheckoutError> {
    let merchant = context.merchant();
    table::insert(work, merchant, session).await?;
    let (from, to) = (CartStatus::Active, CartStatus::CheckoutStarted);
    if !carts::set_status(work, merchant, cart.id, from, to).await? {
        return Err(CheckoutError::Unreadable);
    }
    crash_point("complete.cart_started");
    event::record(work, merchant, session, AgentEvent::CheckoutStart).await
}
