//! `responses`: every way in which a receiver can answer, or not, and what follows: the recorded attempt, the time of the next
//! one, and what the receiver can cost.
//!
//! 410 disables the endpoint at once and tells the merchant. `Retry-After` lengthens the wait and never shortens it, up to a day.
//! A redirect is a failure, and nobody connects to its target. Of a body of a gigabyte, plain or compressed, 20,000 bytes are
//! read, nothing is decompressed, and the connection is closed.

use std::collections::HashMap;
use std::time::Duration;

use primitives::MerchantId;
use uuid::Uuid;

use super::receiver::End;
use super::site::{PATIENCE, Registered, Site};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{peak_kilobytes, reset_peak_kilobytes};

/// The address that redirects lead to.
const INSIDE: &str = "127.0.0.9";
/// The bytes of a response that are stored.
const STORED_BYTES: usize = 512;
/// What the operating system may have taken of a body before the connection is closed: its buffers.
const SENT_BYTES_MAX: u64 = 30_000_000;
/// By how much the worker may grow.
const GROWTH_KILOBYTES_MAX: u64 = 50_000;
/// The limit of a request.
const TIMEOUT_MS: std::ops::Range<i32> = 9_000..12_500;

/// The expected record of the first attempt.
struct Case {
    path: String,
    status: Option<i16>,
    error: Option<&'static str>,
    outcome: &'static str,
    /// Seconds to the next attempt, at least and at most.
    next: Option<(f64, f64)>,
    /// Whether the request runs into its limit.
    is_slow: bool,
}

/// The first wait of the retry table, with jitter and the time of recording.
const FIRST_WAIT: Option<(f64, f64)> = Some((3.9, 8.0));

impl Case {
    fn new(path: &str, status: i16, outcome: &'static str, next: Option<(f64, f64)>) -> Self {
        let path = path.to_owned();
        Self { path, status: Some(status), error: None, outcome, next, is_slow: false }
    }

    /// An attempt without a response, which is repeated.
    fn failing(path: &str, error: &'static str) -> Self {
        let is_slow = error == "timeout";
        let new =
            Self::new(path, 0, "retry", if is_slow { Some((13.0, 20.0)) } else { FIRST_WAIT });
        Self { status: None, error: Some(error), is_slow, ..new }
    }
}

fn cases(port: u16) -> Vec<Case> {
    let day = 86_400.0;
    let mut cases = vec![
        Case::new("/ok/plain", 200, "delivered", None),
        Case::new("/status/204", 204, "delivered", None),
        Case::new("/status/410", 410, "dead", None),
        Case::new("/status/404", 404, "retry", FIRST_WAIT),
        Case::new("/status/500", 500, "retry", FIRST_WAIT),
        Case::new("/retry-after/1", 429, "retry", FIRST_WAIT),
        Case::new("/retry-after/120", 429, "retry", Some((119.0, 124.0))),
        Case::new("/retry-after/99999999", 429, "retry", Some((day - 1.0, day + 4.0))),
        Case::new("/retry-after/soon", 429, "retry", FIRST_WAIT),
        Case::new("/endless", 200, "delivered", None),
        Case::new("/gzip-bomb", 200, "delivered", None),
        Case::failing("/hang", "timeout"),
        Case::failing("/drip", "timeout"),
        Case::failing("/slow-headers", "timeout"),
        Case::failing("/reset", "connection_closed"),
        Case::failing("/garbage", "invalid_response"),
    ];
    for code in [301, 302, 307, 308] {
        let path = format!("/redirect/{code}/{INSIDE}:{port}");
        cases.push(Case::new(&path, code, "retry", FIRST_WAIT));
    }
    cases
}

/// A recorded attempt.
#[derive(Debug, sqlx::FromRow)]
struct Attempt {
    endpoint_id: Uuid,
    status: Option<i16>,
    error: Option<String>,
    outcome: String,
    latency_ms: i32,
    response: Option<Vec<u8>>,
    next_seconds: Option<f64>,
}

