//! Errors of destinations, requests and the client itself.

use hickory_resolver::net::NetError;

use crate::destination::URL_MAX_BYTES;

/// Why a URL is not accepted as a destination. The sentence repeats nothing of the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DestinationError {
    #[error("the URL is longer than {URL_MAX_BYTES} bytes")]
    TooLong,
    #[error("not an absolute URL, or it contains spaces, control characters or backslashes")]
    Invalid,
    #[error("the scheme of the URL must be https")]
    Scheme,
    #[error("the URL must not contain a user name or password")]
    UserInfo,
    #[error("the URL must not have a fragment")]
    Fragment,
    #[error("the host of the URL is not a valid host name")]
    Host,
    #[error("port not allowed: use 443, or a port from 1024 on that no well-known service has")]
    Port,
    #[error("the address of the URL is not public")]
    Address,
}

primitives::text_enum! {
    /// Why a request has no response. The name can be stored; neither it nor [`message`](Self::message) contains addresses or
    /// other internal details.
    #[strum(serialize_all = "snake_case")]
    pub enum RequestError {
        /// The host is or resolves to an address that is not permitted. Nothing was sent, unless the peer of an open connection
        /// was refused.
        AddressRefused,
        /// The host name has no addresses, or the name servers did not respond in time.
        DnsFailed,
        /// The connection was refused, or the host is unreachable.
        ConnectFailed,
        /// TCP and TLS were not established within the connect timeout.
        ConnectTimeout,
        /// The TLS handshake failed, or the certificate is not trusted.
        TlsFailed,
        /// The response was not complete within the total timeout.
        Timeout,
        /// The peer closed or reset the connection before the response was complete.
        ConnectionClosed,
        /// The peer sent something other than HTTP/1.1.
        InvalidResponse,
    }
}

impl RequestError {
    /// Returns a sentence for the owner of the destination.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::AddressRefused => {
                "the host has an address that is not public, or that the operator denies"
            }
            Self::DnsFailed => "the host name could not be resolved",
            Self::ConnectFailed => "the connection was refused or the host is unreachable",
            Self::ConnectTimeout => "the connection was not established in time",
            Self::TlsFailed => "the TLS handshake failed or the certificate is not trusted",
            Self::Timeout => "the response was not complete in time",
            Self::ConnectionClosed => "the connection was closed before the response was complete",
            Self::InvalidResponse => "the response is not valid HTTP",
        }
    }
}

impl std::error::Error for RequestError {}

/// Why a client cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot configure outbound HTTP: are CA certificates installed?")]
    Http(#[from] reqwest::Error),
    #[error("cannot configure outbound DNS")]
    Dns(#[from] NetError),
}
