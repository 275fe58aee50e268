//! Protection of forms against cross-site requests, and the encoding of their token.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};

/// Returns whether a form was sent from our own page by a browser. Every current browser sends `Sec-Fetch-Site` and `Origin`
/// with a form; a request without them, or with the credential of an agent or a program, does not come from a person.
pub(crate) fn is_same_origin(headers: &HeaderMap, site_url: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let has_credential = headers.contains_key("x-agent-api-key")
        || headers.contains_key("x-ai-agent-initiated")
        || headers.contains_key(AUTHORIZATION);
    let is_same_site = text("sec-fetch-site") == Some("same-origin");
    // Under `no-referrer` a browser may send `Origin: null` for its own page; `Sec-Fetch-Site` is then decisive.
    let is_our_origin =
        text(ORIGIN.as_str()).is_some_and(|origin| origin == "null" || origin == site_url);
    !has_credential && is_same_site && is_our_origin
}

/// Decodes the token of a form. An invalid one becomes empty, which no form accepts.
pub(crate) fn decode_token(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap_or_default()
}

/// Encodes the token of a form in hexadecimal.
pub(crate) fn encode_token(token: &[u8]) -> String {
    hex::encode(token)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const SITE: &str = "https://souk.example";

    fn sent(headers: &[(&'static str, &'static str)]) -> bool {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        is_same_origin(&headers.iter().map(pair).collect(), SITE)
    }

    #[test]
    fn a_form_from_another_origin_is_rejected() {
        assert!(sent(&[("sec-fetch-site", "same-origin"), ("origin", SITE)]));
        assert!(sent(&[("sec-fetch-site", "same-origin"), ("origin", "null")]));
        assert!(!sent(&[]));
        assert!(!sent(&[("origin", SITE)]));
        assert!(!sent(&[("sec-fetch-site", "same-origin")]));
        assert!(!sent(&[("origin", "https://evil.example")]));
        assert!(!sent(&[("origin", "null")]));
        assert!(!sent(&[("sec-fetch-site", "cross-site"), ("origin", SITE)]));
        assert!(!sent(&[("sec-fetch-site", "none"), ("origin", SITE)]));
        let own = [("sec-fetch-site", "same-origin"), ("origin", SITE)];
        assert!(!sent(&[own[0], own[1], ("x-agent-api-key", "agnt_1")]));
        assert!(!sent(&[own[0], own[1], ("authorization", "Bearer mrch_1")]));
        assert!(!sent(&[own[0], own[1], ("x-ai-agent-initiated", "true")]));
    }

    #[test]
    fn a_token_is_encoded_and_decoded() {
        assert_eq!(decode_token(&encode_token(&[0, 15, 255])), [0, 15, 255]);
        assert!(decode_token("zz").is_empty() && decode_token("é").is_empty());
    }
}
