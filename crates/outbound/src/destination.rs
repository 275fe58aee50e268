//! The URL of an outbound request.

use std::net::IpAddr;

use http::Uri;
use url::{Host, Url};

use crate::error::DestinationError;
use crate::policy::Policy;
use crate::port;

/// Maximum length of a URL.
pub const URL_MAX_BYTES: usize = 2_048;

/// Maximum length of a host name and of one of its labels, in DNS.
const NAME_MAX_BYTES: usize = 253;
const LABEL_MAX_BYTES: usize = 63;

/// A URL to which requests may be sent, in its canonical form: `https://127.1/` and `https://0x7f.1/` are the same destination,
/// and refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    url: Url,
}

impl Destination {
    /// Parses a URL as browsers do, and refuses what the policy does not permit. A host name is not resolved:
    /// [`Client::check`](crate::Client::check) does that.
    pub fn parse(text: &str, policy: &Policy) -> Result<Self, DestinationError> {
        if text.len() > URL_MAX_BYTES {
            return Err(DestinationError::TooLong);
        }
        let url = Url::parse(text).map_err(|_| DestinationError::Invalid)?;
        check_spelling(text, &url)?;
        let destination = Self { url };
        destination.check(policy)?;
        Ok(destination)
    }

    /// Returns the URL in its canonical form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the host if it is a name, and `None` if it is an address.
    pub(crate) fn name(&self) -> Option<&str> {
        self.url.domain()
    }

    /// Returns the host if it is an address, and `None` if it is a name.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.url.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(four) => Some(four.into()),
            Host::Ipv6(six) => Some(six.into()),
        }
    }

    /// Checks everything that does not depend on DNS. The client repeats it before every request, because its policy may differ
    /// from the one with which the URL was parsed.
    pub(crate) fn check(&self, policy: &Policy) -> Result<(), DestinationError> {
        let url = &self.url;
        if url.scheme() != "https" && !(url.scheme() == "http" && policy.allow_http) {
            return Err(DestinationError::Scheme);
        }
        if let Host::Domain(name) = url.host().ok_or(DestinationError::Host)? {
            check_name(name)?;
        }
        let address = self.address();
        if address.is_some_and(|address| !policy.permits(address)) {
            return Err(DestinationError::Address);
        }
        let port = url.port_or_known_default().ok_or(DestinationError::Port)?;
        let is_exempt = address.is_some_and(|address| policy.exempts(address));
        if !is_exempt && !port::is_allowed(url.scheme(), port) {
            return Err(DestinationError::Port);
        }
        Ok(())
    }
}

