//! URL template of the merchant's checkout page.

use std::fmt::{self, Write};
use std::str::FromStr;

use url::{Host, Url};

/// A template such as `https://shop.example/cart?add={items}&ref={checkout_id}`.
///
/// `{items}` becomes `sku:quantity` pairs, joined by commas; `{checkout_id}` the id of the checkout
/// session. Both are percent-encoded, so that no SKU can change the URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutUrl(String);

/// The error of an invalid template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the template must be {}", CheckoutUrl::ALLOWED)]
pub struct InvalidTemplate;

impl CheckoutUrl {
    const LENGTH_MAX: usize = 2000;
    /// Longest host name in DNS.
    const HOST_LENGTH_MAX: usize = 253;
    const ITEMS: &'static str = "{items}";
    const CHECKOUT_ID: &'static str = "{checkout_id}";
    /// Describes valid templates; completes "must be …".
    pub const ALLOWED: &'static str = "an https URL of at most 2000 characters with \
         {items} or {checkout_id} after the host, and no other braces";

    /// Returns the template.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host in lower case, with its port unless that is the one of the scheme.
    #[must_use]
    pub fn host(&self) -> Option<String> {
        let url = self.url()?;
        let host = url.host_str()?;
        Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
    }

    /// Whether payments are protected in transit.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.url().is_some_and(|url| url.scheme() == "https")
    }

    /// Whether the host is the machine of the person who opens the URL.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.url().as_ref().and_then(Url::host) {
            Some(Host::Domain(name)) => name == "localhost",
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// Parses a host of https URLs as [`host`](Self::host) returns it. A path or a scheme is no part of one.
    #[must_use]
    pub fn parse_host(text: &str) -> Option<String> {
        let text = text.trim();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-[]:".contains(&byte);
        if text.len() > Self::HOST_LENGTH_MAX || !text.bytes().all(plain) {
            return None;
        }
        let url = Url::parse(&format!("https://{text}/")).ok()?;
        let host = url.host_str()?;
        let with_port = format!("{host}:{}", url.port_or_known_default()?);
        let is_named = text.eq_ignore_ascii_case(host) || text.eq_ignore_ascii_case(&with_port);
        let parsed = if url.port().is_some() { with_port.as_str() } else { host };
        is_named.then(|| parsed.to_owned())
    }

    /// Returns the URL with other text for the placeholders, which are after the host.
    fn url(&self) -> Option<Url> {
        Url::parse(&self.0.replace(Self::ITEMS, "x").replace(Self::CHECKOUT_ID, "x")).ok()
    }

    /// Whether the template contains `{items}`.
    #[must_use]
    pub fn has_items_placeholder(&self) -> bool {
        self.0.contains(Self::ITEMS)
    }

    /// Returns the URL for these items.
    #[must_use]
    pub fn fill(&self, items: &[(&str, u32)], checkout_id: &str) -> String {
        let pair = |(sku, quantity): &(&str, u32)| format!("{}:{quantity}", encoded(sku));
        let items: Vec<String> = items.iter().map(pair).collect();
        // The session id is inserted first, so that a SKU cannot act as a placeholder.
        self.0
            .replace(Self::CHECKOUT_ID, &encoded(checkout_id))
            .replace(Self::ITEMS, &items.join(","))
    }
}

/// Percent-encodes everything but letters, digits and `-._~` (RFC 3986).
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

impl FromStr for CheckoutUrl {
    type Err = InvalidTemplate;
    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        let plain = |byte: u8| byte.is_ascii_graphic();
        if text.len() > Self::LENGTH_MAX || !text.bytes().all(plain) {
            return Err(InvalidTemplate);
        }
        let filled = text.replace(Self::ITEMS, "x").replace(Self::CHECKOUT_ID, "x");
        let host = host_of(text).ok_or(InvalidTemplate)?;
        let has_placeholder = filled.len() < text.len();
        if !has_placeholder || filled.contains(['{', '}']) || host.contains(['{', '}', '@']) {
            return Err(InvalidTemplate);
        }
        let url = Url::parse(&filled).map_err(|_| InvalidTemplate)?;
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            return Err(InvalidTemplate);
        }
        Ok(Self(text.to_owned()))
    }
}

