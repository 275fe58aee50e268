//! URLs of pages: those that processors return, and those to which they send buyers back.

use url::Url;

/// Longest URL of a page. Those of Stripe have about a thousand characters, most of them in the fragment.
const URL_MAX_BYTES: usize = 8_192;

/// Returns whether a browser may be sent to the URL. Only `https`, and `http` where the operator allows it for development.
pub(crate) fn is_page_url(text: &str, allow_http: bool) -> bool {
    let is_repaired = |byte: u8| byte.is_ascii_control() || byte == b' ' || byte == b'\\';
    if text.len() > URL_MAX_BYTES || text.bytes().any(is_repaired) {
        return false;
    }
    let Ok(url) = Url::parse(text) else { return false };
    let is_allowed_scheme = url.scheme() == "https" || url.scheme() == "http" && allow_http;
    let has_user = !url.username().is_empty() || url.password().is_some();
    is_allowed_scheme && url.has_host() && !has_user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_https_pages_without_credentials_are_accepted() {
        for url in ["https://checkout.stripe.com/c/pay/cs_1#fid", "https://shop.example:8443/a?b=c"]
        {
            assert!(is_page_url(url, false), "{url}");
        }
        let long = format!("https://shop.example/{}", "a".repeat(URL_MAX_BYTES));
        for url in [
            "",
            "shop.example",
            "/relative",
            "javascript:alert(1)",
            "data:text/html,a",
            "http://shop.example/",
            "https://user@shop.example/",
            "https://:secret@shop.example/",
            "https://shop.example/ a",
            "https://shop.example/\n",
            "https:\\\\shop.example",
            &long,
        ] {
            assert!(!is_page_url(url, false), "{url}");
        }
        assert!(is_page_url("http://127.0.0.1:8080/", true));
        assert!(!is_page_url("ftp://127.0.0.1/", true));
    }
}
