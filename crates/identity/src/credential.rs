//! What a caller shows of itself (spec §5).

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::Value;

/// The header of an agent's key.
const AGENT_KEY: &str = "x-agent-api-key";

/// A credential as it was sent; nobody has looked whether it is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'sent> {
    /// None.
    Missing,
    /// An agent's key: in its own header, or as a bearer for clients that can send nothing else.
    AgentKey(&'sent str),
    /// A key of a store.
    StoreKey(&'sent str),
    /// A person's token.
    Token(&'sent str),
    /// Something else.
    Unreadable,
}

impl<'sent> Credential<'sent> {
    /// As the headers have it. The header of agents goes before `Authorization`.
    #[must_use]
    pub fn of(headers: &'sent HeaderMap) -> Self {
        if let Some(key) = headers.get(AGENT_KEY) {
            // What cannot be read is no key, and is refused as such.
            return Self::AgentKey(key.to_str().unwrap_or_default().trim());
        }
        let Some(value) = headers.get(AUTHORIZATION) else { return Self::Missing };
        // The name of the scheme has no case (RFC 9110).
        let bearer = value.to_str().ok().and_then(|value| value.split_once(' '));
        match bearer.map(|(scheme, text)| (scheme.eq_ignore_ascii_case("bearer"), text.trim())) {
            Some((true, key)) if key.starts_with("agnt_") => Self::AgentKey(key),
            Some((true, key)) if key.starts_with("mrch_") => Self::StoreKey(key),
            Some((true, token)) if !token.is_empty() => Self::Token(token),
            _ => Self::Unreadable,
        }
    }
}

/// How a refused caller may make itself known (RFC 6750), by the status and the envelope of the refusal.
#[must_use]
pub fn challenge(status: u16, envelope: &Value) -> Option<HeaderValue> {
    match (status, envelope["details"]["required_scope"].as_str()) {
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
        Credential::of(Box::leak(Box::new(headers)))
    }

    #[test]
    fn the_text_is_behind_the_scheme() {
        assert_eq!(read("authorization", b"Bearer mrch_1"), Credential::StoreKey("mrch_1"));
        assert_eq!(read("authorization", b"bearer  agnt_1"), Credential::AgentKey("agnt_1"));
        assert_eq!(read("authorization", b"Bearer a.b.c"), Credential::Token("a.b.c"));
        for other in [&b"mrch_1"[..], b"Bearer", b"Bearer ", b"Basic mrch_1", b"Bearer \xff"] {
            assert_eq!(read("authorization", other), Credential::Unreadable);
        }
        assert_eq!(Credential::of(&HeaderMap::new()), Credential::Missing);
    }

    #[test]
    fn the_header_of_agents_goes_first() {
        assert_eq!(read("x-agent-api-key", b"agnt_1"), Credential::AgentKey("agnt_1"));
        assert_eq!(read("x-agent-api-key", b"nonsense"), Credential::AgentKey("nonsense"));
        assert_eq!(read("x-agent-api-key", b"\xff"), Credential::AgentKey(""));
        let both = [("x-agent-api-key", "agnt_1"), ("authorization", "Bearer mrch_1")];
        let both = both.map(|(name, value)| {
            (http::HeaderName::from_static(name), HeaderValue::from_static(value))
        });
        let headers = HeaderMap::from_iter(both);
        assert_eq!(Credential::of(&headers), Credential::AgentKey("agnt_1"));
    }
}
