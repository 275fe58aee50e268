//! Money that arrives after the end: it places an order for review if the units are still available, and is recorded as a refund to
//! make otherwise. It is never ignored.

use carts::{CartError, CartStatus};
use database::{Database, Work, crash_point};
use merchants::NoticeKind;
use orders::OrderStatus;
use payments::{Charge, ChargeOutcome, FindingKind, NewFinding, Payment, PaymentTotals};
use primitives::MerchantId;
use serde_json::json;

use crate::event::{self, AgentEvent};
use crate::settle::{Means, PaidBy, new_order};
use crate::{CheckoutError, Session, Status, Transition, alarm, read, table};

/// Money that became known late.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LateMoney<'late> {
    /// The merchant reports a payment on its own page, with its reference.
    Reported(&'late str),
    /// A provider took it for an attempt that had ended.
    OfAttempt(&'late Payment, &'late Charge),
}

impl LateMoney<'_> {
    /// Records the money as the payment of a session. Returns `None` if it was recorded before.
    async fn record(
        self,
        work: &mut Work,
        merchant: MerchantId,
        session: &Session,
    ) -> Result<Option<(Payment, Charge, PaymentTotals)>, CheckoutError> {
        let (payment, charge, totals) = match self {
            Self::Reported(reference) => {
                let new = Means::OF_MERCHANT.attempt_of(session);
                let payment = payments::create(work, merchant, new).await?;
                let reference = reference.to_owned();
                let charge = Charge { reference, amount: payment.amount, fee: None };
                let outcome = ChargeOutcome::Paid(charge.clone());
                let totals = payments::record_outcome(work, &payment, &outcome).await?;
                (payment, charge, totals)
            }
            Self::OfAttempt(payment, charge) => {
                let totals = payments::record_late_charge(work, payment, charge, true).await?;
                (payment.clone(), charge.clone(), totals)
            }
        };
        Ok(totals.map(|totals| (payment, charge, totals)))
    }
}

/// Places the order of a session that holds no units any more, for review by the merchant. Returns the session unchanged, after which the
/// work has to be rolled back, if the units are no longer available, or the money was recorded before.
pub(crate) async fn place_late(
    work: &mut Work,
    merchant: MerchantId,
    mut session: Session,
    cart: &carts::Cart,
    money: LateMoney<'_>,
) -> Result<Result<Session, Session>, CheckoutError> {
    let now = work.now();
    let before = session.version;
    session.release_units(work, merchant).await?;
    match session.status(now) {
        Status::Expired if session.stored_status() != Status::Expired => {
            session.apply(Transition::Expire, now)?;
        }
        status if !status.is_final() => session.apply(Transition::Cancel, now)?,
        _ => {}
    }
    let (pool, units) = (session.owner.stock_pool(), session.units());
    if catalog::hold(work, merchant, pool, &units).await?.is_err() {
        return Ok(Err(session));
    }
    catalog::sell(work, merchant, pool, &units).await?;
    let Some((payment, charge, totals)) = money.record(work, merchant, &session).await? else {
        return Ok(Err(session));
    };
    let status = OrderStatus::ManualReview;
    let paid = PaidBy { payment: &payment, charge: &charge, totals, status };
    let order = new_order(work, merchant, &session, cart, paid).await?;
    orders::place(work, merchant, &session.terms.store.slug, &order).await?;
    session.order = Some(order.id);
    session.updated_at = now;
    table::update(work, merchant, &mut session, before).await?;
    for from in [CartStatus::CheckoutStarted, CartStatus::Expired, CartStatus::Canceled] {
        carts::set_status(work, merchant, session.cart, from, CartStatus::Converted).await?;
    }
    event::record(work, merchant, &session, AgentEvent::CheckoutComplete).await?;
    Ok(Ok(session))
}

/// Records money that a provider took for an attempt that has ended. Idempotent.
pub(crate) async fn settle_late(
    database: &Database,
    payment: &Payment,
    charge: &Charge,
) -> Result<(), CheckoutError> {
    if place_order(database, payment, charge).await? {
        return Ok(());
    }
    let merchant = payment.merchant;
    let mut work = Work::for_checkout(database, merchant).await?;
    if payments::record_late_charge(&mut work, payment, charge, false).await?.is_none() {
        return Ok(work.rollback().await?);
    }
    let finding = NewFinding {
        payment: payment.id,
        kind: FindingKind::PaidAfterEnd,
        expected: format!("no money, as the payment is {}", payment.status),
        found: format!("{} was paid, and no order can be placed", charge.reference),
    };
    let is_new = payments::open_finding(&mut work, merchant, &finding).await?;
    let details = json!({ "checkout_id": payment.checkout, "reference": charge.reference });
    merchants::post_notice(&mut work, merchant, NoticeKind::RefundDue, details).await?;
    crash_point("late.before_commit");
    work.commit().await?;
    alarm::raise(merchant, &finding, is_new);
    Ok(())
}

/// Places the order of late money, if the session has none, the terms are those that were paid, and the units are available.
async fn place_order(
    database: &Database,
    payment: &Payment,
    charge: &Charge,
) -> Result<bool, CheckoutError> {
    let merchant = payment.merchant;
    let mut work = Work::for_checkout(database, merchant).await?;
    let (session, cart) = match read::lock(&mut work, merchant, payment.checkout, None).await {
        Ok(found) => found,
        // They were purged.
        Err(CheckoutError::NotFound | CheckoutError::Cart(CartError::NotFound)) => {
            work.rollback().await?;
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    let is_unpaid =
        session.order.is_none() && session.stored_status() != Status::CompleteInProgress;
    let has_same_terms = payment.amount == session.total
        && payment.quote_hash.is_some_and(|hash| hash == *session.quote_hash.as_bytes());
    if is_unpaid && has_same_terms {
        let money = LateMoney::OfAttempt(payment, charge);
        if place_late(&mut work, merchant, session, &cart, money).await?.is_ok() {
            work.commit().await?;
            return Ok(true);
        }
    }
    work.rollback().await?;
    Ok(false)
}
