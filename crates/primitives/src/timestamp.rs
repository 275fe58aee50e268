//! Timestamps. The type has no `now`: the current time comes from `Work` and `Reading`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::{
    PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef, Postgres,
};
use sqlx::{Decode, Encode};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// 0001-01-01T00:00:00Z, the first moment of the range, in microseconds since the Unix epoch.
const MICROS_MIN: i64 = -62_135_596_800_000_000;
/// 9999-12-31T23:59:59.999999Z, the last microsecond of the range.
const MICROS_MAX: i64 = 253_402_300_799_999_999;

/// A point in time in UTC with microsecond precision, as PostgreSQL stores it; RFC 3339 on the wire. It is in the years 1 to
/// 9999 of UTC, so that every timestamp can be formatted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(OffsetDateTime);

/// Error returned when a text is not a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimestamp {
    /// The text is not RFC 3339.
    #[error(transparent)]
    Syntax(#[from] time::error::Parse),
    #[error("a timestamp is in the years 1 to 9999 of UTC")]
    OutOfRange,
}

impl Timestamp {
    /// Creates a timestamp from microseconds since the Unix epoch. A number out of range becomes the first or the last
    /// microsecond of the range.
    #[must_use]
    pub fn from_unix_micros(micros: i64) -> Self {
        let nanos = i128::from(micros.clamp(MICROS_MIN, MICROS_MAX)) * 1_000;
        let time = OffsetDateTime::from_unix_timestamp_nanos(nanos);
        Self(time.unwrap_or(OffsetDateTime::UNIX_EPOCH))
    }

    /// Returns the same point in time in UTC, or an error if it is out of range.
    fn in_utc(time: OffsetDateTime) -> Result<Self, InvalidTimestamp> {
        let utc = time.checked_to_offset(UtcOffset::UTC);
        let in_range = utc.filter(|utc| (1..=9_999).contains(&utc.year()));
        in_range.map(Self).ok_or(InvalidTimestamp::OutOfRange)
    }

    /// Returns the microseconds since the Unix epoch.
    #[must_use]
    pub fn unix_micros(self) -> i64 {
        i64::try_from(self.0.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX)
    }

    /// Returns the whole seconds since the Unix epoch.
    #[must_use]
    pub const fn unix_seconds(self) -> i64 {
        self.0.unix_timestamp()
    }

    /// Returns the timestamp `span` later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self::from_unix_micros(self.unix_micros().saturating_add(micros(span)))
    }

    /// Returns the timestamp `span` earlier.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self::from_unix_micros(self.unix_micros().saturating_sub(micros(span)))
    }

    /// Returns the duration since `earlier`, or zero if `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let span = self.unix_micros().saturating_sub(earlier.unix_micros());
        Duration::from_micros(u64::try_from(span).unwrap_or(0))
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

impl sqlx::Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        <OffsetDateTime as sqlx::Type<Postgres>>::type_info()
    }
}

impl PgHasArrayType for Timestamp {
    fn array_type_info() -> PgTypeInfo {
        <OffsetDateTime as PgHasArrayType>::array_type_info()
    }
}

impl Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        self.0.encode_by_ref(buffer)
    }
}

impl<'row> Decode<'row, Postgres> for Timestamp {
    /// `infinity` and other times that the type cannot represent are errors of their row. The decoder of `OffsetDateTime`
    /// panics.
    fn decode(value: PgValueRef<'row>) -> Result<Self, BoxDynError> {
        /// Seconds from the Unix epoch to that of PostgreSQL, 2000-01-01.
        const EPOCH_SECONDS: i128 = 946_684_800;
        if value.format() == PgValueFormat::Text {
            return Ok(Self::in_utc(<OffsetDateTime as Decode<'_, Postgres>>::decode(value)?)?);
        }
        let micros = i128::from(<i64 as Decode<'_, Postgres>>::decode(value)?);
        let nanos = (micros + EPOCH_SECONDS * 1_000_000) * 1_000;
        Ok(Self::in_utc(OffsetDateTime::from_unix_timestamp_nanos(nanos)?)?)
    }
}

impl From<OffsetDateTime> for Timestamp {
    /// A time out of range becomes the first or the last microsecond of the range.
    fn from(time: OffsetDateTime) -> Self {
        let nearest = if time.unix_timestamp() < 0 { MICROS_MIN } else { MICROS_MAX };
        Self::in_utc(time).unwrap_or_else(|_| Self::from_unix_micros(nearest))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.format(&Rfc3339).map_err(|_| fmt::Error)?;
        formatter.write_str(&text)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        Self::in_utc(OffsetDateTime::parse(text, &Rfc3339)?)
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "date-time" })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_timestamp_round_trips_in_utc() {
        let time: Timestamp = "2026-11-15T10:00:00.123456+02:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-15T08:00:00.123456Z");
        assert_eq!(Timestamp::from_unix_micros(time.unix_micros()), time);
    }

    #[test]
    fn durations_add_and_subtract() {
        let start = Timestamp::from_unix_micros(0);
        let later = start.plus(Duration::from_mins(30));
        assert_eq!(later.since(start), Duration::from_mins(30));
        assert_eq!(start.since(later), Duration::ZERO);
        assert_eq!(later.minus(Duration::from_mins(30)), start);
    }

    #[test]
    fn a_timestamp_is_in_the_years_1_to_9999_of_utc() {
        for outside in [
            "0000-01-01T00:00:00+00:01",
            "0000-12-31T23:59:59.999999999Z",
            "0001-01-01T00:00:00+00:01",
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T12:00:00-23:59",
        ] {
            assert_eq!(
                outside.parse::<Timestamp>(),
                Err(InvalidTimestamp::OutOfRange),
                "{outside}"
            );
            serde_json::from_value::<Timestamp>(outside.into()).unwrap_err();
        }
        for (inside, in_utc) in [
            ("0000-12-31T23:59:00-00:01", "0001-01-01T00:00:00Z"),
            ("0001-01-01T00:01:00+00:01", "0001-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59.999999-00:00", "9999-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(inside.parse::<Timestamp>().unwrap().to_string(), in_utc, "{inside}");
        }
        assert!(matches!("yesterday".parse::<Timestamp>(), Err(InvalidTimestamp::Syntax(_))));
    }

    #[test]
    fn a_calculated_timestamp_stays_in_the_range() {
        let first = "0001-01-01T00:00:00Z";
        let last = "9999-12-31T23:59:59.999999Z";
        let local = |text| Timestamp::from(OffsetDateTime::parse(text, &Rfc3339).unwrap());
        for (time, nearest) in [
            (Timestamp::from_unix_micros(i64::MIN), first),
            (Timestamp::from_unix_micros(i64::MAX), last),
            (Timestamp::from_unix_micros(0).minus(Duration::MAX), first),
            (Timestamp::from_unix_micros(0).plus(Duration::MAX), last),
            (local("0001-01-01T00:00:00+01:00"), first),
            (local("9999-12-31T23:59:59-01:00"), last),
        ] {
            assert_eq!(time.to_string(), nearest);
        }
    }

    proptest! {
        #[test]
        fn what_parses_is_formatted_and_parses_to_the_same(
            text in "(000[01]|999[89]|[0-9]{4})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\
                     T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)([.][0-9]{1,9})?\
                     (Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])",
        ) {
            if let Ok(time) = text.parse::<Timestamp>() {
                prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
            }
        }

        #[test]
        fn every_number_of_microseconds_is_formatted(micros: i64) {
            let time = Timestamp::from_unix_micros(micros);
            prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
        }
    }
}
