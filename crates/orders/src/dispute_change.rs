//! What the verbs of disputes share.

use std::time::Duration;

use merchants::NoticeKind;
use primitives::{Currency, DisputeId, Money, OrderId, Timestamp};
use serde_json::{Value, json};
use webhooks::DisputePayload;

use crate::change::Change;
use crate::statement::CheckedStatement;
use crate::{ActorKind, Dispute, DisputeStatus, HistoryKind, OrderError, Statement, table};

/// The time in which an administrator decides, from the merchant's answer or the end of the time for it.
const DECISION_TIME: Duration = Duration::from_hours(14 * 24);

impl Dispute {
    /// Returns the status at a time: a dispute that was not answered in time is under review before the job records it.
    pub(crate) fn status_at(&self, now: Timestamp) -> DisputeStatus {
        match self.status {
            DisputeStatus::Open if now >= self.respond_by => DisputeStatus::UnderReview,
            status => status,
        }
    }

    /// Returns `InvalidDisputeTransition` if the dispute has ended.
    pub(crate) fn check_open(&self) -> Result<(), OrderError> {
        if self.status.is_open() { Ok(()) } else { Err(ended(self.status)) }
    }

    /// Passes the dispute to the administrators.
    pub(crate) fn review(&mut self, now: Timestamp) {
        self.status = DisputeStatus::UnderReview;
        self.decide_by = Some(now.plus(DECISION_TIME));
        self.updated_at = now;
    }

    /// Returns `DisputeOfBuyer` if the buyer opened the dispute and another one wants to end it: the dispute may be about what
    /// the agent did.
    pub(crate) fn check_owner(&self, actor: ActorKind) -> Result<(), OrderError> {
        match self.opened_by {
            ActorKind::Buyer if actor != ActorKind::Buyer => {
                Err(OrderError::DisputeOfBuyer { from: self.status, order_page: None })
            }
            _ => Ok(()),
        }
    }

    /// Returns the dispute as events carry it, with amounts in the currency of the order.
    pub(crate) fn payload(&self, currency: Currency) -> DisputePayload {
        DisputePayload {
            dispute_id: self.id,
            dispute_status: self.status.as_str(),
            dispute_reason: self.reason.as_str(),
            resolution: self.resolution.map(crate::Resolution::as_str),
            refund_amount: self.refund_minor.map(|it| Money::new(it, currency).to_decimal()),
            respond_by: self.respond_by,
        }
    }

    /// Returns the details of a notice about the deadline.
    pub(crate) fn deadline_details(&self, order: OrderId) -> Value {
        json!({ "order_id": order, "dispute_id": self.id, "respond_by": self.respond_by })
    }
}

/// Creates the error of a change that the status of a dispute excludes.
pub(crate) const fn ended(from: DisputeStatus) -> OrderError {
    OrderError::InvalidDisputeTransition { from }
}

impl Change<'_> {
    /// Returns a dispute of the order, without its statements.
    pub(crate) async fn dispute(&mut self, id: DisputeId) -> Result<Dispute, OrderError> {
        let disputes = self.disputes().await?;
        disputes.into_iter().find(|it| it.id == id).ok_or(OrderError::DisputeNotFound)
    }

    /// Returns the disputes of the order, the oldest first, without their statements.
    pub(crate) async fn disputes(&mut self) -> Result<Vec<Dispute>, OrderError> {
        let order = self.order.id;
        let found = table::disputes_of(self.work.sql(), self.context.merchant, &[order]).await;
        Ok(found?.remove(&order).unwrap_or_default())
    }

    /// Stores a dispute.
    pub(crate) async fn put_dispute(&mut self, dispute: &Dispute) -> Result<(), OrderError> {
        let (merchant, order) = (self.context.merchant, self.order.id);
        Ok(table::put_dispute(&mut self.work, merchant, order, dispute).await?)
    }

    /// Appends a statement of the caller. The dispute is stored before its first statement.
    pub(crate) async fn add_statement(
        &mut self,
        dispute: &mut Dispute,
        written: CheckedStatement,
    ) -> Result<(), OrderError> {
        let CheckedStatement { text, evidence } = written;
        let (actor, created_at) = (self.context.actor.kind, self.now());
        let statement = Statement { actor, text, evidence, created_at };
        dispute.statement_count += 1;
        let position = i32::try_from(dispute.statement_count).unwrap_or(i32::MAX);
        let at = (self.order.id, dispute.id, position);
        table::insert_statement(&mut self.work, self.context.merchant, at, &statement).await?;
        dispute.updated_at = created_at;
        Ok(())
    }

    /// Records that a dispute has another status.
    pub(crate) async fn record_dispute(
        &mut self,
        dispute: &Dispute,
        reason: Option<&str>,
    ) -> Result<(), OrderError> {
        let mut details = json!({ "dispute_id": dispute.id, "dispute_status": dispute.status });
        if let Some(resolution) = dispute.resolution {
            details["resolution"] = json!(resolution);
        }
        self.record(HistoryKind::DisputeChanged, reason, details).await
    }

    /// Posts a notice to the merchant. Orders of sandboxes post none.
    pub(crate) async fn notify(
        &mut self,
        kind: NoticeKind,
        details: Value,
    ) -> Result<(), OrderError> {
        if self.order.is_sandbox {
            return Ok(());
        }
        Ok(merchants::post_notice(&mut self.work, self.context.merchant, kind, details).await?)
    }
}
