//! A verb: recording a refund, which the merchant made.

use primitives::{Money, OrderId};
use serde_json::json;
use webhooks::{OrderChange, RefundPayload};

use crate::change::{Change, Changed, Opened};
use crate::free_text::{NOTE, REFERENCE};
use crate::money::{checked_minor, exceeded, refund_amount, refundable_minor};
use crate::{
    HistoryKind, Order, OrderContext, OrderError, OrderStatus, Refund, RefundReason, free_text,
    table,
};

/// The name of the amount in the request.
const AMOUNT: &str = "amount";

/// A refund to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRefund {
    /// `None`: everything that is left of the payment.
    pub amount: Option<Money>,
    pub reason: RefundReason,
    /// Merchant text for the buyer.
    pub note: Option<String>,
    /// The merchant's own reference. A refund with a known reference and the same amount is not recorded again.
    pub reference: Option<String>,
}

/// Records a refund and publishes `order.refunded`. All refunds of an order never exceed its total.
pub async fn refund(
    context: &OrderContext<'_>,
    id: OrderId,
    version: Option<i32>,
    refund: NewRefund,
) -> Result<Changed, OrderError> {
    context.actor.kind.check_merchant_side()?;
    let note = free_text::paragraphs("note", refund.note.as_deref(), NOTE)?;
    let reference = free_text::one_line("reference", refund.reference.as_deref(), REFERENCE)?;
    let mut change = match Change::open(context, id, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    // Also if the reference is known.
    if let Some(amount) = refund.amount {
        checked_minor(&change.order, AMOUNT, amount, 1)?;
    }
    if let Some(reference) = &reference
        && let Some(earlier) = find_reference(&mut change, reference).await?
    {
        check_repeated(&change.order, &earlier, refund.amount)?;
        return change.finish(Some(earlier.id.to_string())).await;
    }
    let exceeded = exceeded(&change.order, AMOUNT);
    let refund = Refund {
        id: change.work.new_id(),
        return_id: None,
        amount_minor: amount_minor(&change.order, refund.amount)?,
        reason: refund.reason,
        note,
        reference,
        created_at: change.now(),
    };
    record_refund(&mut change, &refund).await?;
    within_total(change.finish(Some(refund.id.to_string())).await, exceeded)
}

/// Returns the amount of a refund in minor units, or the rule that it violates.
fn amount_minor(order: &Order, amount: Option<Money>) -> Result<i64, OrderError> {
    if order.status == OrderStatus::Failed {
        return Err(OrderError::InvalidTransition { from: order.status });
    }
    match amount {
        Some(amount) => refund_amount(order, AMOUNT, amount),
        None => match refundable_minor(order) {
            0 => Err(exceeded(order, AMOUNT)),
            left_minor => Ok(left_minor),
        },
    }
}

/// Returns the refund of the order with this reference.
pub(crate) async fn find_reference(
    change: &mut Change<'_>,
    reference: &str,
) -> Result<Option<Refund>, OrderError> {
    let merchant = change.context.merchant;
    let details = table::details(change.work.sql(), merchant, change.order.clone()).await?;
    let is_same = |refund: &Refund| refund.reference.as_deref() == Some(reference);
    Ok(details.refunds.into_iter().find(is_same))
}

/// Checks that a refund with a known reference is the same one. A refund of everything that was left is the same if
/// nothing is left.
fn check_repeated(
    order: &Order,
    earlier: &Refund,
    amount: Option<Money>,
) -> Result<(), OrderError> {
    let is_same = match amount {
        Some(amount) => amount == order.money(earlier.amount_minor),
        None => order.refunded_minor == order.total.minor(),
    };
    let allowed = "a reference that no refund of another amount has";
    if is_same { Ok(()) } else { Err(OrderError::invalid("reference", allowed)) }
}

/// Inserts a refund, adds it to the order, and publishes `order.refunded`. The caller has checked the amount.
pub(crate) async fn record_refund(
    change: &mut Change<'_>,
    refund: &Refund,
) -> Result<(), OrderError> {
    let (merchant, order) = (change.context.merchant, change.order.id);
    table::insert_refund(&mut change.work, merchant, order, refund).await?;
    // A sum that does not fit is above every total, and the constraint rejects it.
    change.order.refunded_minor = change.order.refunded_minor.saturating_add(refund.amount_minor);
    let reason = Some(refund.reason.as_str());
    let details = json!({ "refund_id": refund.id, "amount_minor": refund.amount_minor });
    change.record(HistoryKind::Refunded, reason, details).await?;
    let decimal = |minor| change.order.money(minor).to_decimal();
    let payload = RefundPayload {
        refund_id: refund.id,
        amount: decimal(refund.amount_minor),
        refunded_total: decimal(change.order.refunded_minor),
        return_id: refund.return_id,
    };
    change.publish(reason, OrderChange::Refunded(payload)).await
}

/// Replaces the error of the constraint on the sum of all refunds.
pub(crate) fn within_total<T>(
    finished: Result<T, OrderError>,
    exceeded: OrderError,
) -> Result<T, OrderError> {
    match finished {
        Err(OrderError::Database(error)) if error.constraint() == Some("placed_order_refunded") => {
            Err(exceeded)
        }
        finished => finished,
    }
}
