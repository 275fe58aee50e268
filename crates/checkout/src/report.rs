//! A verb: the merchant reports that a session was paid on its own page. Money that was taken is never ignored: a report that
//! comes late places an order for review if the units are still available, and is recorded as a refund to make otherwise.

use carts::{CartStatus, OpenPart, Terms};
use database::Work;
use merchants::NoticeKind;
use orders::OrderStatus;
use payments::ChargeOutcome;
use primitives::{CheckoutId, MerchantId, Money};
use serde_json::json;

use crate::event::{self, AgentEvent};
use crate::pay::{PaidBy, new_order, settle, start_payment};
use crate::{
    CheckoutContext, CheckoutError, Session, SessionSnapshot, Status, Transition, read, table,
};

/// The provider name of payments reported by the merchant.
const MERCHANT: &str = "merchant";

/// Reports of a session that are recorded; further ones are rejected all the same.
const REJECTED_MAX: i64 = 50;

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
        /// It was rejected, because another payment is pending; the merchant reports it again once that one has an outcome.
        PaymentPending,
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
    if session.stored_status() == Status::CompleteInProgress {
        work.rollback().await?;
        record(context, &session, report, ReportOutcome::PaymentPending).await?;
        return Err(CheckoutError::InvalidTransition { from: Status::CompleteInProgress });
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
        settle(&mut work, merchant, &payment, &outcome).await?.session
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
    insert(&mut work, merchant, &session, report, ReportOutcome::Accepted).await?;
    database::crash_point("report.before_commit");
    work.commit().await?;
    database::crash_point("report.committed");
    Ok(SessionSnapshot { session, now })
}

/// Records a rejected report in a work of its own. The merchant gets one notice of a payment to refund.
async fn record(
    context: &CheckoutContext<'_>,
    session: &Session,
    report: &PaymentReport,
    outcome: ReportOutcome,
) -> Result<(), CheckoutError> {
    let merchant = context.merchant();
    let mut work = context.work().await?;
    if table::count_reports(&mut work, merchant, session.id).await? >= REJECTED_MAX {
        return Ok(work.rollback().await?);
    }
    let is_new = insert(&mut work, merchant, session, report, outcome).await?;
    if is_new && outcome == ReportOutcome::RefundDue {
        let details =
            json!({ "checkout_id": session.id.to_string(), "reference": report.reference });
        merchants::post_notice(&mut work, merchant, NoticeKind::RefundDue, details).await?;
    }
    Ok(work.commit().await?)
}

/// Inserts a report and publishes `payment.reported`. Returns whether it is new.
async fn insert(
    work: &mut Work,
    merchant: MerchantId,
    session: &Session,
    report: &PaymentReport,
    outcome: ReportOutcome,
) -> Result<bool, CheckoutError> {
    let is_new = table::insert_report(work, merchant, session, report, outcome).await?;
    if is_new {
        event::publish(work, merchant, session, "payment.reported").await?;
    }
    Ok(is_new)
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

/// One amount of a report beside what the quote says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedPart {
    pub(crate) field: &'static str,
    pub(crate) reported: Money,
    /// `None` if the quote left the part open.
    pub(crate) expected_minor: Option<i64>,
}

/// Returns the amounts that a report states, beside those of the terms.
pub(crate) fn reported_parts(terms: &Terms, reported: &ReportedAmounts) -> Vec<ReportedPart> {
    let is_open = |part: OpenPart| terms.open.contains(&part);
    let discount: i64 = terms.discounts.iter().map(|(_, minor)| minor).sum();
    let shipping = terms.shipping.as_ref().map_or(0, |option| option.price_minor);
    let parts = [
        ("subtotal", reported.subtotal, Some(terms.subtotal_minor)),
        ("discount", reported.discount, Some(discount)),
        ("shipping", reported.shipping, (!is_open(OpenPart::Shipping)).then_some(shipping)),
        ("tax", reported.tax, (!is_open(OpenPart::Tax)).then_some(terms.tax_minor.unwrap_or(0))),
        ("total_amount", reported.total, terms.open.is_empty().then_some(terms.total_minor)),
    ];
    let stated = parts.into_iter().filter_map(|(field, reported, expected_minor)| {
        Some(ReportedPart { field, reported: reported?, expected_minor })
    });
    stated.collect()
}

/// Checks the reported amounts against the terms of a session, and sets those that were open.
fn apply_amounts(session: &mut Session, reported: &ReportedAmounts) -> Result<(), CheckoutError> {
    let terms = &session.terms;
    let money = |minor: i64| Money::new(minor, terms.currency);
    let is_open = |part: OpenPart| terms.open.contains(&part);
    for ReportedPart { field, reported, expected_minor } in reported_parts(terms, reported) {
        if reported.minor() < 0 {
            return Err(CheckoutError::AmountMismatch { field, expected: money(0) });
        }
        let expected = money(expected_minor.unwrap_or(reported.minor()));
        if reported != expected {
            return Err(CheckoutError::AmountMismatch { field, expected });
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
