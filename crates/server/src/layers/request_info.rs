//! Assigns each request an id, which appears in the log, in errors and in the `X-Request-Id` header of the
//! response, and determines the client address.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use database::RandomSource;
use http::{HeaderMap, HeaderValue};
use ipnet::IpNet;
use primitives::{ClientAddress, RequestId};

const HEADER: &str = "x-request-id";

/// The configuration of the layer.
#[derive(Clone)]
pub(crate) struct RequestInfo {
    pub(crate) random_source: RandomSource,
    /// Proxies whose `X-Forwarded-For` header is trusted.
    pub(crate) trusted_proxies: Arc<[IpNet]>,
}

/// The address of the other end of the connection, set by the listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Adds the request id and the client address to the extensions of the request.
pub(crate) async fn request_info(
    State(state): State<RequestInfo>,
    mut request: Request,
    next: Next,
) -> Response {
    let given = request.headers().get(HEADER).and_then(|value| value.to_str().ok());
    let id = given
        .and_then(RequestId::from_caller)
        .unwrap_or_else(|| RequestId::from_random(state.random_source.next_u128()));
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    let address = client_address(peer, request.headers(), &state.trusted_proxies);
    request.extensions_mut().insert(id.clone());
    request.extensions_mut().insert(ClientAddress(address));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(HEADER, value);
    }
    response
}

/// Returns the last address in `X-Forwarded-For` that is not a trusted proxy. Each proxy appends the address
/// of its client, so entries before an untrusted address can be forged.
fn client_address(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|net| net.contains(address));
    let peer = peer.to_canonical();
    if !is_trusted(&peer) {
        return peer;
    }
    let mut nearest = peer;
    let named = headers.get_all("x-forwarded-for").iter().rev();
    for address in named.flat_map(|value| value.to_str().unwrap_or("?").rsplit(',')) {
        let Ok(address) = address.trim().parse::<IpAddr>() else { return nearest };
        nearest = address.to_canonical();
        if !is_trusted(&nearest) {
            return nearest;
        }
    }
    nearest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(peer: &str, forwarded: &[&'static str]) -> String {
        let trusted = ["10.0.0.0/8", "::1/128"].map(|net| net.parse().unwrap());
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", HeaderValue::from_static(value));
        }
        client_address(peer.parse().unwrap(), &headers, &trusted).to_string()
    }

    #[test]
    fn the_header_of_an_untrusted_peer_is_ignored() {
        assert_eq!(address("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
    }

    #[test]
    fn only_entries_added_by_trusted_proxies_count() {
        assert_eq!(address("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(address("10.0.0.1", &["1.1.1.1, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(address("10.0.0.1", &["1.1.1.1", "198.51.100.1"]), "198.51.100.1");
        assert_eq!(address("10.0.0.1", &["1.1.1.1, nonsense, 10.0.0.2"]), "10.0.0.2");
        assert_eq!(address("10.0.0.1", &[]), "10.0.0.1");
        assert_eq!(address("::ffff:10.0.0.1", &["::ffff:198.51.100.1"]), "198.51.100.1");
    }
}
