//! A verb: changing a return. Its status changes only along the state machine; every transition appends one entry to the
//! history and publishes one event `return.updated`.

use primitives::{LineId, Money, OrderId, ReturnId};
use serde_json::json;
use webhooks::{OrderChange, ReturnPayload};

use crate::change::{Change, Changed, Opened};
use crate::free_text::{self, NAME, NOTE};
use crate::money::exceeded;
use crate::refund_order::within_total;
use crate::settle_return::{REFUND, Settlement, settle};
use crate::{
    Actor, DeclineReason, HistoryKind, LineUnits, OrderContext, OrderError, OrderReturn,
    ReturnCondition, ReturnStatus, ReturnTransition, fulfillment, table,
};

/// What happens to a return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnAction {
    Approve {
        /// Merchant text: how to send the items back.
        instructions: Option<String>,
    },
    Decline {
        reason: DeclineReason,
    },
    MarkInTransit {
        carrier: Option<String>,
        tracking_number: Option<String>,
    },
    /// The items have arrived, also if nobody reported that they were sent.
    Receive,
    Inspect {
        conditions: Vec<(LineId, ReturnCondition)>,
    },
    /// Settles the return as its outcome says. Received items need no inspection of their own.
    Settle {
        /// `None`: the share of the returned units, without the fee; an error if less is left of the payment. Only for
        /// outcomes that are refunds.
        refund: Option<Money>,
        /// Kept by the merchant; at most the share of the returned units.
        restocking_fee: Option<Money>,
        /// The merchant's own reference of the refund.
        reference: Option<String>,
    },
    /// Refuses items that have arrived. Received items need no inspection of their own.
    Reject {
        reason: DeclineReason,
    },
    Close,
    /// Only by the agent or the buyer.
    Cancel,
}

impl ReturnAction {
    /// Agents and buyers send items back or withdraw the return. Everything else is the merchant's.
    fn check_actor(&self, actor: &Actor) -> Result<(), OrderError> {
        let is_buyer = actor.kind.is_buyer_side();
        match self {
            Self::MarkInTransit { .. } => Ok(()),
            Self::Cancel if is_buyer => Ok(()),
            Self::Cancel => Err(OrderError::invalid("action", "an action of the merchant")),
            _ if is_buyer => Err(OrderError::invalid("action", "an action of the buyer")),
            _ => Ok(()),
        }
    }
}

/// Changes a return. Returns `ReturnNotFound` if the order has no such return.
pub async fn change_return(
    context: &OrderContext<'_>,
    order: OrderId,
    id: ReturnId,
    version: Option<i32>,
    action: ReturnAction,
) -> Result<Changed, OrderError> {
    action.check_actor(&context.actor)?;
    let change = match Change::open(context, order, version).await? {
        Opened::Fresh(change) => change,
        Opened::Replay(changed) => return Ok(*changed),
    };
    let exceeded = exceeded(&change.order, REFUND);
    let mut handling = Handling::new(*change, id).await?;
    handling.run(action).await?;
    within_total(handling.finish().await, exceeded)
}

/// A return that is being changed, with its order.
pub(crate) struct Handling<'call> {
    pub(crate) change: Change<'call>,
    pub(crate) it: OrderReturn,
    /// The other returns of the order.
    pub(crate) others: Vec<OrderReturn>,
}

impl<'call> Handling<'call> {
    async fn new(mut change: Change<'call>, id: ReturnId) -> Result<Self, OrderError> {
        let (merchant, order) = (change.context.merchant, change.order.clone());
        let details = table::details(change.work.sql(), merchant, order).await?;
        let (mut same, others): (Vec<_>, Vec<_>) =
            details.returns.into_iter().partition(|it| it.id == id);
        let it = same.pop().ok_or(OrderError::ReturnNotFound)?;
        Ok(Self { change, it, others })
    }

