//! Settings of a client.

use std::net::SocketAddr;
use std::time::Duration;

use ipnet::IpNet;

use crate::policy::Policy;

/// Time to resolve a host name.
const DNS_TIMEOUT: Duration = Duration::from_secs(2);

/// Time to connect: DNS, TCP and TLS.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Time from the start of a request to the last byte that is read of the response.
pub const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of a [`Client`](crate::Client).
#[derive(Debug, Clone)]
pub struct Settings {
    pub policy: Policy,
    /// Networks to which no request is sent, although they are public or allowed by the policy.
    pub denied_networks: Vec<IpNet>,
    /// Name servers, with UDP and TCP on the same port. Empty: those of the system, and its hosts file.
    pub nameservers: Vec<SocketAddr>,
    pub dns_timeout: Duration,
    pub connect_timeout: Duration,
    pub total_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            denied_networks: Vec::new(),
            nameservers: Vec::new(),
            dns_timeout: DNS_TIMEOUT,
            connect_timeout: CONNECT_TIMEOUT,
            total_timeout: TOTAL_TIMEOUT,
        }
    }
}