pub(crate) async fn prove(_: Trial) -> Verdict {
    let site = Site::open().await?;
    let merchant = site.store("attic").await;
    let cases = cases(site.receiver.port);
    let mut endpoints = Vec::new();
    for case in &cases {
        endpoints.push(site.endpoint(merchant, &case.path).await?);
    }
    // Three requests take ten seconds: with a short lease, a busy machine would lose it and begin them again.
    let worker = site.worker(&[("SOUK_WEBHOOK_LEASE_SECONDS", String::from("15"))])?;
    // Until it runs, and its memory is that of an idle worker.
    worker.until_metric("souk_webhook_clock_skew_seconds", |_| true).await?;
    let before = reset_peak_kilobytes(worker.souk.pid())?;
    site.publish(merchant).await?;
    let first = "SELECT count(DISTINCT endpoint_id) FROM webhook_attempt WHERE number = 1";
    site.until_count("attempts", first, i64::try_from(cases.len())?, PATIENCE).await?;
    let grown = peak_kilobytes(worker.souk.pid())?.saturating_sub(before);
    ensure(grown < GROWTH_KILOBYTES_MAX, || format!("the worker grew by {grown} kB"))?;
    let attempts = attempts(&site).await?;
    for (case, endpoint) in cases.iter().zip(&endpoints) {
        let attempt = attempts.get(&endpoint.id.uuid());
        check(case, attempt.ok_or_else(|| format!("{}: no attempt", case.path))?)?;
    }
    let inside = site.receiver.connections()?.iter().filter(|to| to.to_string() == INSIDE).count();
    ensure(inside == 0, || format!("{inside} connections to the target of a redirect"))?;
    let sent = check_bodies(&site.receiver.ends()?)?;
    let gone = cases.iter().position(|case| case.path == "/status/410").ok_or("no case of 410")?;
    check_gone(&site, merchant, &endpoints[gone]).await?;
    Ok(format!(
        "{} kinds of answers, each with its record and the time of the next attempt; 410 disables with a notice; no connection to \
         the target of a redirect; of a gigabyte at most {} kB were sent before the connection was closed; the worker grew by {} MB",
        cases.len(),
        sent / 1_000,
        grown / 1_000,
    ))
}

async fn attempts(site: &Site) -> Result<HashMap<Uuid, Attempt>, Failure> {
    let attempts: Vec<Attempt> = sqlx::query_as(
        "SELECT endpoint_id, status, error, outcome, latency_ms, response,
                extract(epoch FROM next_at - attempted_at)::float8 AS next_seconds
         FROM webhook_attempt WHERE number = 1",
    )
    .fetch_all(&mut site.raw().await)
    .await?;
    Ok(attempts.into_iter().map(|attempt| (attempt.endpoint_id, attempt)).collect())
}

fn check(case: &Case, attempt: &Attempt) -> Result<(), Failure> {
    let describe = || format!("{}: {attempt:?}", case.path);
    let is_same = (attempt.status, attempt.error.as_deref(), attempt.outcome.as_str())
        == (case.status, case.error, case.outcome);
    ensure(is_same, describe)?;
    let is_in_time = match (case.next, attempt.next_seconds) {
        (None, None) => true,
        (Some((least, most)), Some(next)) => least <= next && next <= most,
        _ => false,
    };
    ensure(is_in_time, describe)?;
    ensure(!case.is_slow || TIMEOUT_MS.contains(&attempt.latency_ms), describe)?;
    ensure(case.is_slow || attempt.latency_ms < TIMEOUT_MS.start, describe)?;
    let stored = attempt.response.as_deref().unwrap_or_default();
    ensure(stored.len() <= STORED_BYTES, describe)?;
    // The first bytes as they were sent: gzip, not what it contains.
    ensure(case.path != "/gzip-bomb" || stored.starts_with(&[0x1f, 0x8b]), describe)?;
    ensure(case.path != "/endless" || stored == [b'x'; STORED_BYTES], describe)
}

/// Checks that long bodies were cut, and returns the most bytes that were sent of one.
fn check_bodies(ends: &[End]) -> Result<u64, Failure> {
    let mut most = 0;
    for path in ["/endless", "/gzip-bomb"] {
        let end = ends.iter().find(|end| end.path == path);
        let end = end.ok_or_else(|| format!("{path} has not ended"))?;
        let is_cut = end.sent_bytes < SENT_BYTES_MAX && end.elapsed_ms < 5_000;
        ensure(is_cut, || format!("{end:?}"))?;
        most = most.max(end.sent_bytes);
    }
    Ok(most)
}

/// Checks that the endpoint that answered 410 is disabled, that the merchant has a notice, and that nothing more is queued for it.
async fn check_gone(site: &Site, merchant: MerchantId, gone: &Registered) -> Result<(), Failure> {
    let mut sql = site.raw().await;
    let query = "SELECT count(*) FROM webhook_endpoint WHERE endpoint_id = $1 AND status = 'disabled' AND disabled_reason = 'gone'";
    let disabled: i64 = sqlx::query_scalar(query).bind(gone.id.uuid()).fetch_one(&mut sql).await?;
    ensure(disabled == 1, || String::from("an endpoint that answered 410 is not disabled"))?;
    let query = "SELECT count(*) FROM merchant_notice WHERE merchant_id = $1 AND kind = 'webhook_endpoint_disabled'";
    let notices: i64 = sqlx::query_scalar(query).bind(merchant.uuid()).fetch_one(&mut sql).await?;
    ensure(notices == 1, || format!("{notices} notices of a disabled endpoint"))?;
    let before = site.receiver.requests()?.iter().filter(|it| it.path == "/status/410").count();
    let event = site.publish(merchant).await?;
    let is_next = |request: &super::receiver::Request| {
        request.path == "/ok/plain" && request.event() == event.to_string()
    };
    let limit = Duration::from_secs(20);
    site.receiver.until("another event", limit, |requests| requests.iter().any(is_next)).await?;
    let after = site.receiver.requests()?.iter().filter(|it| it.path == "/status/410").count();
    ensure((before, after) == (1, 1), || format!("{after} requests to an endpoint that is gone"))
}
