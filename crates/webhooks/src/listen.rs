//! A verb: listing the events of a store as they happen, for a developer whose receiver has no public address.
//!
//! An event has the timestamp of its transaction's start and becomes visible with the commit, up to ten seconds later. A reader
//! that continued after the newest event it has seen would miss those that started earlier and committed later. So that none is
//! missed, a reader passes over the events in *sweeps*: one reads page after page until nothing is left, and the next begins
//! some seconds before the time at which this one began. An event is therefore returned several times; readers drop ids that they
//! know.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use database::{Reading, Snapshot};
use primitives::{EventId, MerchantId, Timestamp};

use crate::purge::RETENTION;
use crate::{EndpointError, EventKind, EventPosition, InvalidCursor, Webhooks, table};

/// How long before a sweep everything is visible: the lifetime of a `Work`, and time for the commit itself.
pub(crate) const OVERLAP: Duration = Duration::from_secs(20);

/// An event with its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    pub id: EventId,
    pub kind: EventKind,
    pub created_at: Timestamp,
    /// Byte for byte as it is sent: JSON in UTF-8.
    pub body: Vec<u8>,
}

/// A part of the events of a store, the oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPage {
    pub events: Vec<ListedEvent>,
    /// Where to continue.
    pub next: EventCursor,
    /// Whether there are more events now; otherwise the reader waits before it continues.
    pub has_more: bool,
}

/// Where a reader starts or continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventStart {
    /// With the events whose transactions begin from now on.
    Now,
    /// With the events whose transactions began at this time or later.
    Since(Timestamp),
    /// After the previous page.
    Cursor(EventCursor),
}

impl EventStart {
    fn cursor(self, now: Timestamp) -> EventCursor {
        match self {
            Self::Now => EventCursor::since(now),
            Self::Since(since) => EventCursor::since(since),
            Self::Cursor(cursor) => cursor,
        }
    }
}

/// The position of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCursor {
    after: EventPosition,
    /// When the sweep began; `None` before its first page.
    sweep_at: Option<Timestamp>,
    /// No earlier event is returned.
    since: Timestamp,
}

impl EventCursor {
    /// Creates the position of a reader that starts with the events of this time.
    fn since(since: Timestamp) -> Self {
        let since = EventPosition::clamped(since);
        Self { after: EventPosition::before(since), sweep_at: None, since }
    }

    /// Returns the position after a page of a sweep, whose last event is `last`.
    fn next(self, last: Option<EventPosition>, sweep_at: Timestamp, has_more: bool) -> Self {
        let last = last.unwrap_or(self.after);
        if has_more {
            return Self { after: last, sweep_at: Some(sweep_at), ..self };
        }
        // What is older than that was visible throughout the sweep.
        let settled = EventPosition::before(sweep_at.minus(OVERLAP));
        let after = last.min(settled).max(EventPosition::before(self.since));
        Self { after, sweep_at: None, ..self }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sweep_at = self.sweep_at.map_or(0, Timestamp::unix_micros);
        write!(formatter, "{}.{sweep_at}.{}", self.since.unix_micros(), self.after)
    }
}

impl FromStr for EventCursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let mut parts = text.splitn(3, '.');
        let mut time = || {
            let micros: i64 = parts.next()?.parse().ok()?;
            (0..EventPosition::MICROS_MAX).contains(&micros).then_some(micros)
        };
        let since = time().map(Timestamp::from_unix_micros).ok_or(InvalidCursor)?;
        let sweep_at = time().ok_or(InvalidCursor)?;
        let sweep_at = (sweep_at > 0).then(|| Timestamp::from_unix_micros(sweep_at));
        let after = parts.next().ok_or(InvalidCursor)?.parse()?;
        Ok(Self { after, sweep_at, since })
    }
}

impl Webhooks {
    /// Returns the events of a store from a position on, without tests of endpoints. An event may be returned more than once,
    /// and none from the start on is missed.
    pub async fn events(
        &self,
        merchant: MerchantId,
        start: EventStart,
        limit: u32,
    ) -> Result<EventPage, EndpointError> {
        let reading = Reading::for_store(&self.database, merchant)?;
        let read = async |sql: &mut Snapshot| -> Result<_, EndpointError> {
            let now = sql.now().await?;
            let oldest = EventPosition::before(now.minus(RETENTION));
            let cursor = start.cursor(now);
            let cursor = EventCursor { after: cursor.after.max(oldest), ..cursor };
            let rows = table::event::after(sql, merchant, cursor.after, i64::from(limit)).await?;
            let has_more = u32::try_from(rows.len()).is_ok_and(|count| count >= limit);
            let last = rows.last().map(|(position, _)| *position);
            let next = cursor.next(last, cursor.sweep_at.unwrap_or(now), has_more);
            let events = rows.into_iter().filter_map(|(_, event)| event).collect();
            Ok(EventPage { events, next, has_more })
        };
        reading.run(read).await
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_micros(1_800_000_000_000_000).plus(Duration::from_secs(seconds))
    }

    fn position(seconds: u64) -> EventPosition {
        EventPosition { at: at(seconds), id: EventId::from_random(7) }
    }

    #[test]
    fn a_cursor_round_trips_and_nothing_else_is_one() {
        let start = EventCursor::since(at(0));
        let middle = start.next(Some(position(9)), at(100), true);
        for cursor in [start, middle, middle.next(None, at(100), false)] {
            assert_eq!(cursor.to_string().parse::<EventCursor>(), Ok(cursor));
        }
        for wrong in
            ["", "1", "1.2", "1.2.3", "1.-2.3-4", &format!("{}.0.{}", i64::MAX, position(1))]
        {
            assert_eq!(wrong.parse::<EventCursor>(), Err(InvalidCursor), "{wrong}");
        }
    }

    #[test]
    fn a_sweep_continues_after_each_page_and_the_next_one_begins_before_it() {
        let start = EventCursor::since(at(0));
        let middle = start.next(Some(position(90)), at(100), true);
        assert_eq!((middle.after, middle.sweep_at), (position(90), Some(at(100))));
        let end = middle.next(Some(position(130)), at(100), false);
        assert_eq!(end.after, EventPosition::before(at(100).minus(OVERLAP)));
        assert_eq!(end.sweep_at, None);
    }

    #[test]
    fn without_new_events_a_reader_stays_where_it_is() {
        let start = EventCursor::since(at(0));
        let quiet = start.next(Some(position(5)), at(100), false);
        assert_eq!(quiet.after, position(5));
        assert_eq!(quiet.next(None, at(100).plus(MINUTE), false).after, position(5));
    }

    #[test]
    fn events_before_the_start_are_never_returned() {
        let start = EventCursor::since(at(95));
        let end = start.next(Some(position(99)), at(100), false);
        assert_eq!(end.after, EventPosition::before(at(95)));
    }
}
