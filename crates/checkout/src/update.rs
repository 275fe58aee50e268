//! Verbs: an agent changes an unpaid session, or a person declines to pay for it.

use carts::{CartOwner, CartUpdate};
use jobs::IdempotencyKey;
use primitives::CheckoutId;
use subtle::ConstantTimeEq;

use crate::confirmation::{self, ItemsHash};
use crate::idempotency::{self, Claim};
use crate::revalidate::revalidate;
use crate::session::NewSession;
use crate::{CheckoutContext, CheckoutError, SessionSnapshot, Status, Transition, read, table};

/// A change of a session.
#[derive(Debug, Clone, Default)]
pub struct Update {
    /// New data of the cart. Its items cannot change.
    pub data: CartUpdate,
    pub session: NewSession,
}

/// Declines an unpaid session on the hosted page: its units are released, and for a while the agent cannot buy the same items
/// again. Returns `CsrfRejected` unless the form token is the session's. Idempotent.
pub async fn decline(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    form_token: &[u8],
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, _) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    let status = session.status(now);
    let is_paid = session.order.is_some() || status == Status::CompleteInProgress;
    if status.after(Transition::Decline).is_some() {
        session.decline(&mut work, merchant).await?;
    } else if is_paid {
        return Err(CheckoutError::InvalidTransition { from: status });
    }
    // The decision counts also if the agent has changed or ended the session in the meantime.
    let (agent, items) = (session.owner.key, ItemsHash::of_session(&session));
    confirmation::record_declined(&mut work, merchant, agent, items, true).await?;
    work.commit().await?;
    Ok(SessionSnapshot { session, now })
}

/// Changes a session. If a person was about to pay, the terms they saw no longer apply: the units are released, and the
/// session has to be completed again.
pub async fn update(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    id: CheckoutId,
    change: &Update,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let now = work.now();
    let (mut session, mut cart) = read::lock(&mut work, merchant, id, Some(owner.key)).await?;
    let before = session.version;
    let status = session.status(now);
    if status.after(Transition::Cancel).is_none() {
        return Err(CheckoutError::InvalidTransition { from: status });
    }
    if session.is_holding {
        session.release_units(&mut work, merchant).await?;
        session.checkout_url = None;
        (session.confirmation, session.confirmed_scope) = (None, None);
    }
    carts::change_during_checkout(&mut work, merchant, &mut cart, &change.data.edits()).await?;
    let revalidated = revalidate(&mut work, context, cart).await?;
    revalidated.ensure_agent_checkout()?;
    let method = change.session.payment_method;
    context.ensure_method(&revalidated.settings, owner.is_sandbox, method)?;
    session.set(&revalidated, &change.session);
    session.apply_readiness(revalidated.priced.quote.is_ready(), now)?;
    session.updated_at = now;
    table::update(&mut work, merchant, &mut session, before).await?;
    work.finish(session).await
}
