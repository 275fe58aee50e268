//! Verbs: an agent changes an unpaid session, or a person declines to pay for it.

use carts::{Cart, CartOwner, CartUpdate, Edit};
use database::Work;
use jobs::IdempotencyKey;
use primitives::{CartId, CheckoutId};
use subtle::ConstantTimeEq;

use crate::confirmation::{self, ItemsHash};
use crate::idempotency::{self, Claim};
use crate::revalidate::revalidate;
use crate::session::NewSession;
use crate::{
    CheckoutContext, CheckoutError, Session, SessionSnapshot, Status, Transition, read, table,
};

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
    let (mut session, cart) = read::lock(&mut work, merchant, id, Some(owner.key)).await?;
    let status = session.status(work.now());
    if status.after(Transition::Cancel).is_none() {
        return Err(CheckoutError::InvalidTransition { from: status });
    }
    if session.is_holding {
        session.release_units(&mut work, merchant).await?;
        session.checkout_url = None;
        (session.confirmation, session.confirmed_scope) = (None, None);
    }
    let edits = change.data.edits();
    set(&mut work, context, &mut session, cart, &edits, &change.session).await?;
    work.finish(session).await
}

/// Sets data of a cart whose completion was rejected, and of its session. It has no effect if the cart has no session, if a
/// person can pay, or if the session has ended.
pub(crate) async fn keep_data(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    cart: CartId,
    edits: &[Edit],
) -> Result<(), CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let cart = carts::lock(&mut work, merchant, cart, owner.key).await?;
    let found = table::find(work.sql(), merchant, None, Some(cart.id)).await?;
    let Some(mut session) = found else { return Ok(work.rollback().await?) };
    let is_open = matches!(session.is_escalated(work.now()), Ok(false));
    if !is_open || session.is_holding {
        return Ok(work.rollback().await?);
    }
    set(&mut work, context, &mut session, cart, edits, &NewSession::default()).await?;
    Ok(work.commit().await?)
}

/// Changes a session that holds no units, and its cart. Both are locked.
async fn set(
    work: &mut Work,
    context: &CheckoutContext<'_>,
    session: &mut Session,
    mut cart: Cart,
    edits: &[Edit],
    new: &NewSession,
) -> Result<(), CheckoutError> {
    let (merchant, now, before) = (context.merchant(), work.now(), session.version);
    carts::change_during_checkout(work, merchant, &mut cart, edits).await?;
    let revalidated = revalidate(work, context, cart).await?;
    revalidated.ensure_agent_checkout()?;
    let is_sandbox = session.owner.is_sandbox;
    context.ensure_method(&revalidated.settings, is_sandbox, new.payment_method)?;
    session.set(&revalidated, new);
    session.apply_readiness(revalidated.priced.quote.is_ready(), now)?;
    session.updated_at = now;
    table::update(work, merchant, session, before).await
}
