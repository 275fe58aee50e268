//! A verb: canceling a session, and the end of a session without an order. The units are released and `checkout.abandoned` is
//! published once.

use carts::{CartOwner, CartStatus};
use database::{Database, Work};
use jobs::IdempotencyKey;
use merchants::Administration;
use primitives::{CheckoutId, MerchantId};
use webhooks::{CheckoutAbandoned, WebhookEvent};

use crate::idempotency::{self, Claim};
use crate::{
    CheckoutContext, CheckoutError, ReasonCode, Session, SessionSnapshot, Status, Transition, read,
    table,
};

/// The reason code of sessions that the merchant released.
const RELEASED: &str = "released_by_merchant";
/// The reason code of sessions that an operator released.
const RELEASED_BY_OPERATOR: &str = "released_by_operator";

/// Cancels a session. Idempotent, with and without an idempotency key.
pub async fn cancel(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    id: CheckoutId,
    reason_code: Option<&ReasonCode>,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = match idempotency::claim(context, idempotency_key).await? {
        Claim::Fresh(work) => work,
        Claim::Replay(snapshot) => return Ok(*snapshot),
    };
    let (mut session, _) = read::lock(&mut work, merchant, id, Some(owner.key)).await?;
    if session.stored_status() != Status::Canceled {
        session.reason_code = reason_code.map(|code| code.as_str().to_owned());
        end(&mut work, merchant, &mut session, Transition::Cancel).await?;
    }
    work.finish(session).await
}

/// Cancels a session for the merchant, who needs its units. Idempotent. A session that is being paid, or was paid, cannot be
/// released.
pub async fn release(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
) -> Result<SessionSnapshot, CheckoutError> {
    let mut work = context.work().await?;
    let (snapshot, _) = release_in(&mut work, context.merchant(), id, RELEASED).await?;
    work.commit().await?;
    Ok(snapshot)
}

/// Cancels a session for an operator, as [`release`] does for the merchant, with an audit entry and a notice to the merchant. The
/// audit log belongs to the platform, and so does the transaction.
pub async fn release_by_operator(
    database: &Database,
    by: Administration<'_>,
    id: CheckoutId,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = read::merchant_of(database, id).await?;
    let mut work = Work::for_platform(database).await?;
    let released = release_in(&mut work, merchant, id, RELEASED_BY_OPERATOR).await?;
    let (snapshot, is_released) = released;
    if is_released {
        merchants::record_release(&mut work, by, merchant, id).await?;
    }
    work.commit().await?;
    Ok(snapshot)
}

/// Cancels a session with this reason code. Returns it, and `false` if it was canceled before.
async fn release_in(
    work: &mut Work,
    merchant: MerchantId,
    id: CheckoutId,
    reason_code: &str,
) -> Result<(SessionSnapshot, bool), CheckoutError> {
    let now = work.now();
    let (mut session, _) = read::lock(work, merchant, id, None).await?;
    let is_released = session.stored_status() != Status::Canceled;
    if is_released {
        session.reason_code = Some(reason_code.to_owned());
        end(work, merchant, &mut session, Transition::Cancel).await?;
    }
    Ok((SessionSnapshot { session, now }, is_released))
}

/// Ends a locked session without an order: releases its units, closes its cart and publishes `checkout.abandoned`.
pub(crate) async fn end(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    transition: Transition,
) -> Result<(), CheckoutError> {
    let (now, before, stage) = (work.now(), session.version, session.stored_status());
    let last_activity_at = session.updated_at;
    session.apply(transition, now)?;
    session.release_units(work, merchant).await?;
    table::update(work, merchant, session, before).await?;
    let is_canceled = transition == Transition::Cancel;
    let to = if is_canceled { CartStatus::Canceled } else { CartStatus::Expired };
    carts::set_status(work, merchant, session.cart, CartStatus::CheckoutStarted, to).await?;
    if session.owner.is_sandbox {
        return Ok(());
    }
    let settings = merchants::settings_now(work, merchant).await?;
    let items = session.lines.iter().map(|line| (line.sku.as_str(), line.quantity));
    let recovery_url = carts::storefront_link(&settings, items);
    let currency = session.total.currency();
    let event = WebhookEvent::CheckoutAbandoned(CheckoutAbandoned {
        checkout: session.id,
        cart: session.cart,
        slug: session.terms.store.slug.clone(),
        total: session.total,
        status: session.stored_status().as_str(),
        stage: stage.as_str(),
        items: session.lines.iter().map(|line| line.line_item(currency)).collect(),
        started_at: session.started_at,
        last_activity_at,
        reason_code: session.reason_code.clone(),
        recovery_url,
    });
    webhooks::publish(work, merchant, &event).await?;
    Ok(())
}
