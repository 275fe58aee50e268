//! What happened to an order of the past, in its order, and the dispute about it.

use std::time::Duration;

use orders::{
    Actor, ActorKind, CancelReason, Dispute, DisputeReason, DisputeStatus, HistoryEntry,
    HistoryKind, Order, OrderError, OrderStatus, OrderTransition, Refund, Resolution, Statement,
};
use primitives::{DisputeId, FulfillmentId, Id, Timestamp};
use serde_json::{Value, json};

use crate::past::{DisputeTimes, Ending};
use crate::past_order::Record;

/// Time in which a store answers a dispute.
const RESPONSE_TIME: Duration = Duration::from_hours(7 * 24);
/// Time in which an administrator decides after the answer.
const DECISION_TIME: Duration = Duration::from_hours(14 * 24);
/// The reason of a dispute that the store answered.
const ANSWERED: &str = "answered";
/// The reason of the transition at the end of the return window.
const WINDOW_CLOSED: &str = "return_window_closed";

/// A history while it is written. Statuses follow the state machine.
struct Timeline {
    status: OrderStatus,
    entries: Vec<HistoryEntry>,
}

impl Timeline {
    /// Returns `InvalidTransition` if the state machine does not allow it.
    fn apply(
        &mut self,
        transition: OrderTransition,
        actor: &Actor,
        reason: Option<&str>,
        at: Timestamp,
    ) -> Result<(), OrderError> {
        let from = self.status;
        self.status = from.after(transition).ok_or(OrderError::InvalidTransition { from })?;
        self.push(HistoryKind::StatusChanged, from, actor, (reason, json!({})), at);
        Ok(())
    }

    fn record(
        &mut self,
        kind: HistoryKind,
        actor: &Actor,
        reason: Option<&str>,
        details: Value,
        at: Timestamp,
    ) {
        self.push(kind, self.status, actor, (reason, details), at);
    }

    fn push(
        &mut self,
        kind: HistoryKind,
        previous_status: OrderStatus,
        actor: &Actor,
        (reason, details): (Option<&str>, Value),
        occurred_at: Timestamp,
    ) {
        // The placement is 1.
        let sequence = i32::try_from(self.entries.len()).unwrap_or_default() + 2;
        let (actor, reason) = (actor.clone(), reason.map(str::to_owned));
        let status = self.status;
        let entry = HistoryEntry {
            sequence,
            kind,
            previous_status,
            status,
            actor,
            reason,
            details,
            occurred_at,
        };
        self.entries.push(entry);
    }
}

/// Returns the history of an order.
pub(crate) fn history(
    record: &Record<'_>,
    order: &Order,
    dispute: Option<&Dispute>,
    refunds: &[Refund],
) -> Result<Vec<HistoryEntry>, OrderError> {
    let merchant = record.merchant();
    let mut timeline = Timeline { status: OrderStatus::Pending, entries: Vec::new() };
    timeline.apply(OrderTransition::Confirm, &merchant, None, record.purchase.confirmed_at)?;
    match record.purchase.ending {
        Ending::OutOfStock { canceled_at } => {
            let reason = Some(CancelReason::OutOfStock.as_str());
            let items: Value = order
                .lines
                .iter()
                .map(|line| json!({ "line_id": line.line, "quantity": line.canceled }))
                .collect();
            let details = json!({ "items": items });
            timeline.record(HistoryKind::LinesCanceled, &merchant, reason, details, canceled_at);
            timeline.apply(OrderTransition::Cancel, &merchant, reason, canceled_at)?;
        }
        Ending::Delivered { processed_at, shipped_at, delivered_at } => {
            let fulfillment = FulfillmentId::from_uuid(record.id("fulfillment"));
            let details = json!({ "fulfillment_id": fulfillment });
            timeline.apply(OrderTransition::Process, &merchant, None, processed_at)?;
            timeline.record(HistoryKind::Shipped, &merchant, None, details.clone(), shipped_at);
            timeline.apply(OrderTransition::ShipRest, &merchant, None, shipped_at)?;
            timeline.record(HistoryKind::Delivered, &merchant, None, details, delivered_at);
            timeline.apply(OrderTransition::Deliver, &merchant, None, delivered_at)?;
        }
    }
    if let (Some(dispute), Some(times)) = (dispute, &record.purchase.dispute) {
        record_dispute(&mut timeline, record, dispute, times);
    }
    for refund in refunds {
        let details = json!({ "refund_id": refund.id, "amount_minor": refund.amount_minor });
        let reason = Some(refund.reason.as_str());
        timeline.record(HistoryKind::Refunded, &merchant, reason, details, refund.created_at);
    }
    if let Some(at) = record.completed_at(order) {
        timeline.apply(OrderTransition::Complete, &Actor::SYSTEM, Some(WINDOW_CLOSED), at)?;
    }
    Ok(timeline.entries)
}

fn record_dispute(
    timeline: &mut Timeline,
    record: &Record<'_>,
    dispute: &Dispute,
    times: &DisputeTimes,
) {
    let (agent, merchant) = (Actor::agent(record.purchase.agent.key()), record.merchant());
    let id = json!({ "dispute_id": dispute.id });
    let reason = Some(dispute.reason.as_str());
    timeline.record(HistoryKind::DisputeOpened, &agent, reason, id.clone(), times.opened);
    timeline.record(HistoryKind::DisputeAnswered, &merchant, None, id, times.answered);
    let status = DisputeStatus::UnderReview;
    let details = json!({ "dispute_id": dispute.id, "dispute_status": status });
    let kind = HistoryKind::DisputeChanged;
    timeline.record(kind, &merchant, Some(ANSWERED), details, times.answered);
    let details = json!({
        "dispute_id": dispute.id, "dispute_status": dispute.status, "resolution": dispute.resolution,
    });
    timeline.record(kind, &Record::administrator(), None, details, times.decided);
}

impl Record<'_> {
    /// Returns the dispute about the order, if there was one.
    pub(crate) fn dispute(&self, order: &Order) -> Option<Dispute> {
        let times = self.purchase.dispute.as_ref()?;
        let (reason, complaint) = match self.purchase.ending {
            Ending::OutOfStock { .. } => (
                DisputeReason::RefundNotReceived,
                "The order was canceled, and the money did not come back.",
            ),
            Ending::Delivered { .. } => {
                (DisputeReason::NotAsDescribed, "What arrived is not what the page describes.")
            }
        };
        let statement = |actor, text: &str, created_at| Statement {
            actor,
            text: text.to_owned(),
            evidence: Vec::new(),
            created_at,
        };
        let answer = "We have looked at it and see no fault on our side.";
        let decision = "The evidence supports the buyer.";
        let statements = vec![
            statement(ActorKind::Agent, complaint, times.opened),
            statement(ActorKind::Merchant, answer, times.answered),
            statement(ActorKind::Platform, decision, times.decided),
        ];
        Some(Dispute {
            id: DisputeId::from_uuid(self.id("dispute")),
            status: DisputeStatus::Resolved,
            reason,
            opened_by: ActorKind::Agent,
            respond_by: times.opened.plus(RESPONSE_TIME),
            decide_by: Some(times.answered.plus(DECISION_TIME)),
            reminded_at: None,
            answered_at: Some(times.answered),
            proposed_minor: None,
            resolution: Some(Resolution::Buyer),
            refund_minor: Some(self.refund_minor(order)),
            statement_count: 3,
            statements,
            opened_at: times.opened,
            updated_at: times.decided,
            resolved_at: Some(times.decided),
        })
    }
}
