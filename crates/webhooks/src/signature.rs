//! The headers of one attempt: its signatures, each with the time of the attempt over the same bytes
//! (docs/contract/webhooks.md#signature).

use std::time::Duration;

use aws_lc_rs::hmac::{self, HMAC_SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use primitives::{EventId, Timestamp};

use crate::SigningSecret;

const SIGNATURE: HeaderName = HeaderName::from_static("x-webhook-signature");
// Of Standard Webhooks.
const STANDARD_ID: HeaderName = HeaderName::from_static("webhook-id");
const STANDARD_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const STANDARD_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// Names the sender and the format of its requests.
const SENDER: HeaderValue = HeaderValue::from_static("Souk-Webhooks/1");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Difference between the clocks of this process and of the database from which nothing is signed: receivers reject a
/// signature whose time differs from theirs by more than five minutes, and one of the two clocks is wrong.
const SKEW_MAX: Duration = Duration::from_secs(30);

/// Returns the headers of an attempt at `now`. There are two secrets for a day after a rotation, the new one first.
#[must_use]
pub fn headers(
    event: EventId,
    now: Timestamp,
    body: &[u8],
    secrets: &[SigningSecret],
) -> HeaderMap {
    let (id, time) = (event.to_string(), now.unix_seconds().to_string());
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(CONTENT_TYPE, JSON);
    headers.insert(USER_AGENT, SENDER);
    headers.insert(SIGNATURE, ascii(signature(&time, body, secrets)));
    headers.insert(STANDARD_SIGNATURE, ascii(standard_signature(&id, &time, body, secrets)));
    headers.insert(STANDARD_ID, ascii(id));
    headers.insert(STANDARD_TIMESTAMP, ascii(time));
    headers
}

/// `t=<unix seconds>,v1=<hex>`, keyed with the whole text of each secret, over `<t>.<body>`.
fn signature(time: &str, body: &[u8], secrets: &[SigningSecret]) -> String {
    let mut value = format!("t={time}");
    for secret in secrets {
        let mac = mac(secret.text().as_bytes(), &[time.as_bytes(), body]);
        value.push_str(",v1=");
        value.push_str(&hex::encode(mac));
    }
    value
}

/// `v1,<base64>` for each secret, separated by spaces, keyed with the bytes of the secret, over `<id>.<t>.<body>`.
fn standard_signature(id: &str, time: &str, body: &[u8], secrets: &[SigningSecret]) -> String {
    let one = |secret: &SigningSecret| {
        let mac = mac(secret.key(), &[id.as_bytes(), time.as_bytes(), body]);
        format!("v1,{}", STANDARD.encode(mac))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Returns the HMAC-SHA256 of the parts, joined by dots.
fn mac(key: &[u8], parts: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(&hmac::Key::new(HMAC_SHA256, key));
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            context.update(b".");
        }
        context.update(part);
    }
    context.sign()
}

fn ascii(value: String) -> HeaderValue {
    #[expect(
        clippy::expect_used,
        reason = "ids, numbers, hexadecimal and base64 are visible ASCII"
    )]
    HeaderValue::try_from(value).expect("visible ASCII")
}

/// How far the clock of this process is ahead of that of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClockSkew {
    micros: i64,
}

impl ClockSkew {
    /// Compares the clocks. The clock of this process was read before and after that of the database.
    pub(crate) fn measure(before: Timestamp, database: Timestamp, after: Timestamp) -> Self {
        let (before, after) = (before.unix_micros(), after.unix_micros());
        let local = before.saturating_add(after.saturating_sub(before) / 2);
        Self { micros: local.saturating_sub(database.unix_micros()) }
    }

    /// Returns whether requests may be signed.
    pub(crate) fn is_tolerable(self) -> bool {
        Duration::from_micros(self.micros.unsigned_abs()) <= SKEW_MAX
    }

    #[expect(clippy::cast_precision_loss, reason = "a metric")]
    pub(crate) fn seconds(self) -> f64 {
        self.micros as f64 / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "evt_0199e3a1c5d27b64a8f01c2d3e4f5a6b";
    const BODY: &str =
        "{\"id\":\"evt_0199e3a1c5d27b64a8f01c2d3e4f5a6b\",\"note\":\"Grüße – 東京\"}";
    // Computed with `hmac` of Python's standard library, over `1800000000.<BODY>` and `<ID>.1800000000.<BODY>`.
    const HEX: [&str; 2] = [
        "b290f4696b1bfeb2bd4da519d1da8997817cbef9328f75876604235d0c78ab53",
        "d38f9862b79b3d70e8a1f82240d4cf480f3880421bcc1d80096225bb0ea0ada6",
    ];
    const BASE64: [&str; 2] = [
        "TTS9jDRkCQhEHzsCVZcp5wMfN+ONSOFlay2ZeDesT60=",
        "svV4n9Pzr5LM0BYEOvWkBwHlG243bpNXqkmsCk0rg2A=",
    ];

    fn time(unix_seconds: i64) -> Timestamp {
        Timestamp::from_unix_micros(unix_seconds * 1_000_000)
    }

    fn secrets() -> [SigningSecret; 2] {
        [*b"souk-webhooks-test-secret-no-001", *b"souk-webhooks-test-secret-no-002"]
            .map(SigningSecret::of)
    }

    fn signed(secrets: &[SigningSecret]) -> HeaderMap {
        headers(ID.parse().unwrap(), time(1_800_000_000), BODY.as_bytes(), secrets)
    }

    #[test]
    fn one_secret_makes_one_signature_in_each_scheme() {
        let headers = signed(&secrets()[..1]);
        assert_eq!(headers["x-webhook-signature"], format!("t=1800000000,v1={}", HEX[0]));
        assert_eq!(headers["webhook-id"], ID);
        assert_eq!(headers["webhook-timestamp"], "1800000000");
        assert_eq!(headers["webhook-signature"], format!("v1,{}", BASE64[0]));
        assert_eq!(headers["content-type"], "application/json");
    }

    #[test]
    fn two_secrets_make_two_signatures_in_each_scheme() {
        let headers = signed(&secrets());
        let expected = format!("t=1800000000,v1={},v1={}", HEX[0], HEX[1]);
        assert_eq!(headers["x-webhook-signature"], expected);
        assert_eq!(headers["webhook-signature"], format!("v1,{} v1,{}", BASE64[0], BASE64[1]));
    }

    #[test]
    fn the_time_is_signed() {
        let at = |seconds| signature(&time(seconds).unix_seconds().to_string(), b"{}", &secrets());
        let digits = |value: String| value.split_once(",v1=").unwrap().1.to_owned();
        assert_ne!(digits(at(1_800_000_000)), digits(at(1_800_000_001)));
    }

    #[test]
    fn a_clock_more_than_thirty_seconds_off_is_not_tolerable() {
        let skew = |local: i64| ClockSkew::measure(time(local), time(1000), time(local + 2));
        for (local, tolerable) in [(999, true), (1029, true), (1030, false), (968, false)] {
            assert_eq!(skew(local).is_tolerable(), tolerable, "{local}");
        }
        assert!((skew(1009).seconds() - 10.0).abs() < 1e-9);
        // A slow answer of the database is no skew.
        let slow = ClockSkew::measure(time(1000), time(1005), time(1010));
        assert!(slow.is_tolerable() && slow.seconds().abs() < 1e-9);
    }
}
