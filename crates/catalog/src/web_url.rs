//! URLs of pages and images, as merchants send them.

use url::Url;

/// Supported by every common browser and proxy.
const CHARACTERS_MAX: usize = 2_048;

/// Why a text is not an accepted URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebUrlError {
    /// Too long as written or in its normalized form.
    #[error("a URL has at most {CHARACTERS_MAX} characters")]
    TooLong,
    #[error("a URL contains no line breaks, tabs or other control characters")]
    Controls,
    /// Relative, or with another scheme such as `javascript:` or `data:`.
    #[error("a URL starts with http:// or https://")]
    NotWeb,
    #[error("a URL contains no user name and no password")]
    Credentials,
    /// No host, an invalid host, or a port above 65535.
    #[error("the host or port of the URL is invalid")]
    Host,
}

/// Parses an http or https URL and returns it as browsers normalize it. It is not requested, and its host may be one that
/// this service must not call.
pub fn web_url(text: &str) -> Result<String, WebUrlError> {
    let text = text.trim();
    if text.chars().count() > CHARACTERS_MAX {
        return Err(WebUrlError::TooLong);
    }
    // The parser ignores some of them, so that two programs could see two different URLs.
    if text.chars().any(char::is_control) {
        return Err(WebUrlError::Controls);
    }
    let parsed = if text.starts_with("//") {
        Url::parse(&format!("https:{text}"))
    } else {
        Url::parse(text)
    };
    let url = parsed.map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => WebUrlError::NotWeb,
        _ => WebUrlError::Host,
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(WebUrlError::NotWeb);
    }
    if !url.has_host() {
        return Err(WebUrlError::Host);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(WebUrlError::Credentials);
    }
    // Characters beyond ASCII are percent-encoded by now.
    if url.as_str().len() > CHARACTERS_MAX {
        return Err(WebUrlError::TooLong);
    }
    Ok(url.into())
}

/// Where Souk serves the pictures of the demo products itself.
pub const OWN_IMAGES: &str = "/demo/images/";

/// Parses the URL of an image: an http or https URL, or the path of a picture that Souk serves, which is stored as it is.
pub(crate) fn image_url(text: &str) -> Result<String, WebUrlError> {
    let text = text.trim();
    let is_own = text.strip_prefix(OWN_IMAGES).is_some_and(|file| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
        text.len() <= CHARACTERS_MAX && !file.contains("..") && file.bytes().all(is_plain)
    });
    if is_own { Ok(text.to_owned()) } else { web_url(text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn normalized(text: &str) -> String {
        web_url(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn urls_are_normalized_as_browsers_do() {
        for (text, form) in [
            ("https://shop.example", "https://shop.example/"),
            ("  HTTP://Shop.Example:80/A  ", "http://shop.example/A"),
            ("//cdn.shop.example/a.jpg", "https://cdn.shop.example/a.jpg"),
            (
                "https://shop.example/a b/ü.jpg?q=ä b",
                "https://shop.example/a%20b/%C3%BC.jpg?q=%C3%A4%20b",
            ),
            ("https://shop.example/a%20b", "https://shop.example/a%20b"),
            ("https://shop.example/a/../b#size", "https://shop.example/b#size"),
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://例え.テスト/品", "https://xn--r8jz45g.xn--zckzah/%E5%93%81"),
            ("https://@shop.example/", "https://shop.example/"),
            (r"https:\\shop.example\a", "https://shop.example/a"),
            ("https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443/"),
        ] {
            assert_eq!(normalized(text), form);
            assert_eq!(normalized(form), form);
        }
    }

    #[test]
    fn the_path_of_an_own_picture_is_an_image_url() {
        let own = "/demo/images/demo-store/POUR-101.svg";
        assert_eq!(image_url(own).as_deref(), Ok(own));
        assert_eq!(image_url("https://a.example/b c").as_deref(), Ok("https://a.example/b%20c"));
        for wrong in ["/images/a.svg", "/demo/images/../a", "/demo/images/a?b", "/demo/images/<b>"]
        {
            assert_eq!(image_url(wrong), Err(WebUrlError::NotWeb), "{wrong}");
        }
    }

    #[test]
    fn errors_name_the_violated_rule() {
        for (text, error) in [
            ("", WebUrlError::NotWeb),
            ("#top", WebUrlError::NotWeb),
            ("/a.jpg", WebUrlError::NotWeb),
            ("shop.example/a.jpg", WebUrlError::NotWeb),
            ("localhost:8080/a", WebUrlError::NotWeb),
            ("javascript:alert(1)", WebUrlError::NotWeb),
            ("JaVaScRiPt://shop.example/%0aalert(1)", WebUrlError::NotWeb),
            ("data:text/html;base64,PHNjcmlwdD4=", WebUrlError::NotWeb),
            ("file:///etc/passwd", WebUrlError::NotWeb),
            ("ftp://shop.example/", WebUrlError::NotWeb),
            ("mailto:a@shop.example", WebUrlError::NotWeb),
            ("java\nscript:alert(1)", WebUrlError::Controls),
            ("https://shop.example/a\tb", WebUrlError::Controls),
            ("https://shop.example/\u{0}", WebUrlError::Controls),
            ("https://shop.example/\u{85}b", WebUrlError::Controls),
            ("http://user:pw@shop.example/", WebUrlError::Credentials),
            ("https://user@shop.example/", WebUrlError::Credentials),
            ("//user:pw@shop.example/", WebUrlError::Credentials),
            ("https://shop.example@evil.example/", WebUrlError::Credentials),
            ("https://", WebUrlError::Host),
            ("//", WebUrlError::Host),
            ("https://?q", WebUrlError::Host),
            ("https://sh op.example/", WebUrlError::Host),
            ("https://shop.example:99999/", WebUrlError::Host),
            ("https://[::1", WebUrlError::Host),
            ("https://a\u{202e}b.example/", WebUrlError::Host),
        ] {
            assert_eq!(web_url(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn the_limit_applies_to_the_normalized_form_too() {
        let start = "https://shop.example/";
        let longest = format!("{start}{}", "a".repeat(CHARACTERS_MAX - start.len()));
        assert_eq!(normalized(&longest), longest);
        assert_eq!(web_url(&format!("{longest}a")), Err(WebUrlError::TooLong));
        assert_eq!(web_url(&format!("{start}{}", "品".repeat(300))), Err(WebUrlError::TooLong));
    }

    proptest! {
        #[test]
        fn normalizing_is_idempotent(text in "(https?:)?(//)?[a-z@:.%#?\\\\/é \\[\\]\u{ad}\u{200b}0-9]{0,40}") {
            if let Ok(form) = web_url(&text) {
                prop_assert!(form.starts_with("http://") || form.starts_with("https://"));
                prop_assert!(form.is_ascii() && !form.contains(char::is_whitespace));
                prop_assert_eq!(web_url(&form), Ok(form));
            }
        }
    }
}
