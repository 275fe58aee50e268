//! When a delivery is attempted again, and when an endpoint gets no attempts: pure rules
//! (docs/contract/webhooks.md#retries).

use std::time::{Duration, UNIX_EPOCH};

use primitives::Timestamp;
use rand::{Rng, RngExt};

/// The delays before the attempts, counted from the attempt before.
const DELAYS: [Duration; 10] = [
    Duration::ZERO,
    Duration::from_secs(5),
    Duration::from_mins(5),
    Duration::from_mins(30),
    Duration::from_hours(2),
    Duration::from_hours(5),
    Duration::from_hours(10),
    Duration::from_hours(14),
    Duration::from_hours(20),
    Duration::from_hours(24),
];
/// Failures in a row from which the circuit of an endpoint is open.
pub(crate) const CIRCUIT_FAILURES: i32 = 5;
/// The delays before the probes of an open circuit. The last one repeats.
const PROBE_DELAYS: [Duration; 6] = [
    Duration::from_secs(30),
    Duration::from_mins(1),
    Duration::from_mins(2),
    Duration::from_mins(5),
    Duration::from_mins(10),
    Duration::from_mins(30),
];
/// The longest wait that a receiver can request with `Retry-After`.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);
/// For how long an endpoint may only fail before it is disabled.
const FAILING_MAX: Duration = Duration::from_hours(5 * 24);
/// Jitter in parts per thousand, to both sides.
const JITTER_PERMILLE: u32 = 200;

/// A random factor between 0.8 and 1.2, so that deliveries that failed together are not attempted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jitter(u32);

impl Jitter {
    pub(crate) fn random(random: &mut impl Rng) -> Self {
        Self(random.random_range(1000 - JITTER_PERMILLE..=1000 + JITTER_PERMILLE))
    }

    fn apply(self, delay: Duration) -> Duration {
        delay * self.0 / 1000
    }
}

/// Returns how long a delivery waits after its attempt of this number, from 1, has failed; `None` after the last one. A
/// receiver may ask for more with `Retry-After`, never for less.
pub(crate) fn retry_delay(
    failed: u16,
    retry_after: Option<Duration>,
    jitter: Jitter,
) -> Option<Duration> {
    let delay = jitter.apply(*DELAYS.get(usize::from(failed))?);
    Some(delay.max(retry_after.unwrap_or_default().min(RETRY_AFTER_MAX)))
}

/// Returns how long an endpoint that has failed so many times in a row gets no attempts; `None` while the circuit is closed.
pub(crate) fn probe_delay(consecutive_failures: i32, jitter: Jitter) -> Option<Duration> {
    let opened = usize::try_from(consecutive_failures.checked_sub(CIRCUIT_FAILURES)?).ok()?;
    Some(jitter.apply(PROBE_DELAYS[opened.min(PROBE_DELAYS.len() - 1)]))
}

/// Returns whether an endpoint that has only failed since then is disabled.
pub(crate) fn has_failed_too_long(failing_since: Timestamp, now: Timestamp) -> bool {
    now.since(failing_since) >= FAILING_MAX
}