    async fn run(&mut self, action: ReturnAction) -> Result<(), OrderError> {
        match action {
            ReturnAction::Approve { instructions } => {
                let text = free_text::paragraphs("instructions", instructions.as_deref(), NOTE)?;
                self.it.instructions = text;
                self.apply(ReturnTransition::Approve, None).await
            }
            ReturnAction::Decline { reason } => {
                self.refuse(ReturnTransition::Decline, reason).await
            }
            ReturnAction::MarkInTransit { carrier, tracking_number } => {
                let number = tracking_number.as_deref();
                self.it.carrier = free_text::one_line("carrier", carrier.as_deref(), NAME)?;
                self.it.tracking_number = free_text::one_line("tracking_number", number, NAME)?;
                self.apply(ReturnTransition::Send, None).await
            }
            ReturnAction::Receive => self.receive().await,
            ReturnAction::Inspect { conditions } => {
                self.set_conditions(&conditions)?;
                self.apply(ReturnTransition::Inspect, None).await
            }
            ReturnAction::Settle { refund, restocking_fee, reference } => {
                settle(self, Settlement { refund, restocking_fee, reference }).await
            }
            ReturnAction::Reject { reason } => {
                self.inspect_received().await?;
                (self.it.settled_at, self.it.refund_minor) = (Some(self.change.now()), Some(0));
                self.refuse(ReturnTransition::Reject, reason).await
            }
            ReturnAction::Close => self.apply(ReturnTransition::Close, None).await,
            ReturnAction::Cancel => {
                self.release_units();
                self.apply(ReturnTransition::Cancel, None).await
            }
        }
    }

    /// Applies a transition: the only place where the status of a return changes.
    pub(crate) async fn apply(
        &mut self,
        transition: ReturnTransition,
        reason: Option<&str>,
    ) -> Result<(), OrderError> {
        let from = self.it.status;
        let to = from.after(transition).ok_or(OrderError::InvalidReturnTransition { from })?;
        self.it.status = to;
        let details = json!({
            "return_id": self.it.id,
            "previous_return_status": from.as_str(),
            "return_status": to.as_str(),
        });
        self.change.record(HistoryKind::ReturnChanged, reason, details).await?;
        let payload = payload(&self.it, Some(from));
        self.change.publish(reason, OrderChange::ReturnUpdated(payload)).await
    }

    async fn receive(&mut self) -> Result<(), OrderError> {
        if self.it.status == ReturnStatus::Approved {
            self.apply(ReturnTransition::Send, None).await?;
        }
        self.it.received_at = Some(self.change.now());
        self.apply(ReturnTransition::Receive, None).await
    }

    /// Lets received items count as inspected.
    pub(crate) async fn inspect_received(&mut self) -> Result<(), OrderError> {
        match self.it.status {
            ReturnStatus::Received => self.apply(ReturnTransition::Inspect, None).await,
            _ => Ok(()),
        }
    }

    /// Declines or rejects the return.
    async fn refuse(
        &mut self,
        transition: ReturnTransition,
        reason: DeclineReason,
    ) -> Result<(), OrderError> {
        self.it.decline_reason = Some(reason);
        self.release_units();
        self.apply(transition, Some(reason.as_str())).await
    }

    /// Lets the units be part of another return.
    fn release_units(&mut self) {
        for line in &mut self.change.order.lines {
            let items = self.it.items.iter().filter(|item| item.line == line.line);
            line.returned = items.fold(line.returned, |sum, it| sum.saturating_sub(it.quantity));
        }
    }

    fn set_conditions(
        &mut self,
        conditions: &[(LineId, ReturnCondition)],
    ) -> Result<(), OrderError> {
        for (index, (line, condition)) in conditions.iter().enumerate() {
            let field = format!("conditions[{index}].line_id");
            if conditions.iter().take(index).any(|(earlier, _)| earlier == line) {
                return Err(OrderError::invalid(field, "each line at most once"));
            }
            let item = self.it.items.iter_mut().find(|item| item.line == *line);
            item.ok_or(OrderError::UnknownLine { field })?.condition = Some(*condition);
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<Changed, OrderError> {
        let (merchant, order) = (self.change.context.merchant, self.change.order.id);
        self.it.updated_at = self.change.now();
        table::put_return(&mut self.change.work, merchant, order, &self.it).await?;
        self.change.finish(Some(self.it.id.to_string())).await
    }
}

/// Returns the units of a return.
pub(crate) fn units(it: &OrderReturn) -> Vec<LineUnits> {
    it.items.iter().map(|item| LineUnits { line: item.line, quantity: item.quantity }).collect()
}

/// Returns a return as events carry it.
pub(crate) fn payload(it: &OrderReturn, previous: Option<ReturnStatus>) -> ReturnPayload {
    ReturnPayload {
        return_id: it.id,
        return_status: it.status.as_str(),
        previous_return_status: previous.map(ReturnStatus::as_str),
        outcome: it.outcome.as_str(),
        items: fulfillment::units(&units(it)),
    }
}