/// Returns the text between the scheme and the path. A URL parser is not used, because it accepts backslashes and missing
/// slashes, and people would be shown another host.
fn host_of(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))?;
    if text.contains('\\') {
        return None;
    }
    rest.split(['/', '?', '#']).next().filter(|host| !host.is_empty())
}

impl fmt::Display for CheckoutUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_an_http_url_with_a_placeholder_after_the_host() {
        for right in [
            "https://shop.example/cart?add={items}",
            "http://localhost:3000/pay/{checkout_id}",
            "https://shop.example/c/{items}?ref={checkout_id}&again={checkout_id}",
        ] {
            assert_eq!(right.parse::<CheckoutUrl>().unwrap().as_str(), right);
        }
        let long = format!("https://shop.example/{{items}}{}", "x".repeat(2000));
        for wrong in [
            "",
            "shop.example/{items}",
            "https://shop.example/cart",
            "javascript:alert('{items}')",
            "ftp://shop.example/{items}",
            "https://{items}.example/",
            "https://{checkout_id}/",
            "https://shop.example@evil.example/{items}",
            "https://shop.example\\@evil.example/{items}",
            "https:///{items}",
            "https://shop.example/{cart}?{items}",
            "https://shop.example/{items}}",
            "https://shop.example/{items} and more",
            "https://shop.example/é{items}",
            &long,
        ] {
            assert_eq!(wrong.parse::<CheckoutUrl>(), Err(InvalidTemplate), "{wrong}");
        }
    }

    #[test]
    fn a_template_names_its_host() {
        let parse = |text: &str| text.parse::<CheckoutUrl>().unwrap();
        let shop = parse("https://Shop.Example:8443/pay/{checkout_id}");
        assert_eq!(shop.host().as_deref(), Some("shop.example:8443"));
        for same in ["https://shop.example/{items}", "https://shop.example:443/{items}"] {
            assert_eq!(parse(same).host().as_deref(), Some("shop.example"));
        }
        assert!(shop.is_secure() && !shop.is_loopback());
        for local in
            ["http://localhost:3000/{items}", "http://127.0.0.9/{items}", "http://[::1]/{items}"]
        {
            let local = parse(local);
            assert!(local.is_loopback() && !local.is_secure(), "{local}");
        }
        for other in ["http://localhost.example/{items}", "http://128.0.0.1/{items}"] {
            assert!(!parse(other).is_loopback(), "{other}");
        }
    }

    #[test]
    fn a_host_is_a_name_or_address_and_a_port() {
        for right in [
            "pay.example.com",
            "PAY.example.com",
            "127.0.0.1",
            "[::1]",
            "Pay.example.com:8443",
            "[::1]:8443",
        ] {
            assert_eq!(CheckoutUrl::parse_host(right), Some(right.to_lowercase()));
        }
        assert_eq!(CheckoutUrl::parse_host("pay.example:443").as_deref(), Some("pay.example"));
        let long = "a.".repeat(127);
        for wrong in [
            "",
            "https://pay.example",
            "pay.example:",
            "pay.example:08443",
            "pay.example:65536",
            "pay.example:x",
            "pay.example/x",
            "a b",
            "@x",
            "*.x",
            &long,
        ] {
            assert_eq!(CheckoutUrl::parse_host(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn inserted_values_are_percent_encoded() {
        let template: CheckoutUrl =
            "https://shop.example/cart?add={items}&ref={checkout_id}".parse().unwrap();
        let items = [("MUG-1", 2), ("A&B=/?#{checkout_id}", 1)];
        assert_eq!(
            template.fill(&items, "chk_1"),
            "https://shop.example/cart?add=MUG-1:2,A%26B%3D%2F%3F%23%7Bcheckout_id%7D:1&ref=chk_1"
        );
    }
}
