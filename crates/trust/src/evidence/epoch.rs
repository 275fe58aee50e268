//! Epochs and days, and how far a day counts at an epoch (docs/contract/trust.md#epochs).

use std::borrow::Cow;
use std::fmt;

use primitives::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Length of an epoch.
pub(crate) const EPOCH_SECONDS: i64 = 6 * 60 * 60;
const DAY_SECONDS: i64 = 24 * 60 * 60;
const MICROS_PER_SECOND: i64 = 1_000_000;
/// Epochs in a day.
pub(crate) const STEPS_PER_DAY: i64 = DAY_SECONDS / EPOCH_SECONDS;
/// Days from the end of a day to its maturity. A purchase that the agent or the buyer canceled until then gives no weight to
/// checkouts that were not completed.
pub(crate) const MATURITY_DAYS: i64 = 10;
/// Days for which a day counts in full, its phases of entry included.
pub(crate) const WINDOW_DAYS: i64 = 90;
/// Epochs in which a day enters the window, and in which it leaves it.
pub(crate) const PHASE_STEPS: u8 = 4;
/// Epochs between the end of a day and the first one at which it counts. A checkout that was started on the day is decided by
/// then: it lives for one hour at most.
pub(crate) const SETTLING_STEPS: i64 = 1;
/// Time after the beginning of an epoch before which the schedule computes none of its scores: what happened until the
/// beginning is counted by then. Otherwise a checkout that is completed in the last seconds before its day is settled could
/// count in one way at the first step of the day, and in another at the second.
pub(crate) const COUNTED_AFTER_SECONDS: i64 = 2 * 60;

// One day enters, one matures and one leaves at a time, and these are three days: the bound of what one account changes depends
// on it.
const _: () = assert!(PHASE_STEPS == 4 && STEPS_PER_DAY == 4);
const _: () = assert!(0 < MATURITY_DAYS && MATURITY_DAYS < WINDOW_DAYS);

/// A period of six hours, numbered since 1970. A score has the epoch at whose beginning it is computed.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
pub struct Epoch(pub i64);

impl Epoch {
    /// Returns the epoch that contains this time.
    #[must_use]
    pub const fn of(time: Timestamp) -> Self {
        Self(time.unix_seconds().div_euclid(EPOCH_SECONDS))
    }

    /// Returns the first epoch that begins at this time or later.
    #[must_use]
    pub(crate) fn since(time: Timestamp) -> Self {
        let containing = Self::of(time);
        if containing.as_of() < time { containing.next() } else { containing }
    }

    /// Returns the time as of which the score of the epoch is computed: its beginning.
    #[must_use]
    pub fn as_of(self) -> Timestamp {
        let micros = self.0.saturating_mul(EPOCH_SECONDS).saturating_mul(MICROS_PER_SECOND);
        Timestamp::from_unix_micros(micros)
    }

    /// Returns the end of the epoch, which is the beginning of the next one.
    #[must_use]
    pub fn end(self) -> Timestamp {
        self.next().as_of()
    }

    /// Returns the epoch after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the epoch before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// Returns the first day that counts at this epoch.
    #[must_use]
    pub fn first_day(self) -> Day {
        let entered = self.0.saturating_sub(SETTLING_STEPS + WINDOW_DAYS * STEPS_PER_DAY);
        Day::clamped((entered + 1).div_euclid(STEPS_PER_DAY) - 1)
    }

    /// Returns the last day that counts at this epoch.
    #[must_use]
    pub fn last_day(self) -> Day {
        Day::clamped(self.0.saturating_sub(SETTLING_STEPS).div_euclid(STEPS_PER_DAY) - 1)
    }

    /// Returns the number of epochs at which the day has counted, this one included.
    fn step_of(self, day: Day) -> i64 {
        let ended = (i64::from(day.0) + 1) * STEPS_PER_DAY;
        self.0.saturating_sub(ended).saturating_add(1 - SETTLING_STEPS)
    }
}

/// A day in UTC, in days since 1970-01-01; `YYYY-MM-DD` on the wire.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

impl Day {
    /// Returns the day that contains this time.
    #[must_use]
    pub fn of(time: Timestamp) -> Self {
        Self::clamped(time.unix_seconds().div_euclid(DAY_SECONDS))
    }

    /// Returns the first moment of the day.
    #[must_use]
    pub fn start(self) -> Timestamp {
        Timestamp::from_unix_micros(i64::from(self.0) * DAY_SECONDS * MICROS_PER_SECOND)
    }

    /// Returns the end of the day, which is the first moment of the next one.
    #[must_use]
    pub fn end(self) -> Timestamp {
        Timestamp::from_unix_micros((i64::from(self.0) + 1) * DAY_SECONDS * MICROS_PER_SECOND)
    }

    fn clamped(days: i64) -> Self {
        let max = if days < 0 { i32::MIN } else { i32::MAX };
        Self(i32::try_from(days).unwrap_or(max))
    }
}

/// Returns how far a day counts at an epoch, in quarters: 0 to 4. A day enters the window over four epochs and leaves it over
/// four, so that no day changes a score at once.
#[must_use]
pub fn quarters(day: Day, epoch: Epoch) -> u8 {
    phase(epoch.step_of(day), 0)
}

