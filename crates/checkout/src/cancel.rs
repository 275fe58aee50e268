//! A verb: canceling a session, and the end of a session without an order. The units are released and `checkout.abandoned` is
//! published once.

use carts::{CartOwner, CartStatus};
use database::Work;
use primitives::{CheckoutId, MerchantId, Money};
use webhooks::{AbandonedItem, CheckoutAbandoned, WebhookEvent};

use crate::{
    CheckoutContext, CheckoutError, ReasonCode, Session, SessionSnapshot, Status, Transition, read,
    table,
};

/// Cancels a session. Idempotent.
pub async fn cancel(
    context: &CheckoutContext<'_>,
    owner: &CartOwner,
    id: CheckoutId,
    reason_code: Option<&ReasonCode>,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, _) = read::lock(&mut work, merchant, id, Some(owner.key)).await?;
    if session.stored_status() == Status::Canceled {
        return Ok(SessionSnapshot { session, now });
    }
    session.reason_code = reason_code.map(|code| code.as_str().to_owned());
    end(&mut work, merchant, &mut session, Transition::Cancel).await?;
    work.commit().await?;
    Ok(SessionSnapshot { session, now })
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
    let item = |line: &orders::OrderLine| AbandonedItem {
        product_id: line.product,
        quantity: line.quantity,
        unit_price: Money::new(line.unit_minor, currency).to_decimal(),
    };
    let event = WebhookEvent::CheckoutAbandoned(CheckoutAbandoned {
        checkout: session.id,
        cart: session.cart,
        slug: session.terms.store.slug.clone(),
        total: session.total,
        status: session.stored_status().as_str(),
        stage: stage.as_str(),
        items: session.lines.iter().map(item).collect(),
        started_at: session.started_at,
        last_activity_at,
        reason_code: session.reason_code.clone(),
        recovery_url,
    });
    webhooks::publish(work, merchant, &event).await?;
    Ok(())
}
