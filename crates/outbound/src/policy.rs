//! What the operator permits beyond the defaults, and what is denied.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{behind_nat64, is_public};

/// Exceptions from the rules for destinations. The default has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether `http` URLs are accepted: for development and tests.
    pub allow_http: bool,
    /// Networks that are accepted although they are not public, such as a receiver inside of the operator's network. The rule for ports
    /// does not apply to a URL with such an address as its host. With the prefix of NAT64 (`64:ff9b::/96`) those of its addresses are
    /// accepted whose IPv4 address is accepted by itself.
    pub allowed_networks: Vec<IpNet>,
}

impl Policy {
    /// Returns whether the policy accepts the address. Networks that the operator denies are checked by [`AddressFilter`].
    #[must_use]
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        match behind_nat64(address) {
            Some(four) => self.allows(address) && self.permits(four),
            None => is_public(address) || self.allows(address),
        }
    }

    /// Returns whether the address is in an allowed network; behind NAT64 also its IPv4 address.
    pub(crate) fn exempts(&self, address: IpAddr) -> bool {
        let is_exempt_behind = behind_nat64(address).is_none_or(|four| self.exempts(four));
        self.allows(address) && is_exempt_behind
    }

    fn allows(&self, address: IpAddr) -> bool {
        is_in(&self.allowed_networks, address)
    }
}

/// The addresses to which a client may connect: those that its policy permits, without those of denied networks.
#[derive(Debug)]
pub(crate) struct AddressFilter {
    pub(crate) policy: Policy,
    pub(crate) denied_networks: Vec<IpNet>,
}

impl AddressFilter {
    pub(crate) fn permits(&self, address: IpAddr) -> bool {
        !self.denies(address) && self.policy.permits(address)
    }

    /// Returns whether the address is in a denied network, or behind NAT64 its IPv4 address.
    pub(crate) fn denies(&self, address: IpAddr) -> bool {
        let is_denied = |address| is_in(&self.denied_networks, address);
        is_denied(address) || behind_nat64(address).is_some_and(is_denied)
    }
}

fn is_in(networks: &[IpNet], address: IpAddr) -> bool {
    let canonical = address.to_canonical();
    networks.iter().any(|network| network.contains(&address) || network.contains(&canonical))
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

    #[test]
    fn an_allowed_nat64_prefix_accepts_what_is_accepted_behind_it() {
        let allowing = |networks: &[&str]| {
            let allowed_networks =
                networks.iter().map(|network| network.parse().unwrap()).collect();
            Policy { allowed_networks, ..Policy::default() }
        };
        let [public, metadata, private] =
            ["64:ff9b::101:101", "64:ff9b::a9fe:a9fe", "64:ff9b::a00:1"]
                .map(|address| address.parse().unwrap());
        let strict = Policy::default();
        assert!(!strict.permits(public) && !strict.permits(metadata) && !strict.permits(private));
        for prefix in ["64:ff9b::/96", "64:ff9b::/64", "::/0"] {
            let policy = allowing(&[prefix]);
            assert!(policy.permits(public), "{prefix}");
            assert!(!policy.permits(metadata) && !policy.permits(private), "{prefix}");
            assert!(!policy.exempts(public), "{prefix} is no exception from the rule for ports");
            let policy = allowing(&[prefix, "10.0.0.0/8"]);
            assert!(policy.permits(private) && policy.exempts(private), "{prefix}");
            assert!(policy.permits(public) && !policy.permits(metadata), "{prefix}");
        }
        let behind = allowing(&["10.0.0.0/8"]);
        assert!(!behind.permits(private), "the prefix itself is not allowed");
    }

    #[test]
    fn a_denied_network_is_stronger_than_an_allowed_one_and_than_the_public_internet() {
        let networks = |networks: &[&str]| -> Vec<IpNet> {
            networks.iter().map(|network| network.parse().unwrap()).collect()
        };
        let allowed_networks = networks(&["10.0.0.0/8", "64:ff9b::/96"]);
        let filter = AddressFilter {
            policy: Policy { allowed_networks, ..Policy::default() },
            denied_networks: networks(&["1.1.1.0/24", "2606:4700::/32", "10.1.0.0/16"]),
        };
        let permits = |address: &str| filter.permits(address.parse().unwrap());
        for address in ["1.1.2.1", "::ffff:1.1.2.1", "2606:4701::1", "10.2.0.1", "64:ff9b::101:201"]
        {
            assert!(permits(address), "{address}");
        }
        for address in ["1.1.1.1", "::ffff:1.1.1.1", "2606:4700::1", "10.1.0.1", "64:ff9b::101:101"]
        {
            assert!(!permits(address), "{address}");
        }
    }
}
