//! The position of an event among those of its store, by which lists continue.

use std::fmt;
use std::str::FromStr;

use primitives::{EventId, Id, Timestamp};
use uuid::Uuid;

/// The position of an event among those of its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventPosition {
    pub(crate) at: Timestamp,
    pub(crate) id: EventId,
}

impl EventPosition {
    /// Year 2000 to 2200: other values do not fit into every timestamp type.
    const MICROS_MIN: i64 = 946_684_800_000_000;
    pub(crate) const MICROS_MAX: i64 = 7_258_118_400_000_000;

    /// The position after all others.
    pub(crate) fn end() -> Self {
        let at = Timestamp::from_unix_micros(Self::MICROS_MAX);
        Self { at, id: EventId::from_uuid(Uuid::max()) }
    }

    /// Returns the nearest time that a position can have.
    pub(crate) fn clamped(at: Timestamp) -> Timestamp {
        Timestamp::from_unix_micros(at.unix_micros().clamp(Self::MICROS_MIN, Self::MICROS_MAX - 1))
    }

    /// Returns the position before all events of a time.
    pub(crate) fn before(at: Timestamp) -> Self {
        Self { at, id: EventId::from_uuid(Uuid::nil()) }
    }
}

impl fmt::Display for EventPosition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.at.unix_micros(), self.id.uuid().simple())
    }
}

/// A text that is not a cursor of deliveries or events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list")]
pub struct InvalidCursor;

impl FromStr for EventPosition {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let (micros, id) = text.split_once('-').ok_or(InvalidCursor)?;
        let micros: i64 = micros.parse().map_err(|_| InvalidCursor)?;
        if !(Self::MICROS_MIN..Self::MICROS_MAX).contains(&micros) {
            return Err(InvalidCursor);
        }
        let id = Uuid::try_parse(id).map_err(|_| InvalidCursor)?;
        Ok(Self { at: Timestamp::from_unix_micros(micros), id: EventId::from_uuid(id) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_round_trips_and_nothing_else_is_one() {
        let at = Timestamp::from_unix_micros(1_800_000_000_000_001);
        let position = EventPosition { at, id: EventId::from_random(7) };
        assert_eq!(position.to_string().parse::<EventPosition>(), Ok(position));
        let id = "00000000000000000000000000000007";
        for wrong in
            ["", "1", "x-y", &format!("{}-{id}", i64::MAX), &format!("1800000000000001-{id}0")]
        {
            assert_eq!(wrong.parse::<EventPosition>(), Err(InvalidCursor), "{wrong}");
        }
    }

    #[test]
    fn every_clamped_time_is_one_that_a_cursor_can_have() {
        for micros in [i64::MIN / 2_000, 0, 1_800_000_000_000_000, 200_000_000_000_000_000] {
            let at = EventPosition::clamped(Timestamp::from_unix_micros(micros));
            let position = EventPosition::before(at);
            assert_eq!(position.to_string().parse::<EventPosition>(), Ok(position), "{micros}");
        }
    }
}
