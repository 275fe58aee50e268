//! A verb: which items of an order can be returned. The terms that the buyer approved decide, never the store's current
//! policies.

use database::Reading;
use primitives::{LineId, MerchantId, OrderId, Timestamp};

use crate::money::{Shares, refundable_minor};
use crate::request_return::has_room_for_return;
use crate::{
    ActorKind, IneligibleReason, OrderDetails, OrderError, OrderLine, ReturnOutcome, Viewer, table,
};

/// Which items of an order can be returned, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnEligibility {
    /// One entry for each line of the order.
    pub lines: Vec<LineEligibility>,
    /// The end of the return window; `None` until the last unit is delivered.
    pub until: Option<Timestamp>,
    /// The length of the return window. 0: the items cannot be returned.
    pub window_days: u32,
    /// How a return can be settled.
    pub outcomes: &'static [ReturnOutcome],
    /// Whether the caller can request a further return, if units can be returned: the number of returns is limited.
    pub has_room: bool,
}

/// How many units of a line can be returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEligibility {
    pub line: LineId,
    pub returnable: u32,
    /// `None` if units can be returned.
    pub reason: Option<IneligibleReason>,
    /// The refund of all returnable units, without a restocking fee: what was paid for them or, if that is less, what is left of
    /// the payment. Each line is compared with what is left by itself.
    pub refund_minor: i64,
}

/// Returns which items of an order this actor, the agent or the buyer, can return at `now`, the time of the database.
pub(crate) fn return_eligibility(
    details: &OrderDetails,
    actor: ActorKind,
    now: Timestamp,
) -> ReturnEligibility {
    let order = &details.order;
    let (shares, left_minor) = (Shares::of(order), refundable_minor(order));
    let line = |line: &OrderLine| {
        let (returnable, reason) = match returnable(details, line, now) {
            Ok(returnable) => (returnable, None),
            Err(reason) => (0, Some(reason)),
        };
        // The units of other returns are refunded first.
        let share_minor = shares.units_minor(line.line, line.returned, returnable);
        let refund_minor = share_minor.min(left_minor);
        LineEligibility { line: line.line, returnable, reason, refund_minor }
    };
    ReturnEligibility {
        lines: order.lines.iter().map(line).collect(),
        until: order.returnable_until,
        window_days: order.return_window_days(),
        outcomes: ReturnOutcome::ALL,
        has_room: has_room_for_return(details, actor),
    }
}

/// Returns how many units of a line can be returned, above 0, or why none can. Until the last unit of the order is
/// delivered, the window has no end.
fn returnable(
    details: &OrderDetails,
    line: &OrderLine,
    now: Timestamp,
) -> Result<u32, IneligibleReason> {
    if details.order.return_window_days() == 0 {
        return Err(IneligibleReason::FinalSale);
    }
    let delivered = delivered(details, line.line);
    let returnable = delivered.saturating_sub(line.returned);
    if delivered == 0 {
        Err(IneligibleReason::NotDelivered)
    } else if returnable == 0 {
        Err(IneligibleReason::AlreadyReturned)
    } else if details.order.returnable_until.is_some_and(|until| now >= until) {
        Err(IneligibleReason::WindowClosed)
    } else {
        Ok(returnable)
    }
}

/// Returns how many units of a line were delivered.
fn delivered(details: &OrderDetails, line: LineId) -> u32 {
    let delivered = details.fulfillments.iter().filter(|it| it.delivered_at.is_some());
    let items = delivered.flat_map(|it| &it.items).filter(|item| item.line == line);
    items.map(|item| item.quantity).sum()
}

/// Returns an order, and which of its items the agent, or any other viewer as the buyer, can return now.
pub async fn eligibility(
    reading: &Reading,
    merchant: MerchantId,
    id: OrderId,
    viewer: &Viewer,
) -> Result<(OrderDetails, ReturnEligibility), OrderError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let found = table::find(sql, merchant, Some(id), None).await?;
            let order = found.filter(|order| viewer.sees(order)).ok_or(OrderError::NotFound)?;
            let details = table::details(sql, merchant, order).await?;
            let actor = match viewer {
                Viewer::Agent(_) => ActorKind::Agent,
                Viewer::Merchant | Viewer::Sandbox | Viewer::All => ActorKind::Buyer,
            };
            let eligibility = return_eligibility(&details, actor, now);
            Ok((details, eligibility))
        })
        .await
}
