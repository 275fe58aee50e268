//! A verb: a person enters address, buyer and shipping option on the hosted page, which makes an open quote final.

use carts::Delivery;
use primitives::CheckoutId;
use subtle::ConstantTimeEq;

use crate::revalidate::revalidate_completed;
use crate::session::NewSession;
use crate::{CheckoutContext, CheckoutError, SessionSnapshot, Status, read, table};

/// Sets where the items of a session are delivered. Its terms become final, and the person sees them before paying. The units
/// stay held. Returns `CsrfRejected` unless the form token is the session's.
pub async fn deliver(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    form_token: &[u8],
    delivery: Delivery,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, mut cart) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    let status = session.status(now);
    let is_payable = matches!(status, Status::RequiresEscalation | Status::ReadyForComplete);
    if !is_payable || !session.is_holding {
        return Err(CheckoutError::InvalidTransition { from: status });
    }
    let before = session.version;
    // Its own units count as available while it is revalidated.
    session.release_units(&mut work, merchant).await?;
    carts::set_delivery(&mut work, merchant, &mut cart, delivery).await?;
    let revalidated = revalidate_completed(&mut work, context, cart).await?;
    context.ensure_hosted(&session)?;
    // As for paying: the trust score for agent checkout is required when a checkout starts.
    revalidated.store.admit()?;
    revalidated.ensure_ready()?;
    session.set(&revalidated, &NewSession::default());
    session.is_holding = true;
    session.updated_at = now;
    table::update(&mut work, merchant, &mut session, before).await?;
    let (pool, units) = (session.owner.stock_pool(), session.units());
    if let Err(index) = catalog::hold(&mut work, merchant, pool, &units).await? {
        work.rollback().await?;
        return Err(CheckoutError::ReservedElsewhere { index });
    }
    work.commit().await?;
    Ok(SessionSnapshot { session, now })
}