/// Returns how far a day has matured at an epoch, in quarters: 0 to 4. It matures over four epochs, ten days after those in which
/// it enters the window, and leaves the window as it is.
#[must_use]
pub fn matured_quarters(day: Day, epoch: Epoch) -> u8 {
    phase(epoch.step_of(day), MATURITY_DAYS * STEPS_PER_DAY)
}

/// Returns the phase at a step of a day that enters some steps later than others.
fn phase(step: i64, later_by: i64) -> u8 {
    let phases = i64::from(PHASE_STEPS);
    let entered = step.saturating_sub(later_by).clamp(0, phases);
    let remaining = (WINDOW_DAYS * STEPS_PER_DAY + phases).saturating_sub(step);
    u8::try_from(entered.min(remaining.clamp(0, phases))).unwrap_or(0)
}

impl fmt::Display for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = self.start().to_string();
        formatter.pad(start.split('T').next().unwrap_or_default())
    }
}

impl fmt::Debug for Day {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        let start = format!("{text}T00:00:00Z").parse::<Timestamp>();
        start.map(Self::of).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Day {
    fn schema_name() -> Cow<'static, str> {
        "Day".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_epoch_lasts_six_hours_and_a_day_has_four() {
        let epoch = Epoch::of(time("2026-11-15T11:59:59Z"));
        assert_eq!(epoch.as_of(), time("2026-11-15T06:00:00Z"));
        assert_eq!(epoch.end(), time("2026-11-15T12:00:00Z"));
        assert_eq!(Epoch::of(epoch.end()), epoch.next());
        assert_eq!(epoch.next().previous(), epoch);
        assert_eq!(Epoch::of(time("1969-12-31T23:00:00Z")), Epoch(-1));
        assert_eq!((Epoch::since(epoch.as_of()), Epoch::since(epoch.end())), (epoch, epoch.next()));
        assert_eq!(Epoch::since(time("2026-11-15T06:00:00.000001Z")), epoch.next());
        let day = Day::of(time("2026-11-15T23:59:59Z"));
        assert_eq!((day.to_string().as_str(), day.0), ("2026-11-15", 20_772));
        assert_eq!(
            (day.start(), day.end()),
            (time("2026-11-15T00:00:00Z"), time("2026-11-16T00:00:00Z"))
        );
    }

    #[test]
    fn a_day_enters_and_leaves_by_quarters() {
        let day = Day(20_000);
        let at_end = Epoch::of(day.end());
        let after = |steps: i64| quarters(day, Epoch(at_end.0 + steps));
        assert_eq!([-1, 0, 1, 2, 3, 4, 5].map(after), [0, 0, 1, 2, 3, 4, 4]);
        assert_eq!([359, 360, 361, 362, 363, 364, 365].map(after), [4, 4, 3, 2, 1, 0, 0]);
    }

    #[test]
    fn a_day_matures_ten_days_later_and_leaves_as_it_is() {
        let day = Day(20_000);
        let at_end = Epoch::of(day.end());
        let after = |steps: i64| matured_quarters(day, Epoch(at_end.0 + steps));
        assert_eq!([1, 39, 40, 41, 42, 43, 44, 45].map(after), [0, 0, 0, 1, 2, 3, 4, 4]);
        assert_eq!([359, 360, 361, 362, 363, 364, 365].map(after), [4, 4, 3, 2, 1, 0, 0]);
    }

    #[test]
    fn one_day_enters_one_matures_and_one_leaves_at_each_epoch() {
        for epoch in (80_000..80_008).map(Epoch) {
            let days = || (epoch.first_day().0 - 3..=epoch.last_day().0 + 3).map(Day);
            let changes = |phase: fn(Day, Epoch) -> u8| -> Vec<(Day, i16)> {
                let change =
                    |day| (day, i16::from(phase(day, epoch.next())) - i16::from(phase(day, epoch)));
                days().map(change).filter(|(_, change)| *change != 0).collect()
            };
            let (counted, matured) = (changes(quarters), changes(matured_quarters));
            assert_eq!(counted.iter().map(|it| it.1).collect::<Vec<_>>(), [-1, 1], "{epoch:?}");
            let maturing = Day(counted[1].0.0 - 10);
            assert_eq!(matured, [counted[0], (maturing, 1)], "{epoch:?}");
        }
    }

    #[test]
    fn the_days_that_count_are_those_from_the_first_to_the_last() {
        for epoch in (80_000..80_008).map(Epoch) {
            let (first, last) = (epoch.first_day(), epoch.last_day());
            assert!(quarters(first, epoch) > 0 && quarters(last, epoch) > 0, "{epoch:?}");
            assert_eq!(quarters(Day(first.0 - 1), epoch), 0, "{epoch:?}");
            assert_eq!(quarters(Day(last.0 + 1), epoch), 0, "{epoch:?}");
        }
        for phase in [quarters, matured_quarters] {
            assert_eq!(phase(Day(i32::MAX), Epoch(i64::MIN)), 0);
            assert_eq!(phase(Day(i32::MIN), Epoch(i64::MAX)), 0);
        }
    }
}
