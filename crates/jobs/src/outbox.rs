//! The outbox: domain crates publish events in the transaction of a change; readers with named cursors consume them in
//! commit order.
//!
//! Positions are assigned before commit and transaction ids before the first write, so that neither is commit order, and
//! neither is a boundary between transaction ids: a transaction with a lower id may have waited for one with a higher.
//! A reader therefore consumes *windows* between two snapshots of the database: the events visible to the later one and
//! not to the earlier one. A snapshot that sees a transaction sees all that committed before it, so that windows are in
//! commit order, no event can appear behind the cursor later, and an open transaction does not block readers: its events
//! fall into a later window. Inside a window events are ordered by position, which is commit order for any two
//! transactions that wrote the same row, provided that each publishes after its write: the second could not write, and
//! so not publish, before the first had committed.
//!
//! After a crash PostgreSQL assigns the ids of lost transactions again, so that a snapshot counts only up to the last
//! transaction known to be durable (`outbox_seen`).

use database::{Reading, Work};
use primitives::{MerchantId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::{QueueError, table};

/// An event to publish.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub merchant: MerchantId,
    /// Kind of the event, such as `product.changed`.
    pub topic: &'static str,
    /// Id of the changed entity.
    pub subject: Uuid,
    pub payload: Value,
}

/// A published event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Order within its window.
    pub position: i64,
    pub merchant: MerchantId,
    pub topic: String,
    /// Id of the changed entity.
    pub subject: Uuid,
    pub payload: Value,
    /// Timestamp of the transaction that published it.
    pub at: Timestamp,
}

/// The position of a reader: it has read everything visible to the snapshot `low`, and the events up to `position` that
/// are also visible to `high`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) position: i64,
}

/// The snapshot that sees nothing: 3 is the first possible transaction id.
const EMPTY_SNAPSHOT: &str = "3:3:";

impl Default for Cursor {
    fn default() -> Self {
        Self { low: EMPTY_SNAPSHOT.to_owned(), high: EMPTY_SNAPSHOT.to_owned(), position: 0 }
    }
}

/// A batch of events.
#[derive(Debug, Clone)]
pub struct Batch {
    /// In commit order.
    pub events: Vec<Event>,
    /// Cursor after the batch.
    pub next: Cursor,
}

/// Publishes events, in the transaction of the change and after it.
pub async fn publish(work: &mut Work, events: &[NewEvent]) -> Result<(), QueueError> {
    if !events.is_empty() {
        table::insert_events(work, events).await?;
    }
    Ok(())
}

/// Reads up to `limit` events after a cursor. An empty batch means that nothing new is committed.
pub async fn read_events(
    reading: &Reading,
    cursor: &Cursor,
    limit: i64,
) -> Result<Batch, QueueError> {
    read_after(reading, cursor, None, limit).await
}

/// Reads up to `limit` events of these topics after a cursor; events of other topics count as read. An empty batch means
/// that nothing new is committed.
pub async fn read_topics(
    reading: &Reading,
    cursor: &Cursor,
    topics: &[&str],
    limit: i64,
) -> Result<Batch, QueueError> {
    let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    read_after(reading, cursor, Some(&topics), limit).await
}

async fn read_after(
    reading: &Reading,
    cursor: &Cursor,
    topics: Option<&[String]>,
    limit: i64,
) -> Result<Batch, QueueError> {
    reading.run(async |sql| read_window(sql, cursor, topics, limit).await).await
}

async fn read_window(
    sql: &mut PgConnection,
    cursor: &Cursor,
    topics: Option<&[String]>,
    limit: i64,
) -> Result<Batch, QueueError> {
    let mut next = cursor.clone();
    loop {
        let mut is_last = false;
        if next.low == next.high {
            let horizon = table::next_horizon(sql, &next.low).await?;
            is_last = horizon.is_present;
            next = Cursor { high: horizon.snapshot, position: 0, ..next };
        }
        let events = table::events(sql, &next, topics, limit).await?;
        let window_is_read = i64::try_from(events.len()).unwrap_or(i64::MAX) < limit;
        match events.last() {
            _ if window_is_read => next = Cursor { low: next.high.clone(), position: 0, ..next },
            Some(last) => next.position = last.position,
            None => {}
        }
        if is_last || !events.is_empty() {
            return Ok(Batch { events, next });
        }
    }
}

/// Returns the cursor of a reader that has read everything committed so far: for readers that load the current state and
/// then consume later changes.
pub async fn latest_cursor(reading: &Reading) -> Result<Cursor, QueueError> {
    let seen: String =
        reading.run(async |sql| Ok::<_, QueueError>(table::current_snapshot(sql).await?)).await?;
    Ok(Cursor { low: seen.clone(), high: seen, position: 0 })
}

/// Returns a named cursor, or the start of the outbox if it does not exist.
pub async fn cursor(reading: &Reading, name: &str) -> Result<Cursor, QueueError> {
    reading.run(async |sql| Ok(table::cursor(sql, name).await?.unwrap_or_default())).await
}

/// Advances a named cursor, in the transaction that holds the effect of the batch. Returns `CursorMoved` if another
/// reader with the same name advanced it first.
pub async fn advance(
    work: &mut Work,
    name: &str,
    from: &Cursor,
    to: &Cursor,
) -> Result<(), QueueError> {
    if table::advance_cursor(work, name, from, to).await? {
        Ok(())
    } else {
        Err(QueueError::CursorMoved(name.to_owned()))
    }
}

/// Lets every reader read all retained events again, and forgets all transaction ids: those of a restored database belong to
/// the cluster that was backed up. Returns the number of events. No reader may run meanwhile.
pub async fn restart_outbox(work: &mut Work) -> Result<u64, QueueError> {
    Ok(table::restart_outbox(work, &Cursor::default()).await?)
}

/// Returns whether the outbox has transaction ids that this cluster has not assigned yet: the database was restored from a
/// backup of another cluster, and readers would miss events.
pub async fn outbox_is_ahead(reading: &Reading) -> Result<bool, QueueError> {
    reading.run(async |sql| Ok(table::outbox_is_ahead(sql).await?)).await
}

/// Deletes a named cursor, so that the outbox no longer retains events for it.
pub async fn delete_cursor(work: &mut Work, name: &str) -> Result<(), QueueError> {
    Ok(table::delete_cursor(work, name).await?)
}
