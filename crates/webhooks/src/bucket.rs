//! The ring of partitions of bodies and attempts: one for each day, used in turn (`webhook_bucket` in the migrations).

use primitives::Timestamp;

/// Partitions of the ring.
const COUNT: i64 = 40;
const DAY_MICROS: i64 = 24 * 60 * 60 * 1_000_000;

fn day(at: Timestamp) -> i64 {
    at.unix_micros().div_euclid(DAY_MICROS)
}

fn of_day(day: i64) -> i16 {
    i16::try_from(day.rem_euclid(COUNT)).unwrap_or_default()
}

/// Returns the bucket of a time.
pub(crate) fn of(at: Timestamp) -> i16 {
    of_day(day(at))
}

/// Returns the buckets of the days that have ended before a time, as far as the ring reaches back.
pub(crate) fn before(now: Timestamp, before: Timestamp) -> Vec<i16> {
    // Of the day of `before` itself, some rows are younger. The bucket of today is that of the day forty days ago.
    ((day(now) - COUNT + 1)..day(before)).map(of_day).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::purge::RETENTION;

    #[test]
    fn only_days_that_ended_before_the_retention_are_old() {
        let now = Timestamp::from_unix_micros(20_000 * DAY_MICROS + 7);
        let buckets = before(now, now.minus(RETENTION));
        let days: Vec<i16> = (19_961..19_970).map(|day: i16| day % 40).collect();
        assert_eq!(buckets, days);
        let today = of(now);
        assert_eq!(i64::from(today), 20_000 % COUNT);
        for recent in 0..=30 {
            assert!(!buckets.contains(&((today + 40 - recent) % 40)), "{recent} days ago");
        }
        assert!(buckets.contains(&((today + 1) % 40)), "tomorrow's is emptied in time");
    }
}
