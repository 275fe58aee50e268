//! The period of a sale: `2026-11-01T08:00+0100/2026-11-30T23:59+0100`.

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

/// Returns begin and end as RFC 3339, or `None` if the text is no period. A date without a time is a whole day in UTC.
pub(super) fn parse(text: &str) -> Option<(String, String)> {
    let (begin, end) = text.split_once('/')?;
    let (begin, _) = moment(begin.trim())?;
    let (end, is_day) = moment(end.trim())?;
    let end = if is_day { end.checked_add(time::Duration::DAY)? } else { end };
    (begin < end).then_some(())?;
    Some((rfc3339(begin)?, rfc3339(end)?))
}

fn rfc3339(moment: OffsetDateTime) -> Option<String> {
    moment.format(&time::format_description::well_known::Rfc3339).ok()
}

/// Returns a moment, and whether it is only a day.
fn moment(text: &str) -> Option<(OffsetDateTime, bool)> {
    let (date, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?.trim())),
        None => (text, None),
    };
    let mut parts = date.splitn(3, '-');
    let year = parts.next()?.parse().ok()?;
    let month = Month::try_from(parts.next()?.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, parts.next()?.parse().ok()?).ok()?;
    let Some(rest) = rest else {
        return Some((PrimitiveDateTime::new(date, Time::MIDNIGHT).assume_utc(), true));
    };
    let zone = rest.find(['+', '-', 'Z', 'z']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at_checked(zone)?;
    let clock = PrimitiveDateTime::new(date, clock_time(clock.trim())?);
    Some((clock.assume_offset(offset(zone.trim())?), false))
}

fn clock_time(text: &str) -> Option<Time> {
    let text = text.split('.').next()?;
    let mut parts = text.split(':').map(|part| part.parse::<u8>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    Time::from_hms(hour, minute, second).ok()
}

/// Parses `Z`, `+0100`, `+01:00` and `+01`; without one it is UTC.
fn offset(text: &str) -> Option<UtcOffset> {
    if text.is_empty() || text.eq_ignore_ascii_case("z") {
        return Some(UtcOffset::UTC);
    }
    let sign: i8 = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text.chars().skip(1).filter(|letter| *letter != ':').collect();
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i8 = digits.get(..2)?.parse().ok()?;
    let minutes: i8 = match digits.get(2..)? {
        "" => 0,
        minutes => minutes.parse().ok()?,
    };
    UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn periods_are_read() {
        for (text, begin, end) in [
            (
                "2026-11-01T08:00+0100/2026-11-30T23:59+0100",
                "2026-11-01T08:00:00+01:00",
                "2026-11-30T23:59:00+01:00",
            ),
            (
                "2026-11-01T08:00:30Z / 2026-11-02T00:00-05:30",
                "2026-11-01T08:00:30Z",
                "2026-11-02T00:00:00-05:30",
            ),
            ("2026-11-01/2026-11-02", "2026-11-01T00:00:00Z", "2026-11-03T00:00:00Z"),
        ] {
            let expected = (begin.to_owned(), end.to_owned());
            assert_eq!(parse(text), Some(expected), "{text}");
        }
        for wrong in
            ["", "/", "2026-11-01", "2026-13-01/2026-11-02", "2026-11-03/2026-11-01", "a/b"]
        {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(parse("2026-11-01T25:00Z/2026-12-01T00:00Z"), None);
        assert_eq!(parse("2026-11-01T08:00+01é/2026-12-01T00:00Z"), None);
    }
}
