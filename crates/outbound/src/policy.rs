//! What the operator permits beyond the defaults.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::is_public;

/// Exceptions from the rules for destinations. The default has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether `http` URLs are accepted: for development and tests.
    pub allow_http: bool,
    /// Networks that are accepted although they are not public, such as a receiver inside of the operator's network. The rule for ports
    /// does not apply to a URL with such an address as its host.
    pub allowed_networks: Vec<IpNet>,
}

impl Policy {
    /// Returns whether a request may connect to the address.
    #[must_use]
    pub fn permits(&self, address: IpAddr) -> bool {
        is_public(address) || self.exempts(address)
    }

    /// Returns whether the address is in an allowed network.
    pub(crate) fn exempts(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        self.allowed_networks
            .iter()
            .any(|network| network.contains(&address) || network.contains(&canonical))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_allowed_network_is_an_exception() {
        let loopback = "127.0.0.1".parse().unwrap();
        let mapped = "::ffff:127.0.0.1".parse().unwrap();
        let private = "10.0.0.1".parse().unwrap();
        let strict = Policy::default();
        assert!(!strict.permits(loopback) && !strict.permits(mapped) && !strict.permits(private));
        let networks = vec!["127.0.0.0/8".parse().unwrap()];
        let lax = Policy { allowed_networks: networks, ..Policy::default() };
        assert!(lax.permits(loopback) && lax.permits(mapped) && !lax.permits(private));
        assert!(lax.permits("1.1.1.1".parse().unwrap()));
    }
}
