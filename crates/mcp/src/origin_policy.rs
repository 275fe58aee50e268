//! Whose requests are welcome: a browser may have been tricked into sending one (DNS rebinding), or a
//! foreign page may try to speak with its reader's rights.

use std::sync::Arc;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

/// The names this service answers to and the origins whose pages may call.
#[derive(Clone)]
pub(crate) struct Welcome {
    hosts: Arc<[Host]>,
    origins: Arc<[Box<str>]>,
}

/// A name, and a port if only one will do.
struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    fn of(text: &str) -> Option<Self> {
        let authority = Authority::try_from(text).ok()?;
        Some(Self { name: authority.host().to_ascii_lowercase(), port: authority.port_u16() })
    }
}

impl Welcome {
    /// Names may have a port. Origins have theirs, also where a browser would leave it out.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: hosts.iter().filter_map(|text| Host::of(text)).collect(),
            origins: origins.iter().map(|origin| origin.to_ascii_lowercase().into()).collect(),
        }
    }

    /// Says why a request is not.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        let named = match headers.get(header::HOST) {
            Some(host) => host.to_str().ok(),
            // Of HTTP/2 a middleware may have left only this.
            None => uri.authority().map(Authority::as_str),
        };
        if !named.and_then(Host::of).is_some_and(|host| self.answers_to(&host)) {
            return Err("this service does not answer to the name in the Host header");
        }
        match headers.get(header::ORIGIN) {
            Some(origin) if !self.has_origin(origin) => {
                Err("pages of this Origin may not call here")
            }
            _ => Ok(()),
        }
    }

    fn answers_to(&self, host: &Host) -> bool {
        self.hosts
            .iter()
            .any(|own| own.name == host.name && (own.port.is_none() || own.port == host.port))
    }

    /// Whether pages of an origin may call. A browser leaves out the port its scheme implies.
    pub(crate) fn has_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else { return false };
        let origin = origin.to_ascii_lowercase();
        let port = if origin.starts_with("https://") { ":443" } else { ":80" };
        self.origins
            .iter()
            .any(|own| **own == *origin || own.strip_suffix(port) == Some(origin.as_str()))
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
        Welcome::new(&hosts, &origins).check(&Uri::from_static("/demo/mcp"), &headers).is_ok()
    }

    #[test]
    fn a_name_of_ours_is_welcome_on_any_port_unless_one_is_named() {
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
    fn a_page_needs_scheme_name_and_port() {
        for origin in ["https://souk.test", "https://souk.test:443", "http://localhost:3000"] {
            assert!(check(Some("souk.test"), Some(origin)), "{origin}");
        }
        for origin in ["http://souk.test", "https://souk.test:444", "http://localhost", "null", ""]
        {
            assert!(!check(Some("souk.test"), Some(origin)), "{origin}");
        }
    }

    #[test]
    fn the_authority_counts_where_there_is_no_host() {
        let welcome = Welcome::new(&[String::from("souk.test")], &[]);
        let uri = |text: &'static str| Uri::from_static(text);
        assert!(welcome.check(&uri("https://souk.test/a"), &HeaderMap::new()).is_ok());
        assert!(welcome.check(&uri("https://evil.example/a"), &HeaderMap::new()).is_err());
    }
}
