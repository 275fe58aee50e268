//! What an error of the HTTP library means.

use std::error::Error;
use std::io;

use crate::error::RequestError;

/// Returns the meaning of an error that a request or the reading of its response returned.
pub(crate) fn classify(error: &reqwest::Error) -> RequestError {
    // Of our resolver, which the connector called.
    if let Some(error) = cause::<RequestError>(error) {
        return *error;
    }
    // A scheme that the client does not accept.
    if error.is_builder() {
        return RequestError::AddressRefused;
    }
    if error.is_connect() { connect_error(error) } else { response_error(error) }
}

fn connect_error(error: &reqwest::Error) -> RequestError {
    if error.is_timeout() {
        RequestError::ConnectTimeout
    } else if cause::<rustls::Error>(error).is_some() || is_handshake_eof(error) {
        RequestError::TlsFailed
    } else {
        RequestError::ConnectFailed
    }
}

/// Whether the peer closed the connection during the TLS handshake. Connecting with TCP does not read.
fn is_handshake_eof(error: &reqwest::Error) -> bool {
    innermost_io_kind(error) == Some(io::ErrorKind::UnexpectedEof)
}

fn response_error(error: &reqwest::Error) -> RequestError {
    if error.is_timeout() {
        return RequestError::Timeout;
    }
    // With TLS 1.3 a server that requires a client certificate says so after the handshake.
    if cause::<rustls::Error>(error).is_some() {
        return RequestError::TlsFailed;
    }
    if cause::<hyper::Error>(error).is_some_and(hyper::Error::is_parse) {
        return RequestError::InvalidResponse;
    }
    match innermost_io_kind(error) {
        // Invalid chunks of a body.
        Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => {
            RequestError::InvalidResponse
        }
        _ => RequestError::ConnectionClosed,
    }
}

fn innermost_io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let errors = causes(error).filter_map(|error| error.downcast_ref::<io::Error>());
    errors.last().map(io::Error::kind)
}

fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    causes(error).find_map(|error| error.downcast_ref::<E>())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        // Its `source` is that of the error inside of it, which would be skipped.
        Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_inside_of_io_errors_is_found() {
        let inner = io::Error::new(io::ErrorKind::InvalidData, RequestError::TlsFailed);
        let outer = io::Error::other(inner);
        assert_eq!(cause::<RequestError>(&outer), Some(&RequestError::TlsFailed));
        assert_eq!(innermost_io_kind(&outer), Some(io::ErrorKind::InvalidData));
    }
}
