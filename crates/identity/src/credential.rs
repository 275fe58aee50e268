//! Credentials of requests (docs/contract/authentication.md#methods).

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use primitives::ErrorCode;
use serde_json::Value;

/// Header of agent keys.
const AGENT_KEY: &str = "x-agent-api-key";

/// A credential as sent, not yet verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'sent> {
    Missing,
    /// From its own header, or a bearer token for clients that cannot set other headers.
    AgentKey(&'sent str),
    StoreKey(&'sent str),
    /// The access token of a person.
    Token(&'sent str),
    /// An `Authorization` header of another form.
    Malformed,
}

impl<'sent> Credential<'sent> {
    /// Extracts the credential. The header of agent keys takes precedence over `Authorization`.
    #[must_use]
    pub fn from_headers(headers: &'sent HeaderMap) -> Self {
        if let Some(key) = headers.get(AGENT_KEY) {
            // Text that is not ASCII is not a key, and is rejected as an invalid one.
            return Self::AgentKey(key.to_str().unwrap_or_default().trim());
        }
        let Some(value) = headers.get(AUTHORIZATION) else { return Self::Missing };
        // The scheme is case-insensitive (RFC 9110).
        let bearer = value.to_str().ok().and_then(|value| value.split_once(' '));
        match bearer.map(|(scheme, text)| (scheme.eq_ignore_ascii_case("bearer"), text.trim())) {
            Some((true, key)) if key.starts_with("agnt_") => Self::AgentKey(key),
            Some((true, key)) if key.starts_with("mrch_") => Self::StoreKey(key),
            Some((true, token)) if !token.is_empty() => Self::Token(token),
            _ => Self::Malformed,
        }
    }
}

/// Returns the `WWW-Authenticate` challenge (RFC 6750) for the status and the error envelope of a response.
#[must_use]
pub fn challenge(status: u16, envelope: &Value) -> Option<HeaderValue> {
    match (status, envelope["details"]["required_scope"].as_str()) {
        (401, _) if envelope["error"] == ErrorCode::TokenExpired.code() => {
            let expired =
                "Bearer error=\"invalid_token\", error_description=\"the token has expired\"";
            Some(HeaderValue::from_static(expired))
        }
        (401, _) => Some(HeaderValue::from_static("Bearer")),
        (403, Some(scope)) => {
            let text = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            HeaderValue::from_str(&text).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static [u8]) -> Credential<'static> {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static(name),
            HeaderValue::from_bytes(value).unwrap(),
        )]);
        Credential::from_headers(Box::leak(Box::new(headers)))
    }

    #[test]
    fn the_authorization_header_is_parsed() {
        assert_eq!(read("authorization", b"Bearer mrch_1"), Credential::StoreKey("mrch_1"));
        assert_eq!(read("authorization", b"bearer  agnt_1"), Credential::AgentKey("agnt_1"));
        assert_eq!(read("authorization", b"Bearer a.b.c"), Credential::Token("a.b.c"));
        for other in [&b"mrch_1"[..], b"Bearer", b"Bearer ", b"Basic mrch_1", b"Bearer \xff"] {
            assert_eq!(read("authorization", other), Credential::Malformed);
        }
        assert_eq!(Credential::from_headers(&HeaderMap::new()), Credential::Missing);
    }

    #[test]
    fn the_agent_key_header_takes_precedence() {
        assert_eq!(read("x-agent-api-key", b"agnt_1"), Credential::AgentKey("agnt_1"));
        assert_eq!(read("x-agent-api-key", b"nonsense"), Credential::AgentKey("nonsense"));
        assert_eq!(read("x-agent-api-key", b"\xff"), Credential::AgentKey(""));
        let both = [("x-agent-api-key", "agnt_1"), ("authorization", "Bearer mrch_1")];
        let both = both.map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        let headers = HeaderMap::from_iter(both);
        assert_eq!(Credential::from_headers(&headers), Credential::AgentKey("agnt_1"));
    }
}
