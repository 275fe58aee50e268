//! What agents send with a checkout, parsed: each type has one constructor, which validates.

use std::sync::LazyLock;

use orders::ConfirmationLevel;
use primitives::ConfirmationId;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::{Host, Url};

use crate::{CheckoutError, ProofClaim};

/// The reason of a cancellation: a short code of the agent that the merchant sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonCode(String);

impl ReasonCode {
    /// The pattern of a valid code. Doors advertise it.
    pub const PATTERN: &str = "^[a-z][a-z0-9_]{0,49}$";

    /// Returns the code, or `InvalidReasonCode` unless the text matches the pattern.
    pub fn new(text: &str) -> Result<Self, CheckoutError> {
        static VALID: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(ReasonCode::PATTERN).ok());
        let is_valid = VALID.as_ref().is_some_and(|valid| valid.is_match(text));
        if is_valid { Ok(Self(text.to_owned())) } else { Err(CheckoutError::InvalidReasonCode) }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Where the agent wants the buyer to continue: an HTTPS URL. It is stored with the session and returned to the agent, and
/// rendered on no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnUrl(String);

impl ReturnUrl {
    /// The length of the longest URL. Doors advertise it.
    pub const LENGTH_MAX: usize = 2000;

    /// Returns the URL, or `InvalidReturnUrl` if it is too long, contains credentials or characters that a URL cannot
    /// contain, or is not HTTPS. HTTP is accepted in development, on loopback.
    pub fn new(text: &str, is_development: bool) -> Result<Self, CheckoutError> {
        let is_plain =
            text.len() <= Self::LENGTH_MAX && text.bytes().all(|it| it.is_ascii_graphic());
        let url = Url::parse(text).ok().filter(|_| is_plain);
        let is_accepted = url.is_some_and(|url| {
            let is_loopback = match url.host() {
                Some(Host::Domain(name)) => name == "localhost",
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
                None => return false,
            };
            let is_secure = url.scheme() == "https"
                || (url.scheme() == "http" && is_loopback && is_development);
            is_secure && url.username().is_empty() && url.password().is_none()
        });
        if is_accepted { Ok(Self(text.to_owned())) } else { Err(CheckoutError::InvalidReturnUrl) }
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Proof that a person approved the purchase.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProofRequest {
    /// Confirmation level. `attested`: the person approved in the chat. `hosted` without `confirmation_id`: the error contains a page on which the person approves. `mandate` is not accepted yet.
    #[schemars(with = "Option<String>", extend("enum" = ConfirmationLevel::ALL))]
    pub level: Option<ConfirmationLevel>,
    /// Id of the confirmation request that the person approved.
    #[schemars(extend("x-former-names" = ["../confirmation_id"]))]
    pub confirmation_id: Option<ConfirmationId>,
}

impl ProofRequest {
    /// Returns the claim, or an error if the level is not supported, or if the hash of the approved terms is not a hash.
    pub fn claim(self, quote_hash: Option<&str>) -> Result<ProofClaim, CheckoutError> {
        let quote_hash = quote_hash.map(str::parse).transpose()?;
        ProofClaim::new(self.level, self.confirmation_id, quote_hash)
    }
}

/// JSON object of the agent, stored with a session and returned to the agent unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Metadata(Value);

impl Metadata {
    /// The size of the largest object, in bytes of JSON.
    pub const BYTES_MAX: usize = 4096;

    /// Returns the metadata, or `InvalidMetadata` if it is too large or not an object.
    pub fn new(value: Value) -> Result<Self, CheckoutError> {
        if value.is_object() && value.to_string().len() <= Self::BYTES_MAX {
            Ok(Self(value))
        } else {
            Err(CheckoutError::InvalidMetadata)
        }
    }

    /// Returns the object.
    #[must_use]
    pub const fn as_value(&self) -> &Value {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reason_code_matches_the_advertised_pattern() {
        for valid in ["price", "shipping_cost", "a", "a1", &"a".repeat(50)] {
            assert!(ReasonCode::new(valid).is_ok(), "{valid}");
        }
        for invalid in ["", "1price", "_price", "Price", "price now", "price\n", &"a".repeat(51)] {
            assert!(ReasonCode::new(invalid).is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn a_return_url_is_https() {
        let long = format!("https://{}", "a".repeat(ReturnUrl::LENGTH_MAX));
        let is_valid = |text: &str, is_development| ReturnUrl::new(text, is_development).is_ok();
        assert!(is_valid("https://agent.example/done?step=2", false));
        for invalid in [
            "",
            "https://",
            "http://agent.example",
            "javascript:alert(1)",
            "//agent.example/done",
            "https://agent.example@evil.example/",
            "https://agent.example/\u{0}",
            "https://agent.example/a\nb",
            "https://agent.example/é",
            long.as_str(),
        ] {
            for is_development in [false, true] {
                assert!(!is_valid(invalid, is_development), "{invalid}");
            }
        }
        for local in ["http://localhost:3000/done", "http://127.0.0.1/", "http://[::1]:8080/"] {
            assert!(is_valid(local, true) && !is_valid(local, false), "{local}");
        }
    }

    #[test]
    fn metadata_is_a_small_object() {
        assert!(Metadata::new(json!({ "trip": 7 })).is_ok());
        for invalid in [json!(null), json!([1]), json!({ "a": "x".repeat(Metadata::BYTES_MAX) })] {
            assert!(Metadata::new(invalid).is_err());
        }
    }
}
