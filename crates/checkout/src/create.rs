//! A verb: creating a checkout session. No stock is held yet.

use carts::{Cart, CartOwner, CartStatus};
use database::{Work, crash_point};
use jobs::IdempotencyKey;
use payments::PaymentMethod;
use primitives::CartId;
use rand::Rng;

use crate::event::{self, AgentEvent};
use crate::idempotency::{self, Claim};
use crate::revalidate::{Revalidated, revalidate};
use crate::{CheckoutContext, CheckoutError, Metadata, ReturnUrl, Session, SessionSnapshot, table};

/// What an agent sets on a session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    pub payment_method: Option<PaymentMethod>,
    pub return_url: Option<ReturnUrl>,
    pub metadata: Option<Metadata>,
}

/// Creates the checkout session of a cart, or returns the one it has.
pub async fn create(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    cart: CartId,
    new: &NewSession,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let now = work.now();
    let cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let existing = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    let session = if let Some(existing) = existing {
        existing
    } else {
        cart.ensure_open(now, None)?;
        let revalidated = revalidate(&mut work, context, cart).await?;
        revalidated.ensure_agent_checkout()?;
        let mut session = new_session(&mut work, &revalidated, new);
        session.apply_readiness(revalidated.priced.quote.is_ready(), now)?;
        insert_session(&mut work, context, &revalidated.priced.cart, &session).await?;
        session
    };
    idempotency::record_response(&mut work, idempotency_key, &session).await?;
    work.commit().await?;
    Ok(SessionSnapshot { session, now })
}

/// Returns a new session of a revalidated cart.
pub(crate) fn new_session(work: &mut Work, revalidated: &Revalidated, new: &NewSession) -> Session {
    let mut form_token = [0; 16];
    work.random().fill_bytes(&mut form_token);
    Session::new(work.new_id(), form_token, revalidated, new, work.now())
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
