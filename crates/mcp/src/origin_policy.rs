//! Host and origin validation: protects against DNS rebinding and against cross-origin pages that act with their
//! reader's rights.

use std::sync::Arc;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// The accepted `Host` names and the origins whose pages may call.
#[derive(Clone)]
pub(crate) struct OriginPolicy {
    hosts: Arc<[Host]>,
    origins: Arc<[Box<str>]>,
}

/// A host name, and a port if only that one is accepted.
struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    fn parse(text: &str) -> Option<Self> {
        let authority = Authority::try_from(text).ok()?;
        Some(Self { name: authority.host().to_ascii_lowercase(), port: authority.port_u16() })
    }
}

impl OriginPolicy {
    /// Hosts may have a port. Origins must have one, including the default port that a browser omits.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: hosts.iter().filter_map(|text| Host::parse(text)).collect(),
            origins: origins.iter().map(|origin| origin.to_ascii_lowercase().into()).collect(),
        }
    }

    /// Checks `Host` and `Origin` of a request and returns the reason if one is not accepted.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let host = match headers.get(header::HOST) {
            Some(host) => host.to_str().ok(),
            // For HTTP/2, middleware may leave only the authority.
            None => uri.authority().map(Authority::as_str),
        };
        if !host.and_then(Host::parse).is_some_and(|host| self.accepts_host(&host)) {
            return Err("the Host header does not name this service");
        }
        match headers.get(header::ORIGIN) {
            Some(origin) if !self.allows_origin(origin) => {
                Err("requests from this Origin are not allowed")
            }
            _ => Ok(()),
        }
    }

    fn accepts_host(&self, host: &Host) -> bool {
        self.hosts.iter().any(|known| {
            known.name == host.name && (known.port.is_none() || known.port == host.port)
        })
    }

    /// Returns whether pages of an origin may call. Browsers omit the default port of the scheme.
    pub(crate) fn allows_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let origin = origin.to_ascii_lowercase();
        let port = if origin.starts_with("https://") { ":443" } else { ":80" };
        self.origins
            .iter()
            .any(|known| **known == *origin || known.strip_suffix(port) == Some(origin.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: Option<&'static str>, origin: Option<&'static str>) -> bool {
        let hosts = ["souk.test", "127.0.0.1", "[::1]", "other.test:8443"].map(str::to_owned);
        let origins = ["https://souk.test:443", "http://LocalHost:3000"].map(str::to_owned);
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            value.map(|value| headers.insert(name, HeaderValue::from_static(value)));
        }
        OriginPolicy::new(&hosts, &origins).check(&Uri::from_static("/demo/mcp"), &headers).is_ok()
    }

    #[test]
    fn a_configured_host_is_accepted_on_any_port_unless_one_is_configured() {
        for host in ["souk.test", "SOUK.test:81", "127.0.0.1:8080", "[::1]:9", "other.test:8443"] {
            assert!(check(Some(host), None), "{host}");
        }
        for host in
            ["evil.example", "other.test", "other.test:1", "souk.test.evil.example", "", "a b"]
        {
            assert!(!check(Some(host), None), "{host}");
        }
        assert!(!check(None, None));
    }

    #[test]
    fn an_origin_must_match_scheme_host_and_port() {
        for origin in ["https://souk.test", "https://souk.test:443", "http://localhost:3000"] {
            assert!(check(Some("souk.test"), Some(origin)), "{origin}");
        }
        for origin in ["http://souk.test", "https://souk.test:444", "http://localhost", "null", ""]
        {
            assert!(!check(Some("souk.test"), Some(origin)), "{origin}");
        }
    }

    #[test]
    fn the_authority_is_used_if_there_is_no_host_header() {
        let policy = OriginPolicy::new(&[String::from("souk.test")], &[]);
        let uri = |text: &'static str| Uri::from_static(text);
        assert!(policy.check(&uri("https://souk.test/a"), &HeaderMap::new()).is_ok());
        assert!(policy.check(&uri("https://evil.example/a"), &HeaderMap::new()).is_err());
    }
}
