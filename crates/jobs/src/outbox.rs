//! The outbox: every domain tells here what it changed, in the transaction of the change; readers
//! keep named cursors and follow in commit order.
//!
//! Positions are handed out before commit and transaction ids before the first write, so neither
//! alone is commit order, nor is a line drawn between transaction ids: one with a lower id may have
//! waited for one with a higher. A reader therefore takes *windows* between two snapshots of the
//! database: what the later one sees and the earlier one does not. A snapshot that sees a
//! transaction sees all that committed before it, so windows are in commit order, no event can turn
//! up behind the cursor later, and an open transaction holds nobody back: it falls into a later
//! window. Inside a window events are ordered by position, which is commit order for any two
//! transactions that touched the same row, provided that each publishes after its write: the second
//! could not write, and so not publish, before the first had committed.
//!
//! A crash hands out the ids of undone transactions again, so a snapshot counts only up to the last
//! transaction that is known to be on the disk (`outbox_seen`).

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

/// How far a reader has come: it has read everything that the snapshot `low` sees, and up to
/// `position` of what `high` sees besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) low: String,
    pub(crate) high: String,
    pub(crate) position: i64,
}

/// The snapshot that sees nothing: 3 is the first transaction there can be.
const NOTHING: &str = "3:3:";

impl Default for Cursor {
    fn default() -> Self {
        Self { low: NOTHING.to_owned(), high: NOTHING.to_owned(), position: 0 }
    }
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

/// Reads on from a cursor: at most `limit` events. Empty means that nothing new is committed.
pub async fn follow(reading: &Reading, cursor: &Cursor, limit: i64) -> Result<Batch, QueueError> {
    read_on(reading, cursor, None, limit).await
}

/// Reads on from a cursor, events of these topics only: the others count as read. Empty means that
/// nothing new of them is committed.
pub async fn follow_topics(
    reading: &Reading,
    cursor: &Cursor,
    topics: &[&str],
    limit: i64,
) -> Result<Batch, QueueError> {
    let topics: Vec<String> = topics.iter().map(|topic| (*topic).to_owned()).collect();
    read_on(reading, cursor, Some(&topics), limit).await
}

async fn read_on(
    reading: &Reading,
    cursor: &Cursor,
    topics: Option<&[String]>,
    limit: i64,
) -> Result<Batch, QueueError> {
    let mut snapshot = reading.open().await?;
    let mut next = cursor.clone();
    loop {
        let mut is_last = false;
        if next.low == next.high {
            let horizon = table::next_horizon(&mut snapshot, &next.low).await?;
            is_last = horizon.is_present;
            next = Cursor { high: horizon.snapshot, position: 0, ..next };
        }
        let events = table::events(&mut snapshot, &next, topics, limit).await?;
        let window_is_read = i64::try_from(events.len()).unwrap_or(i64::MAX) < limit;
        match events.last() {
            _ if window_is_read => next = Cursor { low: next.high.clone(), position: 0, ..next },
            Some(last) => next.position = last.position,
            None => {}
        }
        if is_last || !events.is_empty() {
            snapshot.close().await?;
            return Ok(Batch { events, next });
        }
    }
}

/// The cursor of a reader that has read everything committed so far, and nothing else: for one that
/// is about to read the present state and wants to hear of what changes from then on.
pub async fn present(reading: &Reading) -> Result<Cursor, QueueError> {
    let mut snapshot = reading.open().await?;
    let seen = table::present(&mut snapshot).await?;
    snapshot.close().await?;
    Ok(Cursor { low: seen.clone(), high: seen, position: 0 })
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
    from: &Cursor,
    to: &Cursor,
) -> Result<(), QueueError> {
    if table::advance_cursor(work, name, from, to).await? {
        Ok(())
    } else {
        Err(QueueError::CursorMoved(name.to_owned()))
    }
}

/// Forgets a named cursor: its reader is gone for good, and the outbox keeps nothing for it.
pub async fn forget_cursor(work: &mut Work, name: &str) -> Result<(), QueueError> {
    Ok(table::remove_cursor(work, name).await?)
}
