//! A verb: requesting a return of delivered items.

use primitives::{LineId, OrderId};
use serde_json::json;
use webhooks::OrderChange;

use crate::change::{Change, Changed, Opened};
use crate::eligibility::{LineEligibility, return_eligibility};
use crate::free_text::{self, NOTE};
use crate::handle_return::{payload, units};
use crate::{
    ActorKind, HistoryEntry, HistoryKind, IneligibleReason, OrderContext, OrderDetails, OrderError,
    OrderReturn, ReturnItem, ReturnOutcome, ReturnReason, ReturnStatus, table,
};

/// Most returns that each of agent and buyer requests of one order, whatever became of them: neither can use up those of the
/// other.
const RETURNS_MAX: usize = 20;
/// Most lines that a request names: an order has no more.
pub const ITEMS_MAX: usize = 50;

/// A return to request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnRequest {
    /// At least one; each line once.
    pub items: Vec<RequestedItem>,
    pub outcome: ReturnOutcome,
    /// Text of the buyer.
    pub note: Option<String>,
}

/// Units of a line to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedItem {
    pub line: LineId,
    pub quantity: u32,
    pub reason: ReturnReason,
}

/// Requests a return and publishes `return.created`. Its units cannot be returned again unless the return is refused or
/// withdrawn.
pub async fn request_return(
    context: &OrderContext<'_>,
    id: OrderId,
    request: ReturnRequest,
) -> Result<Changed, OrderError> {
    let customer_note = free_text::paragraphs("note", request.note.as_deref(), NOTE)?;
    check_items(&request.items)?;
    let mut change = match Change::open(context, id, None).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    reserve_units(&mut change, &request.items).await?;
    let now = change.now();
    let item = |it: &RequestedItem| ReturnItem {
        line: it.line,
        quantity: it.quantity,
        reason: it.reason,
        condition: None,
    };
    let requested = OrderReturn {
        id: change.work.new_id(),
        status: ReturnStatus::Requested,
        outcome: request.outcome,
        items: request.items.iter().map(item).collect(),
        customer_note,
        instructions: None,
        decline_reason: None,
        carrier: None,
        tracking_number: None,
        restocking_fee_minor: None,
        refund_minor: None,
        requested_at: now,
        updated_at: now,
        received_at: None,
        settled_at: None,
    };
    table::put_return(&mut change.work, context.merchant, id, &requested).await?;
    record(&mut change, &requested).await?;
    change.finish(Some(requested.id.to_string())).await
}

fn check_items(items: &[RequestedItem]) -> Result<(), OrderError> {
    if items.is_empty() || items.len() > ITEMS_MAX {
        return Err(OrderError::invalid("items", "1 to 50 items"));
    }
    for (index, item) in items.iter().enumerate() {
        if item.quantity == 0 {
            return Err(OrderError::invalid(format!("items[{index}].quantity"), "at least 1"));
        }
        if items.iter().take(index).any(|earlier| earlier.line == item.line) {
            let field = format!("items[{index}].line_id");
            return Err(OrderError::invalid(field, "each line at most once"));
        }
    }
    Ok(())
}

/// Counts the units as returned, if all of them can be returned now.
async fn reserve_units(change: &mut Change<'_>, items: &[RequestedItem]) -> Result<(), OrderError> {
    let merchant = change.context.merchant;
    let details = table::details(change.work.sql(), merchant, change.order.clone()).await?;
    let actor = change.context.actor.kind;
    let eligibility = return_eligibility(&details, actor, change.work.now());
    for (index, item) in items.iter().enumerate() {
        let is_same = |it: &&LineEligibility| it.line == item.line;
        let unknown = || OrderError::UnknownLine { field: format!("items[{index}].line_id") };
        let line = eligibility.lines.iter().find(is_same).ok_or_else(unknown)?;
        if let Some(reason) = line.reason {
            return Err(OrderError::NotEligible { reason });
        }
        if item.quantity > line.returnable {
            return Err(OrderError::NotEligible { reason: IneligibleReason::QuantityExceeded });
        }
    }
    if !eligibility.has_room {
        let allowed = "an order of which you requested fewer than 20 returns";
        return Err(OrderError::invalid("order_id", allowed));
    }
    for line in &mut change.order.lines {
        let requested = items.iter().filter(|item| item.line == line.line);
        line.returned = requested.fold(line.returned, |sum, it| sum.saturating_add(it.quantity));
    }
    Ok(())
}

/// Returns whether this actor can request a further return. The history names who requested each.
pub(crate) fn has_room_for_return(details: &OrderDetails, actor: ActorKind) -> bool {
    let is_own =
        |it: &&HistoryEntry| it.kind == HistoryKind::ReturnRequested && it.actor.kind == actor;
    details.history.iter().filter(is_own).count() < RETURNS_MAX
}

async fn record(change: &mut Change<'_>, requested: &OrderReturn) -> Result<(), OrderError> {
    let details = json!({
        "return_id": requested.id,
        "return_status": requested.status.as_str(),
        "outcome": requested.outcome.as_str(),
        "items": units(requested),
    });
    change.record(HistoryKind::ReturnRequested, None, details).await?;
    change.publish(None, OrderChange::ReturnCreated(payload(requested, None))).await
}
