//! A verb: the merchant reports that a session was paid on its own page. Money that was taken is never ignored: a report that
//! comes late places an order for review if the units are still available, and is recorded as a refund to make otherwise.

use carts::{CartStatus, OpenPart};
use database::Work;
use orders::OrderStatus;
use payments::ChargeOutcome;
use primitives::{CheckoutId, MerchantId, Money};

use crate::event::{self, AgentEvent};
use crate::pay::{PaidBy, new_order, settle, start_payment};
use crate::{
    CheckoutContext, CheckoutError, Session, SessionSnapshot, Status, Transition, read, table,
};

/// The provider name of payments reported by the merchant.
const MERCHANT: &str = "merchant";

/// A payment reported by the merchant.
#[derive(Debug, Clone, Default)]
pub struct PaymentReport {
    /// The merchant's own id of the payment or order.
    pub reference: String,
    pub amounts: ReportedAmounts,
}

/// The amounts of a report, as far as the merchant states them. What the quote left open is recorded; the rest must equal
/// the quote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReportedAmounts {
    /// All lines, before discounts.
    pub subtotal: Option<Money>,
    pub discount: Option<Money>,
    pub shipping: Option<Money>,
    pub tax: Option<Money>,
    pub total: Option<Money>,
}

primitives::text_enum! {
    /// What became of a report.
    #[strum(serialize_all = "snake_case")]
    pub(crate) enum ReportOutcome {
        /// It placed an order.
        Accepted,
        /// It was rejected, because its amounts are not those of the quote.
        AmountMismatch,
        /// It came too late for the units: the merchant has to refund the payment.
        RefundDue,
    }
}

/// Records that a session was paid and places its order. Reporting the same payment again has no effect.
pub async fn report_paid(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
    report: &PaymentReport,
) -> Result<SessionSnapshot, CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    let now = work.now();
    let (mut session, cart) = read::lock(&mut work, merchant, id, None).await?;
    if session.order.is_some() {
        let paid = payments::find_paid(&mut work, merchant, id).await?;
        let is_same = paid.is_some_and(|it| it.reference.as_ref() == Some(&report.reference));
        if is_same {
            return Ok(SessionSnapshot { session, now });
        }
        // The buyer paid twice.
        work.rollback().await?;
        record(context, &session, report, ReportOutcome::RefundDue).await?;
        return Err(CheckoutError::AlreadyPaid { checkout: id });
    }
    if let Err(error) = apply_amounts(&mut session, &report.amounts) {
        work.rollback().await?;
        record(context, &session, report, ReportOutcome::AmountMismatch).await?;
        return Err(error);
    }
    // A session that ended, or whose units were released, holds nothing to sell.
    let session = if session.is_holding && session.status(now) != Status::Expired {
        let name = "own page";
        let payment = start_payment(&mut work, merchant, &mut session, MERCHANT, name).await?;
        let outcome = ChargeOutcome::Paid { reference: report.reference.clone() };
        settle(&mut work, merchant, &payment, &outcome).await?
    } else {
        match place_late(&mut work, merchant, session, &cart, report).await? {
            Ok(session) => session,
            Err(session) => {
                work.rollback().await?;
                record(context, &session, report, ReportOutcome::RefundDue).await?;
                return Err(CheckoutError::RefundDue { checkout: id });
            }
        }
    };
    table::insert_report(&mut work, merchant, &session, report, ReportOutcome::Accepted).await?;
    database::crash_point("report.before_commit");
    work.commit().await?;
    database::crash_point("report.committed");
    Ok(SessionSnapshot { session, now })
}

/// Records a rejected report in a work of its own.
async fn record(
    context: &CheckoutContext<'_>,
    session: &Session,
    report: &PaymentReport,
    outcome: ReportOutcome,
) -> Result<(), CheckoutError> {
    let mut work = context.work().await?;
    table::insert_report(&mut work, context.merchant(), session, report, outcome).await?;
    Ok(work.commit().await?)
}

/// Places the order of a session that holds no units any more, for review by the merchant. Returns the session unchanged if
/// the units are no longer available.
async fn place_late(
    work: &mut Work,
    merchant: MerchantId,
    mut session: Session,
    cart: &carts::Cart,
    report: &PaymentReport,
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
    let (id, amount) = (session.id, session.total);
    let payment = payments::create(work, merchant, id, MERCHANT, "own page", amount).await?;
    let outcome = ChargeOutcome::Paid { reference: report.reference.clone() };
    payments::record_outcome(work, merchant, payment.id, &outcome).await?;
    let status = OrderStatus::ManualReview;
    let paid = PaidBy { provider: MERCHANT, reference: &report.reference, status };
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

/// Checks the reported amounts against the terms of a session, and sets those that were open.
fn apply_amounts(session: &mut Session, reported: &ReportedAmounts) -> Result<(), CheckoutError> {
    let terms = &session.terms;
    let money = |minor: i64| Money::new(minor, terms.currency);
    let is_open = |part: OpenPart| terms.open.contains(&part);
    let discount: i64 = terms.discounts.iter().map(|(_, minor)| minor).sum();
    let shipping = terms.shipping.as_ref().map_or(0, |option| option.price_minor);
    let known = [
        ("subtotal", reported.subtotal, Some(terms.subtotal_minor)),
        ("discount", reported.discount, Some(discount)),
        ("shipping", reported.shipping, (!is_open(OpenPart::Shipping)).then_some(shipping)),
        ("tax", reported.tax, (!is_open(OpenPart::Tax)).then_some(terms.tax_minor.unwrap_or(0))),
        ("total_amount", reported.total, terms.open.is_empty().then_some(terms.total_minor)),
    ];
    for (field, amount, expected) in known {
        let Some(amount) = amount else { continue };
        if amount.minor() < 0 {
            return Err(CheckoutError::AmountMismatch { field, expected: money(0) });
        }
        let expected = expected.map_or(amount, money);
        if amount != expected || amount.currency() != terms.currency {
            return Err(CheckoutError::AmountMismatch { field, expected: money(expected.minor()) });
        }
    }
    if terms.open.is_empty() {
        return Ok(());
    }
    let open = [
        reported.shipping.filter(|_| is_open(OpenPart::Shipping)),
        reported.tax.filter(|_| is_open(OpenPart::Tax)),
    ];
    let stated = open.iter().flatten().fold(0_i64, |sum, it| sum.saturating_add(it.minor()));
    let least = money(terms.total_minor.saturating_add(stated));
    // Without a stated total, the order has the part that is known.
    let total = reported.total.unwrap_or(least);
    let states_all = (reported.shipping.is_some() || !is_open(OpenPart::Shipping))
        && (reported.tax.is_some() || !is_open(OpenPart::Tax));
    if total.minor() < least.minor() || (states_all && total != least) {
        return Err(CheckoutError::AmountMismatch { field: "total_amount", expected: least });
    }
    if is_open(OpenPart::Shipping) {
        session.amounts.shipping_minor = reported.shipping.map(Money::minor);
    }
    if is_open(OpenPart::Tax) {
        session.amounts.tax_minor = reported.tax.map(Money::minor);
        session.amounts.tax_included_minor = 0;
    }
    session.total = total;
    Ok(())
}
