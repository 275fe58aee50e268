//! The one way to change an order: the row is locked, every change appends one entry to the history, and every transition
//! follows the state machine and publishes one event, all in one transaction.

use std::slice;

use catalog::{StockPool, Units};
use database::{Reading, Work};
use jobs::{NewEvent, QueueError};
use primitives::{DisputeId, MerchantId, OrderId, Timestamp};
use serde_json::{Value, json};
use sqlx::PgConnection;
use webhooks::{OrderChange, OrderChanged, WebhookEvent};

use crate::history::EntryLimit;
use crate::read::visible_details;
use crate::{
    Fulfillment, HistoryEntry, HistoryKind, LineUnits, Order, OrderContext, OrderDetails,
    OrderError, OrderTransition, table,
};

/// An order after a change.
#[derive(Debug, Clone)]
pub struct Changed {
    pub details: OrderDetails,
    /// The id of the return, dispute, refund or fulfillment that the change concerned, if any.
    pub subject: Option<String>,
}

/// The start of a change.
pub(crate) enum Opened<'call> {
    /// The change has to be executed.
    Fresh(Box<Change<'call>>),
    /// The change was executed before, under the same idempotency key.
    Replay(Box<Changed>),
}

/// A locked order and the transaction that changes it. Dropping it rolls everything back.
pub(crate) struct Change<'call> {
    pub(crate) context: &'call OrderContext<'call>,
    pub(crate) work: Work,
    pub(crate) order: Order,
    /// The version before the change.
    before: i32,
    /// Goes back into stock when the change is finished.
    restocked: Vec<Units>,
}

impl<'call> Change<'call> {
    /// Opens the transaction, claims the idempotency key and locks the order. Returns `NotFound` if the caller does not see
    /// the order, and `VersionConflict` if it has another version than the expected one.
    pub(crate) async fn open(
        context: &'call OrderContext<'call>,
        id: OrderId,
        expected_version: Option<i32>,
    ) -> Result<Opened<'call>, OrderError> {
        let mut work = context.work().await?;
        if let Some(key) = context.idempotency_key
            && let jobs::Claim::Replay(response) = jobs::claim_key(&mut work, key).await?
        {
            return Ok(Opened::Replay(Box::new(replay(context, work, id, &response).await?)));
        }
        let order = table::lock(&mut work, context.merchant, id).await?;
        let order = order.filter(|order| context.viewer.sees(order)).ok_or(OrderError::NotFound)?;
        let before = order.version;
        if expected_version.is_some_and(|expected| expected != before) {
            return Err(OrderError::VersionConflict { current: before });
        }
        Ok(Opened::Fresh(Box::new(Self { context, work, order, before, restocked: Vec::new() })))
    }

    /// Returns the time of the change. It is never before the last change of the order: a transaction that waited for the lock
    /// began before the one that it waited for.
    pub(crate) fn now(&self) -> Timestamp {
        self.work.now().max(self.order.updated_at)
    }

    /// Applies a transition: the only place where the status of an order changes. The history gets one entry, and the merchant
    /// one event `order.status_changed`.
    pub(crate) async fn apply(
        &mut self,
        transition: OrderTransition,
        reason: Option<&str>,
        fulfillment: Option<&Fulfillment>,
    ) -> Result<(), OrderError> {
        let from = self.order.status;
        let to = from.after(transition).ok_or(OrderError::InvalidTransition { from })?;
        self.order.status = to;
        self.append(HistoryKind::StatusChanged, from, reason, json!({})).await?;
        let fulfillment = fulfillment.map(Fulfillment::payload);
        self.publish(reason, OrderChange::Status { previous: from.as_str(), fulfillment }).await
    }

    /// Appends an entry about something other than a change of status.
    pub(crate) async fn record(
        &mut self,
        kind: HistoryKind,
        reason: Option<&str>,
        details: Value,
    ) -> Result<(), OrderError> {
        self.append(kind, self.order.status, reason, details).await
    }

    /// Publishes an event about the newest entry of the history. Orders of sandboxes publish none.
    pub(crate) async fn publish(
        &mut self,
        reason: Option<&str>,
        change: OrderChange,
    ) -> Result<(), OrderError> {
        if self.order.is_sandbox {
            return Ok(());
        }
        let event = WebhookEvent::OrderChanged(OrderChanged {
            order: self.order.id,
            slug: self.context.slug.to_owned(),
            total: self.order.total,
            status: self.order.status.as_str(),
            sequence: self.order.version,
            reason: reason.map(str::to_owned),
            changed_by: self.context.actor.kind.as_str(),
            change,
        });
        webhooks::publish(&mut self.work, self.context.merchant, &event).await?;
        Ok(())
    }

    /// Returns whether anything was appended to the history.
    pub(crate) const fn is_changed(&self) -> bool {
        self.order.version != self.before
    }

    async fn append(
        &mut self,
        kind: HistoryKind,
        previous_status: crate::OrderStatus,
        reason: Option<&str>,
        details: Value,
    ) -> Result<(), OrderError> {
        self.check_limit(kind).await?;
        self.order.version += 1;
        let entry = HistoryEntry {
            sequence: self.order.version,
            kind,
            previous_status,
            status: self.order.status,
            actor: self.context.actor.clone(),
            reason: reason.map(str::to_owned),
            details,
            occurred_at: self.now(),
        };
        Ok(table::insert_history(&mut self.work, self.context.merchant, self.order.id, &entry)
            .await?)
    }

    /// Rejects an entry beyond the limit of its kind and its actor. The order is locked, so that the count is exact.
    async fn check_limit(&mut self, kind: HistoryKind) -> Result<(), OrderError> {
        let limit = EntryLimit::of(kind, &self.order);
        let Some(limit) = limit.filter(|it| it.is_within_reach(self.order.version)) else {
            return Ok(());
        };
        let status = (kind == HistoryKind::StatusChanged).then_some(self.order.status);
        let (merchant, id, actor) = (self.context.merchant, self.order.id, self.context.actor.kind);
        let alike = (actor, kind, status);
        limit.check(table::count_history(&mut self.work, merchant, id, alike).await?)
    }

    /// Puts units of lines back into stock, as the last step of the change.
    pub(crate) fn restock(&mut self, items: &[LineUnits]) {
        let order = &self.order;
        let units = |units: &LineUnits| {
            let line = order.line(units.line)?;
            Some(Units { product: line.product, variant: line.variant, quantity: units.quantity })
        };
        self.restocked.extend(items.iter().filter_map(units));
    }

    /// Stores the order, records the response of the idempotency key, commits, and returns the order with all that belongs to
    /// it: in the same transaction, so that the answer is the state after exactly this change. A change that appended nothing
    /// leaves the order as it was.
    pub(crate) async fn finish(mut self, subject: Option<String>) -> Result<Changed, OrderError> {
        if self.is_changed() {
            self.order.updated_at = self.now();
            table::update(&mut self.work, self.context.merchant, &self.order, self.before).await?;
            publish_changed(&mut self.work, self.context.merchant, &self.order).await?;
        }
        if let Some(key) = self.context.idempotency_key {
            let response = json!({ "subject": subject });
            jobs::record_response(&mut self.work, key, &response).await?;
        }
        let (merchant, order) = (self.context.merchant, self.order);
        let pool =
            if order.is_sandbox { StockPool::Sandbox(order.agent) } else { StockPool::Store };
        let mut details = table::details(self.work.sql(), merchant, order).await?;
        read_statements(self.work.sql(), merchant, &mut details, subject.as_deref()).await?;
        // Last, because every checkout of the product waits for its stock rows until the commit.
        if !self.restocked.is_empty() {
            catalog::restock(&mut self.work, merchant, pool, &self.restocked).await?;
        }
        database::crash_point("order.before_commit");
        self.work.commit().await?;
        database::crash_point("order.committed");
        Ok(Changed { details, subject })
    }
}

