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
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A point in time in UTC with microsecond precision, as PostgreSQL stores it; RFC 3339 on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// Creates a timestamp from microseconds since the Unix epoch.
    #[must_use]
    pub fn from_unix_micros(micros: i64) -> Self {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(micros) * 1_000);
        Self(time.unwrap_or(OffsetDateTime::UNIX_EPOCH))
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
            return Ok(Self(<OffsetDateTime as Decode<'_, Postgres>>::decode(value)?));
        }
        let micros = i128::from(<i64 as Decode<'_, Postgres>>::decode(value)?);
        let nanos = (micros + EPOCH_SECONDS * 1_000_000) * 1_000;
        Ok(Self(OffsetDateTime::from_unix_timestamp_nanos(nanos)?))
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(time: OffsetDateTime) -> Self {
        Self(time.to_offset(time::UtcOffset::UTC))
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
    type Err = time::error::Parse;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        OffsetDateTime::parse(text, &Rfc3339).map(Self::from)
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
}
