//! A verb: paying on the hosted page. The payment is started in one work, the provider is called outside of any, and the
//! outcome is settled in another. A process that dies in between leaves a pending payment, which `ReconcilePayments` settles.

use carts::CartStatus;
use database::{Work, crash_point};
use orders::{Order, OrderStatus};
use payments::{ChargeOutcome, Payment};
use primitives::{CheckoutId, MerchantId};
use subtle::ConstantTimeEq;

use crate::event::{self, AgentEvent};
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, PaymentGateway, Session, SessionSnapshot,
    Status, Transition, read, table,
};

/// Pays for a session with the instrument chosen by the person. Returns `CsrfRejected` unless the form token is the
/// session's.
pub async fn pay(
    context: &CheckoutContext<'_>,
    gateway: &PaymentGateway,
    id: CheckoutId,
    instrument: &str,
    form_token: &[u8],
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, _) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    if session.stored_status() == Status::Completed {
        return Ok(SessionSnapshot { session, now });
    }
    if !gateway.accepts(&session) {
        return Err(CheckoutError::PaymentNotAccepted);
    }
    let provider = gateway.provider.as_ref();
    let payment =
        start_payment(&mut work, merchant, &mut session, provider.name(), instrument).await?;
    crash_point("pay.before_commit");
    work.commit().await?;
    crash_point("pay.started");
    let outcome = provider.charge(&payment.charge_request()).await;
    crash_point("pay.charged");
    match outcome {
        Ok(outcome) => {
            let mut work = context.work().await?;
            let session = settle(&mut work, merchant, &payment, &outcome).await?;
            crash_point("pay.settled");
            let now = work.now();
            work.commit().await?;
            crash_point("pay.committed");
            Ok(SessionSnapshot { session, now })
        }
        Err(unavailable) => {
            // The charge may have succeeded; reconciliation finds out.
            let payment = payment.id;
            tracing::warn!(
                %merchant, checkout = %id, %payment, cause = %unavailable,
                "the payment provider returned no outcome; the payment stays pending until it is reconciled"
            );
            Ok(SessionSnapshot { session, now })
        }
    }
}

/// Applies `StartPayment` to a locked session and creates its payment. Only a session whose units are held can be paid.
pub(crate) async fn start_payment(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    provider: &str,
    instrument: &str,
) -> Result<Payment, CheckoutError> {
    let (now, before) = (work.now(), session.version);
    if !session.is_holding {
        return Err(CheckoutError::InvalidTransition { from: session.status(now) });
    }
    session.apply(Transition::StartPayment, now)?;
    let (id, amount) = (session.id, session.total);
    let payment = payments::create(work, merchant, id, provider, instrument, amount).await?;
    table::update(work, merchant, session, before).await?;
    Ok(payment)
}

/// Records the outcome of a payment: places the order, or lets the person pay again. Idempotent.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    payment: &Payment,
    outcome: &ChargeOutcome,
) -> Result<Session, CheckoutError> {
    let now = work.now();
    let (mut session, cart) = read::lock(work, merchant, payment.checkout, None).await?;
    if !payments::record_outcome(work, merchant, payment.id, outcome).await? {
        return Ok(session);
    }
    let before = session.version;
    match outcome {
        ChargeOutcome::Declined => {
            session.apply(Transition::DeclinePayment, now)?;
            session.is_payment_failed = true;
            table::update(work, merchant, &mut session, before).await?;
        }
        ChargeOutcome::Paid { reference } => {
            session.apply(Transition::SettlePayment, now)?;
            let order = new_order(work, &session, &cart, &payment.provider, reference);
            orders::place(work, merchant, &session.terms.store.slug, &order).await?;
            crash_point("pay.order_placed");
            let units = session.units();
            catalog::sell(work, merchant, session.owner.stock_pool(), &units).await?;
            crash_point("pay.units_sold");
            (session.is_holding, session.is_payment_failed) = (false, false);
            session.order = Some(order.id);
            table::update(work, merchant, &mut session, before).await?;
            let (from, to) = (CartStatus::CheckoutStarted, CartStatus::Converted);
            carts::set_status(work, merchant, session.cart, from, to).await?;
            event::record(work, merchant, &session, AgentEvent::CheckoutComplete).await?;
        }
    }
    Ok(session)
}

/// Returns the order of a paid session.
fn new_order(
    work: &mut Work,
    session: &Session,
    cart: &carts::Cart,
    provider: &str,
    reference: &str,
) -> Order {
    let now = work.now();
    let proof = session.confirmation.unwrap_or(ConfirmationProof::ATTESTED);
    Order {
        id: work.new_id(),
        checkout: session.id,
        cart: session.cart,
        agent: session.owner.key,
        agent_name: session.owner.name.clone(),
        is_sandbox: session.owner.is_sandbox,
        status: OrderStatus::Pending,
        payment_provider: provider.to_owned(),
        payment_reference: reference.to_owned(),
        total: session.total,
        lines: session.lines.clone(),
        terms: serde_json::to_value(&session.terms).unwrap_or_default(),
        quote_hash: *session.quote_hash.as_bytes(),
        confirmation: proof.level,
        confirmation_id: proof.confirmation,
        buyer: cart.buyer.as_ref().and_then(|buyer| serde_json::to_value(buyer).ok()),
        created_at: now,
        updated_at: now,
    }
}