/// Adds `order.changed` to the outbox, after the write. Domains above this one read the order then. Nobody reads orders of
/// sandboxes.
pub(crate) async fn publish_changed(
    work: &mut Work,
    merchant: MerchantId,
    order: &Order,
) -> Result<(), QueueError> {
    if order.is_sandbox {
        return Ok(());
    }
    let (topic, subject) = ("order.changed", order.id.uuid());
    jobs::publish(work, &[NewEvent { merchant, topic, subject, payload: json!({}) }]).await
}

/// Returns the answer to a repeated request: the order as it is now, read at one moment.
async fn replay(
    context: &OrderContext<'_>,
    work: Work,
    id: OrderId,
    response: &Value,
) -> Result<Changed, OrderError> {
    work.rollback().await?;
    let merchant = context.merchant;
    let subject = response["subject"].as_str().map(str::to_owned);
    let details = Reading::for_store(context.database, merchant)?
        .run(async |sql| -> Result<_, OrderError> {
            let mut details = visible_details(sql, merchant, id, &context.viewer).await?;
            read_statements(sql, merchant, &mut details, subject.as_deref()).await?;
            Ok(details)
        })
        .await?;
    Ok(Changed { details, subject })
}

/// Reads the statements of the dispute that a change concerned, if it concerned one.
async fn read_statements(
    sql: &mut PgConnection,
    merchant: MerchantId,
    details: &mut OrderDetails,
    subject: Option<&str>,
) -> Result<(), OrderError> {
    let Some(id) = subject.and_then(|id| id.parse::<DisputeId>().ok()) else { return Ok(()) };
    let order = details.order.id;
    match details.disputes.iter_mut().find(|it| it.id == id) {
        Some(it) => table::read_statements(sql, merchant, order, slice::from_mut(it)).await,
        None => Ok(()),
    }
}
