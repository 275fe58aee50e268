//! The client of requests to URLs that others choose.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{self, HeaderMap, HeaderValue};
use reqwest::{Body, redirect};
use tokio::time::Instant;

use crate::classify::classify;
use crate::destination::Destination;
use crate::error::{ClientError, RequestError};
use crate::idle_hosts::IdleHosts;
use crate::policy::{AddressFilter, Policy};
use crate::resolver::VettingResolver;
use crate::response::{self, Response};
use crate::settings::Settings;

/// Idle connections of one host, and for how long they stay open.
const IDLE_CONNECTIONS_PER_HOST: usize = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Hosts with idle connections, unless [`Client::with_idle_hosts`] sets another number.
const IDLE_HOSTS_MAX: usize = 100;

/// Sends requests to destinations that others chose, such as webhook receivers. Cloning is cheap; clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    /// Its connections stay open for a while.
    pooling: reqwest::Client,
    /// Its connections are closed after one request.
    closing: reqwest::Client,
    idle_hosts: Arc<Mutex<IdleHosts>>,
    resolver: VettingResolver,
    filter: Arc<AddressFilter>,
    total_timeout: Duration,
}

impl Client {
    /// Creates a client. It reads the CA certificates and, unless name servers are given, the DNS configuration of the system.
    pub fn new(settings: Settings) -> Result<Self, ClientError> {
        let Settings {
            policy,
            denied_networks,
            nameservers,
            dns_timeout,
            connect_timeout,
            total_timeout,
        } = settings;
        let allow_http = policy.allow_http;
        let filter = Arc::new(AddressFilter { policy, denied_networks });
        let resolver = VettingResolver::new(&nameservers, dns_timeout, Arc::clone(&filter))?;
        // Other crates may enable features of the library: whatever they add is turned off.
        let http = |idle_connections: usize| {
            reqwest::Client::builder()
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
                .https_only(!allow_http)
                .connect_timeout(connect_timeout)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .pool_max_idle_per_host(idle_connections)
                .build()
        };
        let (pooling, closing) = (http(IDLE_CONNECTIONS_PER_HOST)?, http(0)?);
        let idle_hosts = idle_hosts(IDLE_HOSTS_MAX, total_timeout);
        Ok(Self { pooling, closing, idle_hosts, resolver, filter, total_timeout })
    }

    /// Lets connections stay open after a request to at most so many hosts, two for each. Those to other hosts are
    /// closed.
    #[must_use]
    pub fn with_idle_hosts(self, max: usize) -> Self {
        Self { idle_hosts: idle_hosts(max, self.total_timeout), ..self }
    }

    /// Returns the policy, with which destinations are parsed.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        &self.filter.policy
    }

    /// Checks whether a request to the destination would be refused, without connecting: resolves the host and vets its addresses.
    pub async fn check(&self, destination: &Destination) -> Result<(), RequestError> {
        self.vet(destination)?;
        match destination.name() {
            Some(name) => self.resolver.addresses(name).await.map(drop),
            None => Ok(()),
        }
    }

    /// Sends a GET request, once, and returns the response whatever its status. Redirects are not followed.
    ///
    /// Headers that describe the connection or the framing of the body are those of the client, not of the caller.
    pub async fn get(
        &self,
        destination: &Destination,
        headers: HeaderMap,
    ) -> Result<Response, RequestError> {
        self.send(Method::GET, destination, headers, Body::default()).await
    }

    /// Sends a POST request, as [`get`](Self::get) sends a GET request.
    pub async fn post(
        &self,
        destination: &Destination,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Response, RequestError> {
        self.send(Method::POST, destination, headers, body.into()).await
    }

    async fn send(
        &self,
        method: Method,
        destination: &Destination,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Response, RequestError> {
        self.vet(destination)?;
        let request = self.http(destination).request(method, destination.url().clone());
        let request = request.headers(with_own_headers(headers)).body(body);
        let exchange = tokio::time::timeout(self.total_timeout, self.exchange(request));
        exchange.await.unwrap_or(Err(RequestError::Timeout))
    }

    async fn exchange(&self, request: reqwest::RequestBuilder) -> Result<Response, RequestError> {
        let mut response = request.send().await.map_err(|error| classify(&error))?;
        self.vet_peer(response.remote_addr())?;
        let body = response::read_body(&mut response).await.map_err(|error| classify(&error))?;
        Ok(Response {
            status: response.status(),
            retry_after: response::retry_after(response.headers()),
            body,
        })
    }

    fn http(&self, destination: &Destination) -> &reqwest::Client {
        let host = destination.url().origin().ascii_serialization();
        let mut idle_hosts = self.idle_hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if idle_hosts.admit(&host, Instant::now()) { &self.pooling } else { &self.closing }
    }

    /// The destination may have been parsed with another policy, and a policy does not know denied networks.
    fn vet(&self, destination: &Destination) -> Result<(), RequestError> {
        let is_denied = destination.address().is_some_and(|address| self.filter.denies(address));
        if is_denied || destination.check(&self.filter.policy).is_err() {
            return Err(RequestError::AddressRefused);
        }
        Ok(())
    }

    /// The resolver returned permitted addresses only. If the connection leads somewhere else nevertheless, nothing is read from it.
    fn vet_peer(&self, peer: Option<SocketAddr>) -> Result<(), RequestError> {
        match peer {
            Some(peer) if self.filter.permits(peer.ip()) => Ok(()),
            _ => Err(RequestError::AddressRefused),
        }
    }
}

fn idle_hosts(max: usize, total_timeout: Duration) -> Arc<Mutex<IdleHosts>> {
    // The pool looks for connections that have been idle for too long once in that time.
    let span = total_timeout + 2 * IDLE_TIMEOUT;
    Arc::new(Mutex::new(IdleHosts::new(max, span)))
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
