#![doc = include_str!("../README.md")]

use std::fmt;
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use subtle::{Choice, ConstantTimeEq as _};

/// The name of the header that carries the signature.
pub const HEADER: &str = "x-webhook-signature";

/// The largest difference between the timestamp and the current time, in either direction, unless
/// [`Verifier::with_tolerance`] sets another one.
pub const DEFAULT_TOLERANCE: Duration = Duration::from_mins(5);

const HEADER_BYTES_MAX: usize = 4096;
const SIGNATURES_MAX: usize = 10;
const TIMESTAMP_DIGITS_MAX: usize = 15;

/// Verifies the webhooks of one endpoint.
#[derive(Clone)]
pub struct Verifier {
    secrets: Vec<String>,
    tolerance: Duration,
}

/// A verified event. A receiver processes each `id` once, because an event can be delivered more
/// than once.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    pub id: String,
    pub kind: String,
    /// The whole body, an object.
    pub data: Value,
}

/// Why a request is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    MissingSecret,
    MissingHeader,
    MalformedHeader,
    MissingTimestamp,
    MissingSignature,
    OutsideTolerance,
    NoMatch,
    InvalidBody,
}

impl Verifier {
    /// Creates a verifier from the secrets of the endpoint as they were shown (`whsec_…`), any of
    /// which may match. Returns [`Error::MissingSecret`] if there is none or if one is empty: with an
    /// empty key, everybody can compute the signature.
    pub fn new<S: Into<String>>(secrets: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let secrets: Vec<String> = secrets.into_iter().map(Into::into).collect();
        if secrets.is_empty() || secrets.iter().any(String::is_empty) {
            return Err(Error::MissingSecret);
        }
        Ok(Self { secrets, tolerance: DEFAULT_TOLERANCE })
    }

    /// Sets the tolerance, in whole seconds.
    #[must_use]
    pub fn with_tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Verifies the signature of a request at the current time and returns its event. `header` is the
    /// value of [`HEADER`], `body` the body as it was received.
    pub fn verify(&self, header: Option<&str>, body: &[u8]) -> Result<Event, Error> {
        self.verify_at(header, body, unix_now())
    }

    /// Verifies the signature of a request at a Unix time in seconds and returns its event.
    pub fn verify_at(&self, header: Option<&str>, body: &[u8], now: u64) -> Result<Event, Error> {
        self.verify_signature_at(header, body, now)?;
        Event::parse(body)
    }

    /// Verifies the signature at the current time, without reading the body.
    pub fn verify_signature(&self, header: Option<&str>, body: &[u8]) -> Result<(), Error> {
        self.verify_signature_at(header, body, unix_now())
    }

    /// Verifies the signature at a Unix time in seconds, without reading the body.
    pub fn verify_signature_at(
        &self,
        header: Option<&str>,
        body: &[u8],
        now: u64,
    ) -> Result<(), Error> {
        let header = SignatureHeader::parse(header)?;
        if now.abs_diff(header.unix_seconds) > self.tolerance.as_secs() {
            return Err(Error::OutsideTolerance);
        }
        let mut matches = Choice::from(0);
        for secret in &self.secrets {
            let expected = signature(secret, header.timestamp, body);
            for candidate in &header.signatures {
                matches |= expected.as_bytes().ct_eq(candidate.as_bytes());
            }
        }
        if bool::from(matches) { Ok(()) } else { Err(Error::NoMatch) }
    }
}

impl fmt::Debug for Verifier {
    /// Leaves the secrets out.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Verifier")
            .field("tolerance", &self.tolerance)
            .finish_non_exhaustive()
    }
}

/// The parts of the header that are verified.
struct SignatureHeader<'h> {
    /// The timestamp as it is written, which is what was signed.
    timestamp: &'h str,
    unix_seconds: u64,
    /// The values of `v1`, not checked for their form.
    signatures: Vec<&'h str>,
}

impl<'h> SignatureHeader<'h> {
    fn parse(header: Option<&'h str>) -> Result<Self, Error> {
        let header = header.filter(|header| !trim(header).is_empty());
        let header = header.ok_or(Error::MissingHeader)?;
        if header.len() > HEADER_BYTES_MAX || !header.is_ascii() {
            return Err(Error::MalformedHeader);
        }
        let mut timestamp = None;
        let mut signatures = Vec::new();
        for item in header.split(',').map(trim).filter(|item| !item.is_empty()) {
            match item.split_once('=').ok_or(Error::MalformedHeader)? {
                ("t", _) if timestamp.is_some() => return Err(Error::MalformedHeader),
                ("t", value) => timestamp = Some((value, parse_timestamp(value)?)),
                ("v1", value) => signatures.push(value),
                _ => {} // An item of a later version of the scheme.
            }
        }
        if signatures.len() > SIGNATURES_MAX {
            return Err(Error::MalformedHeader);
        }
        let (timestamp, unix_seconds) = timestamp.ok_or(Error::MissingTimestamp)?;
        if signatures.is_empty() {
            return Err(Error::MissingSignature);
        }
        Ok(Self { timestamp, unix_seconds, signatures })
    }
}

impl Event {
    fn parse(body: &[u8]) -> Result<Self, Error> {
        let data: Value = serde_json::from_slice(body).map_err(|_| Error::InvalidBody)?;
        let text = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
        match (text("id"), text("event")) {
            (Some(id), Some(kind)) => Ok(Self { id, kind, data }),
            _ => Err(Error::InvalidBody),
        }
    }
}

impl Error {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::MissingSecret,
        Self::MissingHeader,
        Self::MalformedHeader,
        Self::MissingTimestamp,
        Self::MissingSignature,
        Self::OutsideTolerance,
        Self::NoMatch,
        Self::InvalidBody,
    ];

    /// Returns the reason in the form for logs, the same in all languages: `outside_tolerance`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::MissingSecret => "missing_secret",
            Self::MissingHeader => "missing_header",
            Self::MalformedHeader => "malformed_header",
            Self::MissingTimestamp => "missing_timestamp",
            Self::MissingSignature => "missing_signature",
            Self::OutsideTolerance => "outside_tolerance",
            Self::NoMatch => "no_match",
            Self::InvalidBody => "invalid_body",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::MissingSecret => "no secret is configured, or one of the secrets is empty",
            Self::MissingHeader => "the request has no X-Webhook-Signature header",
            Self::MalformedHeader => "the X-Webhook-Signature header is malformed",
            Self::MissingTimestamp => "the X-Webhook-Signature header has no timestamp (t)",
            Self::MissingSignature => "the X-Webhook-Signature header has no signature (v1)",
            Self::OutsideTolerance => {
                "the timestamp differs from the current time by more than the tolerance"
            }
            Self::NoMatch => "no signature matches the body",
            Self::InvalidBody => "the signature matches, but the body is not an event",
        })
    }
}

impl std::error::Error for Error {}

/// Returns the lowercase hexadecimal HMAC-SHA256 of timestamp, dot and body. The key is the whole
/// secret, `whsec_` included.
fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key of any length");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

fn parse_timestamp(text: &str) -> Result<u64, Error> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || text.len() > TIMESTAMP_DIGITS_MAX {
        return Err(Error::MalformedHeader);
    }
    text.parse().map_err(|_| Error::MalformedHeader)
}

/// Removes spaces and tabs, and no other white space, from both ends.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn unix_now() -> u64 {
    #[allow(clippy::disallowed_methods, reason = "a receiver has no clock but that of its system")]
    let now = SystemTime::now();
    now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