/// Parses a `Retry-After` header: seconds, or an HTTP date. `None` if it is neither. A date that has passed is no wait.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are longer than any wait.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    let since_epoch = date.duration_since(UNIX_EPOCH).ok()?;
    let micros = i64::try_from(since_epoch.as_micros()).ok()?;
    Some(Timestamp::from_unix_micros(micros).since(now))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NONE: Jitter = Jitter(1000);
    const HOUR: Duration = Duration::from_hours(1);

    fn now() -> Timestamp {
        "2026-11-15T08:00:00Z".parse().unwrap()
    }

    #[test]
    fn ten_attempts_within_the_hours_of_the_contract() {
        let delays: Vec<Duration> =
            (1..).map_while(|failed| retry_delay(failed, None, NONE)).collect();
        let seconds: Vec<u64> = delays.iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(seconds.iter().sum::<u64>(), 75 * 3600 + 35 * 60 + 5);
        assert_eq!(retry_delay(10, Some(HOUR), NONE), None);
    }

    #[test]
    fn the_circuit_opens_with_the_fifth_failure() {
        let seconds = |failures| probe_delay(failures, NONE).map(|delay| delay.as_secs());
        assert_eq!((0..5).filter_map(seconds).count(), 0);
        let probes: Vec<u64> = (5..13).filter_map(seconds).collect();
        assert_eq!(probes, [30, 60, 120, 300, 600, 1800, 1800, 1800]);
        assert_eq!(seconds(i32::MAX), Some(1800));
    }

    #[test]
    fn five_days_of_failures_are_too_long() {
        let since = |span| has_failed_too_long(now(), now().plus(span));
        assert!(!since((HOUR * 5 * 24).saturating_sub(Duration::from_secs(1))));
        assert!(since(HOUR * 5 * 24));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let seconds = |value| retry_after(value, now()).map(|wait| wait.as_secs());
        assert_eq!(seconds("120"), Some(120));
        assert_eq!(seconds(" 0 "), Some(0));
        assert_eq!(seconds("99999999999999999999999"), Some(u64::MAX));
        assert_eq!(seconds("Sun, 15 Nov 2026 08:02:00 GMT"), Some(120));
        assert_eq!(seconds("Sunday, 15-Nov-26 08:02:00 GMT"), Some(120));
        assert_eq!(seconds("Sun Nov 15 08:02:00 2026"), Some(120));
        assert_eq!(seconds("Sun, 15 Nov 2026 07:00:00 GMT"), Some(0));
        for invalid in ["", "-1", "+5", "1.5", "soon", "2026-11-15T08:02:00Z", "٣"] {
            assert_eq!(seconds(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn retry_after_lengthens_a_wait_and_never_shortens_it() {
        let wait = |retry_after| retry_delay(2, Some(retry_after), NONE).unwrap();
        assert_eq!(wait(Duration::from_secs(1)), Duration::from_mins(5));
        assert_eq!(wait(HOUR), HOUR);
        assert_eq!(wait(HOUR * 1000), HOUR * 24);
    }

    fn jitter() -> impl Strategy<Value = Jitter> {
        (1000 - JITTER_PERMILLE..=1000 + JITTER_PERMILLE).prop_map(Jitter)
    }

    proptest! {
        #[test]
        fn a_wait_is_within_a_fifth_of_the_table(failed in 1u16..10, jitter in jitter()) {
            let (table, wait) = (DELAYS[usize::from(failed)], retry_delay(failed, None, jitter));
            let wait = wait.unwrap();
            prop_assert!(wait >= table * 4 / 5 && wait <= table * 6 / 5, "{:?}", wait);
        }

        #[test]
        fn no_header_makes_a_wait_shorter_or_longer_than_a_day(
            failed in 1u16..10, jitter in jitter(), header in "[0-9]{1,30}|.{0,40}"
        ) {
            let asked = retry_after(&header, now());
            let (plain, wait) = (retry_delay(failed, None, jitter), retry_delay(failed, asked, jitter));
            prop_assert!(wait >= plain);
            prop_assert!(wait.unwrap() <= plain.unwrap().max(RETRY_AFTER_MAX));
        }

        #[test]
        fn an_open_circuit_is_probed_every_half_hour_or_more_often(failures in 5i32.., jitter in jitter()) {
            let wait = probe_delay(failures, jitter).unwrap();
            prop_assert!(wait >= Duration::from_secs(24) && wait <= Duration::from_mins(36));
        }

        #[test]
        fn random_jitter_is_at_most_a_fifth(seed in any::<u64>()) {
            use rand::SeedableRng;
            let jitter = Jitter::random(&mut rand::rngs::StdRng::seed_from_u64(seed));
            prop_assert!((800..=1200).contains(&jitter.0));
        }
    }
}
