//! What a form of ours sends, and whether it was sent from our own page by a person's browser.

use std::fmt::Write;

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};

/// Whether a form comes from our own page. Browsers say where a form was sent from; what carries a credential of an agent or a
/// program is no person.
pub(crate) fn is_ours(headers: &HeaderMap, site_url: &str) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let has_credential = headers.contains_key("x-agent-api-key")
        || headers.contains_key("x-ai-agent-initiated")
        || headers.contains_key(AUTHORIZATION);
    let from_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    // Under `no-referrer` a browser may send the word null for its own page; it then says so in the other header.
    let from_origin = match text(ORIGIN.as_str()) {
        None => true,
        Some("null") => text("sec-fetch-site") == Some("same-origin"),
        Some(origin) => origin == site_url,
    };
    !has_credential && from_site && from_origin
}

/// Bytes that a form sends back, as sixteen pairs of digits.
pub(crate) fn token(text: &str) -> Vec<u8> {
    let pairs = (0..text.len() / 2).map(|place| text.get(2 * place..2 * place + 2));
    pairs.filter_map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

/// The same as the form holds them.
pub(crate) fn token_text(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
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
        is_ours(&headers.iter().map(pair).collect(), SITE)
    }

    #[test]
    fn a_form_comes_from_our_own_page_or_is_refused() {
        assert!(sent(&[("sec-fetch-site", "same-origin"), ("origin", SITE)]));
        assert!(sent(&[("sec-fetch-site", "same-origin"), ("origin", "null")]));
        assert!(sent(&[("origin", SITE)]));
        assert!(!sent(&[("origin", "https://evil.example")]));
        assert!(!sent(&[("origin", "null")]));
        assert!(!sent(&[("sec-fetch-site", "cross-site")]));
        assert!(!sent(&[("sec-fetch-site", "none")]));
        assert!(!sent(&[("origin", SITE), ("x-agent-api-key", "agnt_1")]));
        assert!(!sent(&[("origin", SITE), ("authorization", "Bearer mrch_1")]));
    }

    #[test]
    fn a_token_is_written_and_read() {
        assert_eq!(token(&token_text(&[0, 15, 255])), [0, 15, 255]);
        assert!(token("zz").is_empty() && token("é").is_empty());
    }
}
