//! Where a request came from.

use std::net::IpAddr;

/// The address of whoever sent a request, as far as it can be known: behind proxies that are trusted, the
/// one they name. The server puts it among the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClientAddress(pub IpAddr);
