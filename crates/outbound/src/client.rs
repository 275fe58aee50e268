//! The client of all outbound requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use reqwest::redirect;
use tokio::time::Instant;

use crate::classify::classify;
use crate::destination::Destination;
use crate::error::{ClientError, RequestError};
use crate::policy::Policy;
use crate::resolver::VettingResolver;
use crate::response::{self, Response};
use crate::settings::Settings;

/// Idle connections of one host, and for how long they stay open. With many receivers they are the open files of the process.
const IDLE_CONNECTIONS_PER_HOST: usize = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests to destinations that others chose, such as webhook receivers. Cloning is cheap; clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    resolver: VettingResolver,
    policy: Arc<Policy>,
    total_timeout: Duration,
}

impl Client {
    /// Creates a client. It reads the CA certificates and, unless name servers are given, the DNS configuration of the system.
    pub fn new(settings: Settings) -> Result<Self, ClientError> {
        let Settings { policy, nameservers, dns_timeout, connect_timeout, total_timeout } =
            settings;
        let policy = Arc::new(policy);
        let resolver = VettingResolver::new(&nameservers, dns_timeout, Arc::clone(&policy))?;
        // Other crates may enable features of the library: whatever they add is turned off.
        let http = reqwest::Client::builder()
            .dns_resolver(resolver.clone())
            .no_proxy()
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .http1_only()
            .https_only(!policy.allow_http)
            .connect_timeout(connect_timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS_PER_HOST)
            .build()?;
        Ok(Self { http, resolver, policy, total_timeout })
    }

    /// Returns the policy, with which destinations are parsed.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Checks whether a request to the destination would be refused, without connecting: resolves the host and vets its addresses.
    pub async fn check(&self, destination: &Destination) -> Result<(), RequestError> {
        self.vet(destination)?;
        match destination.name() {
            Some(name) => self.resolver.addresses(name).await.map(drop),
            None => Ok(()),
        }
    }

    /// Sends a POST request, once, and returns the response whatever its status. Redirects are not followed.
    ///
    /// Headers that describe the connection or the framing of the body are those of the client, not of the caller.
    pub async fn post(
        &self,
        destination: &Destination,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, RequestError> {
        self.vet(destination)?;
        let request = self.http.post(destination.url().clone());
        let request = request.headers(with_own_headers(headers)).body(body);
        let exchange = tokio::time::timeout(self.total_timeout, self.exchange(request));
        exchange.await.unwrap_or(Err(RequestError::Timeout))
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<Response, RequestError> {
        let started = Instant::now();
        let mut response = request.send().await.map_err(|error| classify(&error))?;
        self.vet_peer(response.remote_addr())?;
        let body = response::read_body(&mut response).await;
        let (body, truncated) = body.map_err(|error| classify(&error))?;
        Ok(Response {
            status: response.status(),
            retry_after: response::retry_after(response.headers()),
            body,
            truncated,
            elapsed: started.elapsed(),
        })
    }

    /// The destination may have been parsed with another policy.
    fn vet(&self, destination: &Destination) -> Result<(), RequestError> {
        destination.check(&self.policy).map_err(|_| RequestError::AddressRefused)
    }

    /// The resolver returned permitted addresses only. If the connection leads somewhere else nevertheless, nothing is read from it.
    fn vet_peer(&self, peer: Option<SocketAddr>) -> Result<(), RequestError> {
        match peer {
            Some(peer) if self.policy.permits(peer.ip()) => Ok(()),
            _ => Err(RequestError::AddressRefused),
        }
    }
}

fn with_own_headers(mut headers: HeaderMap) -> HeaderMap {
    for name in [
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::HOST,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ] {
        headers.remove(name);
    }
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_peer_that_is_not_permitted_is_refused() {
        let client = Client::new(Settings::default()).unwrap();
        let vet = |peer: &str| client.vet_peer(Some(peer.parse().unwrap()));
        assert_eq!(vet("1.1.1.1:443"), Ok(()));
        assert_eq!(vet("10.0.0.1:443"), Err(RequestError::AddressRefused));
        assert_eq!(vet("[::1]:443"), Err(RequestError::AddressRefused));
        assert_eq!(client.vet_peer(None), Err(RequestError::AddressRefused));
    }
}
