//! DNS that returns vetted addresses only.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::config::{
    ConnectionConfig, LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig,
};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use hickory_resolver::{ResolverBuilder, TokioResolver};
use reqwest::dns::{Addrs, Resolve, Resolving};

use crate::error::RequestError;
use crate::policy::AddressFilter;

/// Addresses of each family that a connection tries. The connect timeout is divided among them.
const ADDRESSES_PER_FAMILY_MAX: usize = 3;

/// Answers are kept as long as their time to live says, but not longer, so that a receiver can move.
const POSITIVE_TTL_MAX: Duration = Duration::from_mins(5);
/// A name that was missing may exist soon: merchants register a URL while they set up its host.
const NEGATIVE_TTL_MAX: Duration = Duration::from_secs(30);

/// Queries in flight on one TCP connection to a name server, which is used for long answers.
const TCP_QUERIES_MAX: usize = 1_024;

/// The name server on this machine, which `resolv.conf(5)` names as the default.
const LOCAL_NAMESERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 53);

/// Resolves host names and vets every answer, also a cached one. The connector of the client has no other resolver and connects to
/// the addresses that this one returns, so that a name cannot change between the check and the connection.
#[derive(Debug, Clone)]
pub(crate) struct VettingResolver {
    resolver: TokioResolver,
    filter: Arc<AddressFilter>,
    timeout: Duration,
}

impl VettingResolver {
    /// `nameservers` is empty for those of the system.
    pub(crate) fn new(
        nameservers: &[SocketAddr],
        timeout: Duration,
        filter: Arc<AddressFilter>,
    ) -> Result<Self, NetError> {
        let mut builder =
            if nameservers.is_empty() { of_the_system() } else { with_nameservers(nameservers) };
        let options = builder.options_mut();
        // If queries of one family stay unanswered, their retry ends before the timeout, and the other family is used.
        options.timeout = timeout.mul_f64(0.4);
        options.attempts = 1;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.positive_max_ttl = Some(POSITIVE_TTL_MAX);
        options.negative_max_ttl = Some(NEGATIVE_TTL_MAX);
        options.max_active_requests = TCP_QUERIES_MAX;
        Ok(Self { resolver: builder.build()?, filter, timeout })
    }

    /// Returns the addresses of a host, IPv4 first. If one of them is not permitted, the whole answer is refused: whoever
    /// mixes public and private addresses tries to reach the private ones.
    pub(crate) async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, RequestError> {
        let mut name = Name::from_ascii(host).map_err(|_| RequestError::DnsFailed)?;
        // Complete as it is: the search domains of the system do not apply.
        name.set_fqdn(true);
        let lookup = tokio::time::timeout(self.timeout, self.resolver.lookup_ip(name)).await;
        let lookup = lookup.map_err(|_| RequestError::DnsFailed)?;
        let lookup = lookup.map_err(|_| RequestError::DnsFailed)?;
        vet(&self.filter, lookup.iter())
    }
}

impl Resolve for VettingResolver {
    fn resolve(&self, name: reqwest::dns::Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.addresses(name.as_str()).await?;
            // The connector replaces port 0 by the port of the URL.
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn vet(
    filter: &AddressFilter,
    answer: impl Iterator<Item = IpAddr>,
) -> Result<Vec<IpAddr>, RequestError> {
    let (mut addresses, mut six): (Vec<IpAddr>, Vec<IpAddr>) = answer.partition(IpAddr::is_ipv4);
    if !addresses.iter().chain(&six).all(|address| filter.permits(*address)) {
        return Err(RequestError::AddressRefused);
    }
    addresses.truncate(ADDRESSES_PER_FAMILY_MAX);
    six.truncate(ADDRESSES_PER_FAMILY_MAX);
    addresses.append(&mut six);
    if addresses.is_empty() {
        return Err(RequestError::DnsFailed);
    }
    Ok(addresses)
}

fn of_the_system() -> ResolverBuilder<TokioRuntimeProvider> {
    TokioResolver::builder_tokio().unwrap_or_else(|error| {
        tracing::warn!(%error, "no DNS configuration of the system: using the name server on this machine");
        with_nameservers(&[LOCAL_NAMESERVER])
    })
}

fn with_nameservers(nameservers: &[SocketAddr]) -> ResolverBuilder<TokioRuntimeProvider> {
    let server = |address: &SocketAddr| {
        let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
        for connection in &mut connections {
            connection.port = address.port();
        }
        NameServerConfig::new(address.ip(), true, connections)
    };
    let config = ResolverConfig::from_name_servers(nameservers.iter().map(server).collect());
    let provider = TokioRuntimeProvider::default();
    let mut builder = TokioResolver::builder_with_config(config, provider);
    builder.options_mut().use_hosts_file = ResolveHosts::Never;
    builder
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    fn vetted(answer: &[&str]) -> Result<Vec<String>, RequestError> {
        vetted_with(&Policy::default(), answer)
    }

    fn vetted_with(policy: &Policy, answer: &[&str]) -> Result<Vec<String>, RequestError> {
        let answer = answer.iter().map(|address| address.parse().unwrap());
        let filter = AddressFilter { policy: policy.clone(), denied_networks: Vec::new() };
        let addresses = vet(&filter, answer)?;
        Ok(addresses.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn one_refused_address_refuses_the_whole_answer() {
        for refused in ["127.0.0.1", "10.0.0.1", "::1", "::ffff:169.254.169.254", "64:ff9b::1"] {
            assert_eq!(vetted(&["1.1.1.1", refused]), Err(RequestError::AddressRefused));
            assert_eq!(vetted(&[refused, "1.1.1.1"]), Err(RequestError::AddressRefused));
        }
        // Also beyond the addresses that are used.
        let many = ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4", "1.1.1.5", "127.0.0.1"];
        assert_eq!(vetted(&many), Err(RequestError::AddressRefused));
    }

    #[test]
    fn a_connection_tries_a_few_addresses_of_each_family() {
        let answer = ["2606:4700::1", "1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"];
        let expected = ["1.1.1.1", "1.1.1.2", "1.1.1.3", "2606:4700::1"];
        assert_eq!(vetted(&answer).unwrap(), expected);
        assert_eq!(vetted(&[]), Err(RequestError::DnsFailed));
    }

    #[test]
    fn an_answer_of_dns64_is_judged_by_the_ipv4_addresses_behind_the_allowed_prefix() {
        let allowed_networks = vec!["64:ff9b::/96".parse().unwrap()];
        let policy = Policy { allowed_networks, ..Policy::default() };
        let answer = ["1.1.1.1", "64:ff9b::101:101"];
        assert_eq!(vetted_with(&policy, &answer).unwrap(), answer);
        let answer = ["169.254.169.254", "64:ff9b::a9fe:a9fe"];
        for answer in [&answer[..], &answer[1..]] {
            assert_eq!(vetted_with(&policy, answer), Err(RequestError::AddressRefused));
        }
    }
}
