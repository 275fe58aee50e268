//! A verb: paying on the hosted page. The payment is started in one work, the provider is called outside of any, and the
//! outcome is settled in another. A process that dies in between leaves a pending payment, which `ReconcilePayments` settles.

use carts::{CartStatus, QuoteHash};
use database::{Work, crash_point};
use orders::{Order, OrderStatus, PaymentStatus};
use payments::{ChargeOutcome, Payment};
use primitives::{CheckoutId, MerchantId, OrderId};
use subtle::ConstantTimeEq;

use crate::event::{self, AgentEvent};
use crate::{
    CheckoutContext, CheckoutError, ConfirmationProof, Session, SessionSnapshot, Status,
    Transition, Visitor, confirmation, read, table,
};

/// What a person submits to pay.
#[derive(Debug, Clone)]
pub struct PayRequest<'form> {
    /// A token of the provider.
    pub instrument: &'form str,
    pub form_token: &'form [u8],
    /// The hash of the terms on the page.
    pub quote_hash: QuoteHash,
    pub visitor: Visitor,
}

/// The result of a call of [`pay`].
#[derive(Debug, Clone)]
pub struct PayResult {
    pub snapshot: SessionSnapshot,
    /// The order that this call placed. `None` if the payment was declined or is not known yet, and if another call, or
    /// reconciliation, recorded its outcome: the session then names the order, and this caller did not pay it.
    pub placed: Option<OrderId>,
}

/// Pays for a session with the instrument chosen by the person. Exactly the terms that the page showed are charged, and
/// paying confirms them. A session that is paid already is returned as it is. Returns `CsrfRejected` unless the form token is the session's, and `QuoteChanged` if its terms are
/// not the ones that were shown.
pub async fn pay(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    request: PayRequest<'_>,
) -> Result<PayResult, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, _) = read::lock(&mut work, merchant, id, None).await?;
    if !bool::from(session.form_token.as_slice().ct_eq(request.form_token)) {
        return Err(CheckoutError::CsrfRejected);
    }
    if session.stored_status() == Status::Completed {
        return Ok(PayResult { snapshot: SessionSnapshot { session, now }, placed: None });
    }
    if !session.is_holding {
        return Err(CheckoutError::InvalidTransition { from: session.status(now) });
    }
    let store = merchants::store_now(&mut work, merchant).await?;
    context.ensure_hosted(&session)?;
    if request.quote_hash != session.quote_hash {
        return Err(CheckoutError::QuoteChanged { current: session.quote_hash });
    }
    if session.needs_address() {
        let missing = vec!["destination"];
        return Err(CheckoutError::NotReady { missing, messages: Vec::new() });
    }
    // Nothing new is paid at a store that was closed to agents in the meantime.
    store.admit()?;
    let provider = context.gateway.provider.as_ref();
    let (name, instrument) = (provider.name(), request.instrument);
    let proof =
        confirmation::record_payment(&mut work, merchant, &session, request.visitor).await?;
    session.confirmation = Some(proof);
    session.confirmed_scope = Some(session.terms.scope());
    let payment = start_payment(&mut work, merchant, &mut session, name, instrument).await?;
    crash_point("pay.before_commit");
    work.commit().await?;
    crash_point("pay.started");
    let outcome = provider.charge(&payment.charge_request()).await;
    crash_point("pay.charged");
    match outcome {
        Ok(outcome) => {
            let mut work = context.work().await?;
            let Settled { session, is_recorded } =
                settle(&mut work, merchant, &payment, &outcome).await?;
            crash_point("pay.settled");
            let now = work.now();
            work.commit().await?;
            crash_point("pay.committed");
            let placed = session.order.filter(|_| is_recorded);
            Ok(PayResult { snapshot: SessionSnapshot { session, now }, placed })
        }
        Err(unavailable) => {
            // The charge may have succeeded; reconciliation finds out.
            let payment = payment.id;
            tracing::warn!(
                %merchant, %payment, cause = %unavailable,
                "the payment provider returned no outcome; the payment stays pending until it is reconciled"
            );
            Ok(PayResult { snapshot: SessionSnapshot { session, now }, placed: None })
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

/// A session after the outcome of its payment was recorded.
pub(crate) struct Settled {
    pub(crate) session: Session,
    /// Whether this call recorded the outcome; `false` if it was recorded before.
    pub(crate) is_recorded: bool,
}

/// Records the outcome of a payment: places the order, or lets the person pay again. Idempotent.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    payment: &Payment,
    outcome: &ChargeOutcome,
) -> Result<Settled, CheckoutError> {
    let now = work.now();
    let (mut session, cart) = read::lock(work, merchant, payment.checkout, None).await?;
    if !payments::record_outcome(work, merchant, payment.id, outcome).await? {
        return Ok(Settled { session, is_recorded: false });
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
            let paid =
                PaidBy { provider: &payment.provider, reference, status: OrderStatus::Pending };
            let order = new_order(work, merchant, &session, &cart, paid).await?;
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
    Ok(Settled { session, is_recorded: true })
}

/// The payment of an order, and the status in which the order starts.
pub(crate) struct PaidBy<'payment> {
    pub(crate) provider: &'payment str,
    pub(crate) reference: &'payment str,
    pub(crate) status: OrderStatus,
}

/// Returns the order of a paid session.
pub(crate) async fn new_order(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    cart: &carts::Cart,
    paid: PaidBy<'_>,
) -> Result<Order, CheckoutError> {
    let now = work.now();
    let proof = session.confirmation.unwrap_or(ConfirmationProof::ATTESTED);
    let confirmation = match proof.confirmation {
        Some(id) => table::confirmation(work.sql(), merchant, id).await?,
        None => None,
    };
    Ok(Order {
        id: work.new_id(),
        checkout: session.id,
        cart: session.cart,
        agent: session.owner.key,
        agent_name: session.owner.name.clone(),
        is_sandbox: session.owner.is_sandbox,
        status: paid.status,
        payment_provider: paid.provider.to_owned(),
        payment_reference: paid.reference.to_owned(),
        total: session.total,
        shipping_minor: session.amounts.shipping_minor,
        tax_minor: session.amounts.tax_minor,
        lines: session.lines.clone(),
        terms: serde_json::to_value(&session.terms).unwrap_or_default(),
        quote_hash: *session.quote_hash.as_bytes(),
        confirmation: proof.level,
        confirmation_id: proof.confirmation,
        same_address: confirmation.and_then(|it| it.same_address()),
        buyer: cart.buyer.as_ref().and_then(|buyer| serde_json::to_value(buyer).ok()),
        version: 1,
        payment: PaymentStatus::Paid,
        refunded_minor: 0,
        promised_by: None,
        delivered_at: None,
        returnable_until: None,
        destination: None,
        note: None,
        created_at: now,
        updated_at: now,
    })
}