/// Refuses what the parser would repair or drop without an error, so that other programs read the same URL.
fn check_spelling(text: &str, url: &Url) -> Result<(), DestinationError> {
    let is_repaired =
        |character: char| character.is_whitespace() || character.is_control() || character == '\\';
    if text.contains(is_repaired) {
        return Err(DestinationError::Invalid);
    }
    if !matches!(url.scheme(), "http" | "https") {
        return Err(DestinationError::Scheme);
    }
    let rest = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    if authority.is_empty() {
        return Err(DestinationError::Invalid);
    }
    if authority.contains('@') {
        return Err(DestinationError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(DestinationError::Fragment);
    }
    // Punycode and percent-encoding make a URL longer.
    if url.as_str().len() > URL_MAX_BYTES {
        return Err(DestinationError::TooLong);
    }
    // Of what the parser accepts, the HTTP library may accept less.
    url.as_str().parse::<Uri>().map(drop).map_err(|_| DestinationError::Invalid)
}

/// Refuses names that DNS cannot have, and the trailing dot, with which one host would have two names.
fn check_name(name: &str) -> Result<(), DestinationError> {
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        (1..=LABEL_MAX_BYTES).contains(&label.len()) && label.bytes().all(is_part)
    };
    if name.len() > NAME_MAX_BYTES || !name.split('.').all(is_label) {
        return Err(DestinationError::Host);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Destination, DestinationError> {
        Destination::parse(text, &Policy::default())
    }

    #[track_caller]
    fn refused(text: &str) -> DestinationError {
        parse(text).expect_err(text)
    }

    #[test]
    fn an_https_url_is_accepted_in_its_canonical_form() {
        for (text, canonical) in [
            ("https://hooks.example.com", "https://hooks.example.com/"),
            ("HTTPS://Hooks.Example.COM:443/a?b=c", "https://hooks.example.com/a?b=c"),
            (
                "https://hooks.example.com:8443/@me/a%20b",
                "https://hooks.example.com:8443/@me/a%20b",
            ),
            ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
            ("https://my_host.example/", "https://my_host.example/"),
            ("https://1.1.1.1/", "https://1.1.1.1/"),
            ("https://[2606:4700:4700::1111]:8443/", "https://[2606:4700:4700::1111]:8443/"),
        ] {
            assert_eq!(parse(text).unwrap().as_str(), canonical);
        }
    }

    #[test]
    fn only_https_is_accepted_unless_the_policy_allows_http() {
        for text in [
            "http://hooks.example.com/",
            "ftp://hooks.example.com/",
            "file:///etc/passwd",
            "gopher://hooks.example.com/",
            "ws://hooks.example.com/",
            "data:text/plain,a",
            "javascript:alert(1)",
        ] {
            assert_eq!(refused(text), DestinationError::Scheme, "{text}");
        }
        let policy = Policy { allow_http: true, ..Policy::default() };
        assert!(Destination::parse("http://hooks.example.com/", &policy).is_ok());
        let ftp = Destination::parse("ftp://hooks.example.com/", &policy);
        assert_eq!(ftp, Err(DestinationError::Scheme));
    }

    #[test]
    fn a_url_that_a_parser_would_repair_is_refused() {
        for text in [
            "",
            "hooks.example.com",
            "//hooks.example.com/",
            "https:hooks.example.com",
            "https:/hooks.example.com",
            "https:///hooks.example.com",
            "https://",
            "https://?a",
            " https://hooks.example.com/",
            "https://hooks.example.com/\n",
            "https://hooks.\texample.com/",
            "https://hooks.example.com/a b",
            "https://hooks.example.com\\@127.0.0.1/",
            "https:\\\\hooks.example.com/",
            "https://[::1",
            "https://hooks.example.com:99999/",
            "https://a%00b.example/",
        ] {
            assert_eq!(refused(text), DestinationError::Invalid, "{text:?}");
        }
    }

    #[test]
    fn credentials_and_fragments_are_refused() {
        for text in [
            "https://user@hooks.example.com/",
            "https://user:password@hooks.example.com/",
            "https://@hooks.example.com/",
            "https://:@hooks.example.com/",
            "https://hooks.example.com@127.0.0.1/",
            "https://127.0.0.1@hooks.example.com/",
        ] {
            assert_eq!(refused(text), DestinationError::UserInfo, "{text}");
        }
        assert_eq!(refused("https://hooks.example.com/#a"), DestinationError::Fragment);
        assert_eq!(refused("https://hooks.example.com/#"), DestinationError::Fragment);
    }

    #[test]
    fn a_host_name_is_one_that_dns_can_have() {
        let long_label = format!("https://{}.example/", "a".repeat(64));
        let long_name = format!("https://{}example/", "abcdefg.".repeat(32));
        for text in [
            "https://hooks.example.com./",
            "https://localhost./",
            "https://hooks..example.com/",
            "https://.example.com/",
            "https://./",
            "https://*.example.com/",
            "https://a,b.example/",
            &long_label,
            &long_name,
        ] {
            assert_eq!(refused(text), DestinationError::Host, "{text}");
        }
    }

    #[test]
    fn ports_of_other_services_are_refused() {
        for port in [0, 1, 22, 25, 80, 3306, 5432, 6379, 9200] {
            let text = format!("https://hooks.example.com:{port}/");
            assert_eq!(refused(&text), DestinationError::Port, "{text}");
        }
    }

    #[test]
    fn an_allowed_network_may_use_any_port() {
        let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
        let policy = Policy { allow_http: true, allowed_networks };
        let parse = |text: &str| Destination::parse(text, &policy);
        assert!(parse("http://127.0.0.1:6379/").is_ok());
        assert_eq!(parse("http://10.0.0.1:8080/"), Err(DestinationError::Address));
        assert_eq!(parse("http://1.1.1.1:6379/"), Err(DestinationError::Port));
    }

    #[test]
    fn the_length_is_limited_before_and_after_encoding() {
        let url = |path: &str| format!("https://hooks.example.com/{path}");
        assert!(parse(&url(&"a".repeat(URL_MAX_BYTES - 26))).is_ok());
        assert_eq!(refused(&url(&"a".repeat(URL_MAX_BYTES - 25))), DestinationError::TooLong);
        assert_eq!(refused(&url(&"ü".repeat(500))), DestinationError::TooLong);
    }
}
