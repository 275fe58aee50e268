//! A verb: creating a checkout session. No stock is held yet.

use carts::CartOwner;
use jobs::IdempotencyKey;
use primitives::CartId;

use crate::idempotency::{self, Claim};
use crate::revalidate::revalidate;
use crate::session::{self, NewSession};
use crate::{CheckoutContext, CheckoutError, Session, SessionSnapshot, table};

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
    if let Some(existing) = table::find(work.sql(), merchant, None, Some(cart.id)).await? {
        return work.finish(existing).await;
    }
    cart.ensure_open(now, None)?;
    let revalidated = revalidate(&mut work, context, cart).await?;
    revalidated.ensure_agent_checkout()?;
    context.ensure_method(&revalidated.settings, owner.is_sandbox, new.payment_method)?;
    let mut session = Session::new(&mut work, &revalidated, new);
    session.apply_readiness(revalidated.priced.quote.is_ready(), now)?;
    session::insert(&mut work, merchant, &session).await?;
    work.finish(session).await
}
