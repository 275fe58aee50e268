//! The outbox: every domain tells here what it changed, in the transaction of the change; readers
//! keep named cursors and follow in commit order.
//!
//! Positions are handed out before commit and transaction ids before the first write, so neither
//! alone is commit order. A reader therefore takes *windows* of transactions that end at a horizon
//! (the oldest transaction still open at some moment): everything below a horizon is over, so no
//! event can turn up behind the cursor later. Two transactions of different windows are in commit
//! order because the later one was still open when the earlier window closed. Inside a window
//! events are ordered by position, which is commit order for any two transactions that touched the
//! same row, provided that each publishes after its write: the second could not write, and so not
//! publish, before the first had committed.

use database::{Reading, Work};
use primitives::{MerchantId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::{QueueError, table};

/// Something that happened, about to be told.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// Whose it is.
    pub merchant: MerchantId,
    /// What kind of thing happened: `product.changed`.
    pub topic: &'static str,
    /// The thing it happened to.
    pub subject: Uuid,
    /// What a reader needs to know beyond that.
    pub payload: Value,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place among the events of its window.
    pub position: i64,
    /// Whose it is.
    pub merchant: MerchantId,
    /// What kind of thing happened.
    pub topic: String,
    /// The thing it happened to.
    pub subject: Uuid,
    /// What a reader needs to know beyond that.
    pub payload: Value,
    /// The moment of the work that told it.
    pub at: Timestamp,
}

/// How far a reader has come: it has read everything of transactions below `low`, and those up to
/// `position` of the window from `low` to `high`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) low: i64,
    pub(crate) high: i64,
    pub(crate) position: i64,
}

/// What a reader got.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The events, in commit order.
    pub events: Vec<Event>,
    /// Where to go on.
    pub next: Cursor,
}

/// Tells what was changed, in the work that changed it and after the change.
pub async fn publish(work: &mut Work, events: &[NewEvent]) -> Result<(), QueueError> {
    if !events.is_empty() {
        table::insert_events(work, events).await?;
    }
    Ok(())
}

/// Reads on from a cursor: at most `limit` events. Empty means that nothing new is decided.
pub async fn follow(reading: &Reading, cursor: Cursor, limit: i64) -> Result<Batch, QueueError> {
    let mut snapshot = reading.open().await?;
    let mut cursor = cursor;
    loop {
        if cursor.low == cursor.high {
            let horizon = table::next_horizon(&mut snapshot, cursor.low).await?;
            if horizon <= cursor.low {
                snapshot.close().await?;
                return Ok(Batch { events: Vec::new(), next: cursor });
            }
            cursor = Cursor { high: horizon, position: 0, ..cursor };
        }
        let events = table::events(&mut snapshot, cursor, limit).await?;
        let window_is_read = i64::try_from(events.len()).unwrap_or(i64::MAX) < limit;
        let next = match events.last() {
            _ if window_is_read => Cursor { low: cursor.high, high: cursor.high, position: 0 },
            Some(last) => Cursor { position: last.position, ..cursor },
            None => cursor,
        };
        if events.is_empty() {
            cursor = next;
            continue;
        }
        snapshot.close().await?;
        return Ok(Batch { events, next });
    }
}

/// Where a named reader stands; the beginning, if it never read.
pub async fn cursor(reading: &Reading, name: &str) -> Result<Cursor, QueueError> {
    let mut snapshot = reading.open().await?;
    let found = table::cursor(&mut snapshot, name).await?;
    snapshot.close().await?;
    Ok(found.unwrap_or_default())
}

/// Moves a named cursor, in the work that holds the effect of the batch: the effect and the step
/// are one. Refused if another reader of the name was quicker.
pub async fn advance(
    work: &mut Work,
    name: &str,
    from: Cursor,
    to: Cursor,
) -> Result<(), QueueError> {
    if table::advance_cursor(work, name, from, to).await? {
        Ok(())
    } else {
        Err(QueueError::CursorMoved(name.to_owned()))
    }
}
