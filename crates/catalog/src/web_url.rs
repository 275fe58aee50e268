//! Addresses of pages and pictures, as merchants write them.

use url::Url;

/// What every browser, proxy and log can take.
const CHARACTERS_MAX: usize = 2_048;

/// Why a text is no web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Too long, as written or as browsers would send it.
    #[error("an address has at most {CHARACTERS_MAX} characters")]
    TooLong,
    /// A line break, a tab or another character that cannot be seen.
    #[error("an address holds no line breaks, tabs or other control characters")]
    Controls,
    /// Not from its beginning, or not for browsers: relative, `javascript:`, `data:`.
    #[error("an address starts with http:// or https://")]
    NotWeb,
    /// It would hand somebody's password to everybody.
    #[error("an address holds no user name and no password")]
    Credentials,
    /// No host, a host that cannot exist, or a port beyond 65535.
    #[error("the address names no host that could exist")]
    Host,
}

/// An http or https address in the form browsers send. Nobody has asked whether it answers, or whether
/// its host is one that we should ever call.
pub fn web_address(text: &str) -> Result<String, AddressError> {
    let text = text.trim();
    if text.chars().count() > CHARACTERS_MAX {
        return Err(AddressError::TooLong);
    }
    // The parser would pass over some of them, and two readers might then see two addresses.
    if text.chars().any(char::is_control) {
        return Err(AddressError::Controls);
    }
    let parsed = if text.starts_with("//") {
        Url::parse(&format!("https:{text}"))
    } else {
        Url::parse(text)
    };
    let url = parsed.map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => AddressError::NotWeb,
        _ => AddressError::Host,
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::NotWeb);
    }
    if !url.has_host() {
        return Err(AddressError::Host);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    // Characters beyond ASCII are written as several by now.
    if url.as_str().len() > CHARACTERS_MAX {
        return Err(AddressError::TooLong);
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(text: &str) -> String {
        web_address(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn addresses_take_the_form_browsers_send() {
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
            assert_eq!(taken(text), form);
            assert_eq!(taken(form), form);
        }
    }

    #[test]
    fn refusals_say_why() {
        for (text, error) in [
            ("", AddressError::NotWeb),
            ("#top", AddressError::NotWeb),
            ("/a.jpg", AddressError::NotWeb),
            ("shop.example/a.jpg", AddressError::NotWeb),
            ("localhost:8080/a", AddressError::NotWeb),
            ("javascript:alert(1)", AddressError::NotWeb),
            ("JaVaScRiPt://shop.example/%0aalert(1)", AddressError::NotWeb),
            ("data:text/html;base64,PHNjcmlwdD4=", AddressError::NotWeb),
            ("file:///etc/passwd", AddressError::NotWeb),
            ("ftp://shop.example/", AddressError::NotWeb),
            ("mailto:a@shop.example", AddressError::NotWeb),
            ("java\nscript:alert(1)", AddressError::Controls),
            ("https://shop.example/a\tb", AddressError::Controls),
            ("https://shop.example/\u{0}", AddressError::Controls),
            ("https://shop.example/\u{85}b", AddressError::Controls),
            ("http://user:pw@shop.example/", AddressError::Credentials),
            ("https://user@shop.example/", AddressError::Credentials),
            ("//user:pw@shop.example/", AddressError::Credentials),
            ("https://shop.example@evil.example/", AddressError::Credentials),
            ("https://", AddressError::Host),
            ("//", AddressError::Host),
            ("https://?q", AddressError::Host),
            ("https://sh op.example/", AddressError::Host),
            ("https://shop.example:99999/", AddressError::Host),
            ("https://[::1", AddressError::Host),
            ("https://a\u{202e}b.example/", AddressError::Host),
        ] {
            assert_eq!(web_address(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn the_length_is_that_of_the_form_too() {
        let start = "https://shop.example/";
        let longest = format!("{start}{}", "a".repeat(CHARACTERS_MAX - start.len()));
        assert_eq!(taken(&longest), longest);
        assert_eq!(web_address(&format!("{longest}a")), Err(AddressError::TooLong));
        assert_eq!(
            web_address(&format!("{start}{}", "品".repeat(300))),
            Err(AddressError::TooLong)
        );
    }

    proptest! {
        #[test]
        fn what_is_taken_is_in_its_last_form(text in "(https?:)?(//)?[a-z@:.%#?\\\\/é \\[\\]\u{ad}\u{200b}0-9]{0,40}") {
            if let Ok(form) = web_address(&text) {
                prop_assert!(form.starts_with("http://") || form.starts_with("https://"));
                prop_assert!(form.is_ascii() && !form.contains(char::is_whitespace));
                prop_assert_eq!(web_address(&form), Ok(form));
            }
        }
    }
}
