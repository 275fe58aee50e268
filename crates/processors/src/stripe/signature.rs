//! The signature of a webhook: HMAC-SHA256 over the timestamp and the body, in the header `Stripe-Signature: t=…,v1=…`.

use std::time::Duration;

use aws_lc_rs::hmac;
use primitives::Timestamp;

use crate::credentials::Secret;
use crate::webhook::WebhookError;

/// How far the timestamp may be from the current time, in both directions. Stripe signs every delivery anew.
const TOLERANCE: Duration = Duration::from_mins(5);

/// Stripe sends one signature for each secret, which are two for at most a day.
const SIGNATURES_MAX: usize = 16;

const HEADER: &str = super::SIGNATURE;
const INVALID: WebhookError = WebhookError::InvalidHeader(HEADER);

/// Verifies that one of the signatures was made with one of the secrets, and not long ago.
pub(super) fn verify(
    header: &str,
    body: &[u8],
    secrets: &[Secret],
    now: Timestamp,
) -> Result<(), WebhookError> {
    let Signatures { timestamp, signatures } = parse(header)?;
    let signed_at = Timestamp::from_unix_micros(seconds(timestamp)?.saturating_mul(1_000_000));
    let is_signed = secrets.iter().any(|secret| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes());
        let message = [timestamp.as_bytes(), b".", body].concat();
        // Compares in constant time.
        signatures.iter().any(|signature| hmac::verify(&key, &message, signature).is_ok())
    });
    if !is_signed {
        return Err(WebhookError::SignatureMismatch);
    }
    let is_recent = now.since(signed_at) <= TOLERANCE && signed_at.since(now) <= TOLERANCE;
    if is_recent { Ok(()) } else { Err(WebhookError::OutsideTolerance) }
}

struct Signatures<'header> {
    timestamp: &'header str,
    signatures: Vec<Vec<u8>>,
}

/// Parses the header. Schemes other than `v1` are ignored.
fn parse(header: &str) -> Result<Signatures<'_>, WebhookError> {
    let mut timestamp = None;
    let mut signatures = Vec::new();
    for item in header.split(',') {
        match item.trim().split_once('=') {
            Some(("t", value)) if timestamp.replace(value).is_some() => return Err(INVALID),
            Some(("v1", value)) => {
                if signatures.len() == SIGNATURES_MAX {
                    return Err(INVALID);
                }
                signatures.push(hex::decode(value).map_err(|_| INVALID)?);
            }
            Some(_) => {}
            None => return Err(INVALID),
        }
    }
    match timestamp {
        Some(timestamp) if !signatures.is_empty() => Ok(Signatures { timestamp, signatures }),
        _ => Err(INVALID),
    }
}

fn seconds(timestamp: &str) -> Result<i64, WebhookError> {
    let is_number = timestamp.bytes().all(|byte| byte.is_ascii_digit());
    timestamp.parse().ok().filter(|_| is_number).ok_or(INVALID)
}

/// Signs a body as Stripe does, for tests.
#[cfg(test)]
pub(super) fn sign(body: &[u8], secret: &str, timestamp: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, &[timestamp.as_bytes(), b".", body].concat());
    hex::encode(tag)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BODY: &[u8] = br#"{"id":"evt_1"}"#;
    const NOW: i64 = 1_795_000_000;

    fn secrets(texts: &[&str]) -> Vec<Secret> {
        texts.iter().map(|&text| Secret::new(text).unwrap()).collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_micros(seconds * 1_000_000)
    }

    fn header(secret: &str, seconds: i64) -> String {
        let timestamp = seconds.to_string();
        format!("t={timestamp},v1={}", sign(BODY, secret, &timestamp))
    }

    fn check(header: &str, with: &[&str]) -> Result<(), WebhookError> {
        verify(header, BODY, &secrets(with), at(NOW))
    }

    #[test]
    fn a_signature_of_any_secret_is_accepted() {
        let header = header("whsec_new", NOW);
        assert_eq!(check(&header, &["whsec_new"]), Ok(()));
        assert_eq!(check(&header, &["whsec_old", "whsec_new"]), Ok(()));
        assert_eq!(check(&header, &["whsec_other"]), Err(WebhookError::SignatureMismatch));
        assert_eq!(check(&header, &[]), Err(WebhookError::SignatureMismatch));
    }

    #[test]
    fn one_of_several_signatures_suffices() {
        let timestamp = NOW.to_string();
        let (other, ours) = (sign(BODY, "other", &timestamp), sign(BODY, "whsec_1", &timestamp));
        for header in [
            format!("t={timestamp},v1={other},v1={ours}"),
            format!("v1={ours},v0=6ffb,t={timestamp},v1={other}"),
            format!("t={timestamp}, v1={ours}"),
        ] {
            assert_eq!(check(&header, &["whsec_1"]), Ok(()), "{header}");
        }
        let only_v0 = format!("t={timestamp},v0={ours}");
        assert_eq!(check(&only_v0, &["whsec_1"]), Err(INVALID));
    }

    #[test]
    fn the_timestamp_is_recent_in_both_directions() {
        for (offset, expected) in [
            (-300, Ok(())),
            (-301, Err(WebhookError::OutsideTolerance)),
            (300, Ok(())),
            (301, Err(WebhookError::OutsideTolerance)),
        ] {
            assert_eq!(check(&header("whsec_1", NOW + offset), &["whsec_1"]), expected, "{offset}");
        }
    }

    #[test]
    fn a_changed_body_or_timestamp_does_not_match() {
        let header = header("whsec_1", NOW);
        let changed = verify(&header, b"{}", &secrets(&["whsec_1"]), at(NOW));
        assert_eq!(changed, Err(WebhookError::SignatureMismatch));
        let moved = header.replace(&NOW.to_string(), &(NOW + 1).to_string());
        assert_eq!(check(&moved, &["whsec_1"]), Err(WebhookError::SignatureMismatch));
    }

    #[test]
    fn a_header_of_another_form_is_refused() {
        let v1 = sign(BODY, "whsec_1", "1");
        let many = format!("t=1{}", format!(",v1={v1}").repeat(SIGNATURES_MAX + 1));
        for header in [
            "",
            "t=1",
            "t",
            "v1=00",
            "t=,v1=00",
            "t=-1,v1=00",
            "t=+1,v1=00",
            "t=1e3,v1=00",
            "t=99999999999999999999,v1=00",
            "t=1,v1=zz",
            "t=1,v1=0",
            "t=1,t=1,v1=00",
            &many,
        ] {
            assert_eq!(check(header, &["whsec_1"]), Err(INVALID), "{header}");
        }
    }

    proptest! {
        #[test]
        fn no_header_panics(header in "[tv10=, a-f]{0,80}") {
            let _ = check(&header, &["whsec_1"]);
        }

        #[test]
        fn a_changed_bit_of_the_signature_does_not_match(byte in 0_usize..32, bit in 0_u8..8) {
            let timestamp = NOW.to_string();
            let mut signature = hex::decode(sign(BODY, "whsec_1", &timestamp)).unwrap();
            signature[byte] ^= 1 << bit;
            let header = format!("t={timestamp},v1={}", hex::encode(signature));
            prop_assert_eq!(check(&header, &["whsec_1"]), Err(WebhookError::SignatureMismatch));
        }
    }
}
