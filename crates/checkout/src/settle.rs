//! Settling a payment: its outcome is recorded, and the order is placed, or the person can pay again.

use carts::CartStatus;
use database::{Work, crash_point};
use orders::{Order, OrderStatus, PaymentStatus};
use payments::{
    Charge, ChargeOutcome, FindingKind, NewPayment, Payment, PaymentTotals, ProviderName,
};
use primitives::{MerchantId, PaymentAccountId};

use crate::event::{self, AgentEvent};
use crate::{CheckoutError, ConfirmationProof, Session, Transition, read, table};

/// Findings that no longer apply once a payment has an outcome.
const CLOSED_BY_OUTCOME: &[FindingKind] = &[
    FindingKind::UnknownProvider,
    FindingKind::AmountMismatch,
    FindingKind::ReferenceTaken,
    FindingKind::Unresolved,
];

/// A payment to start: through which provider, and whether that moves real money.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means<'start> {
    pub(crate) provider: ProviderName,
    /// The account of the store at the provider.
    pub(crate) account: Option<PaymentAccountId>,
    pub(crate) is_live: bool,
    /// A token of the provider.
    pub(crate) instrument: &'start str,
}

impl Means<'_> {
    /// The page of the merchant, who reports the payment.
    pub(crate) const OF_MERCHANT: Self = Self {
        provider: ProviderName::Merchant,
        account: None,
        is_live: true,
        instrument: "own page",
    };

    /// Returns the attempt of a session. Sandboxes move no real money.
    pub(crate) fn attempt_of(&self, session: &Session) -> NewPayment<'_> {
        NewPayment {
            checkout: session.id,
            provider: self.provider,
            account: self.account,
            instrument: self.instrument,
            amount: session.total,
            quote_hash: Some(*session.quote_hash.as_bytes()),
            is_live: self.is_live && !session.owner.is_sandbox,
            expires_at: session.expires_at,
        }
    }
}

/// Applies `StartPayment` to a locked session and creates its payment. Only a session whose units are held can be paid.
pub(crate) async fn start_payment(
    work: &mut Work,
    merchant: MerchantId,
    session: &mut Session,
    means: Means<'_>,
) -> Result<Payment, CheckoutError> {
    let (now, before) = (work.now(), session.version);
    if !session.is_holding {
        return Err(CheckoutError::InvalidTransition { from: session.status(now) });
    }
    session.apply(Transition::StartPayment, now)?;
    let payment = payments::create(work, merchant, means.attempt_of(session)).await?;
    table::update(work, merchant, session, before).await?;
    Ok(payment)
}

/// A session after the outcome of its payment was recorded.
pub(crate) struct Settled {
    pub(crate) session: Session,
    /// Whether this call recorded the outcome; `false` if it was recorded before.
    pub(crate) is_recorded: bool,
}

/// Records the outcome of a payment: places the order, or lets the person pay again. Idempotent. Returns `AmountMismatch`, after
/// which the work can only be rolled back, if another amount was paid than the payment asked for.
pub(crate) async fn settle(
    work: &mut Work,
    merchant: MerchantId,
    payment: &Payment,
    outcome: &ChargeOutcome,
) -> Result<Settled, CheckoutError> {
    let now = work.now();
    let (mut session, cart) = read::lock(work, merchant, payment.checkout, None).await?;
    let Some(totals) = payments::record_outcome(work, payment, outcome).await? else {
        return Ok(Settled { session, is_recorded: false });
    };
    payments::close_findings(work, merchant, payment.id, CLOSED_BY_OUTCOME).await?;
    let before = session.version;
    match outcome {
        ChargeOutcome::Declined | ChargeOutcome::Ended => {
            session.apply(Transition::DeclinePayment, now)?;
            session.is_payment_failed = *outcome == ChargeOutcome::Declined;
            table::update(work, merchant, &mut session, before).await?;
        }
        ChargeOutcome::Paid(charge) => {
            session.apply(Transition::SettlePayment, now)?;
            let paid = PaidBy { payment, charge, totals, status: OrderStatus::Pending };
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
    pub(crate) payment: &'payment Payment,
    pub(crate) charge: &'payment Charge,
    /// What the ledger has of the payment.
    pub(crate) totals: PaymentTotals,
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
        payment_provider: paid.payment.provider.as_str().to_owned(),
        payment_reference: paid.charge.reference.clone(),
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
        payment: payment_status(paid.payment, paid.totals),
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

/// Returns the status of the payment of an order, as far as it follows from the ledger. Refunds are those that the order counts. Where
/// no real money moves, there is no ledger.
pub(crate) fn payment_status(payment: &Payment, totals: PaymentTotals) -> PaymentStatus {
    if !payment.is_live || payment.amount.minor() == 0 {
        return PaymentStatus::Paid;
    }
    match totals {
        PaymentTotals { charged_minor: 0, .. } => PaymentStatus::Unpaid,
        PaymentTotals { reversed_minor: 1.., .. } => PaymentStatus::Disputed,
        _ => PaymentStatus::Paid,
    }
}
