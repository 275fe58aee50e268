//! The caller that calls are counted for.

use std::borrow::Cow;
use std::net::IpAddr;

use primitives::{ClientAddress, KeyId, UserId};
use sha2::{Digest, Sha256};

use crate::quota_request::{Quota, QuotaRequest};
use crate::quotas::IPV6_SITE_SHARE;

/// Length of a window in seconds.
pub(crate) const WINDOW: u64 = 60;

/// A caller: its name in the counters, and the second of the minute at which its windows start.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    name: String,
    offset: u64,
    /// For an IPv6 client: its /64 network in the /48 network that `name` stands for.
    network: Option<IpAddr>,
}

impl Caller {
    /// Creates a caller for an agent key.
    #[must_use]
    pub fn agent(key: KeyId) -> Self {
        Self::named(key.to_string())
    }

    /// Creates a caller for a person.
    #[must_use]
    pub fn person(user: UserId) -> Self {
        Self::named(user.to_string())
    }

    /// Creates a caller for a store: all store keys of the merchant share its quotas.
    #[must_use]
    pub fn store(merchant: primitives::MerchantId) -> Self {
        Self::named(merchant.to_string())
    }

    /// Creates a caller for a client without credentials, by its network. An IPv6 client also counts for its site.
    #[must_use]
    pub fn address(from: ClientAddress) -> Self {
        match from.site() {
            None => Self::named(format!("ip_{}", from.network())),
            Some(site) => {
                let network = Some(from.network());
                Self { network, ..Self::named(format!("ip_{site}/48")) }
            }
        }
    }

    /// Returns the site of an IPv6 client.
    pub(crate) fn site(&self) -> Option<Self> {
        self.network?;
        Some(Self { network: None, ..self.clone() })
    }

    /// Returns the quotas that a call counts against. For an IPv6 client these are the ones of its network, and larger
    /// ones of its site.
    pub(crate) fn expand<'request>(
        &self,
        request: &'request QuotaRequest,
    ) -> Cow<'request, QuotaRequest> {
        let Some(network) = self.network else { return Cow::Borrowed(request) };
        let of_network = request
            .quotas
            .iter()
            .map(|quota| Quota { key: format!("{network}/{}", quota.key), ..quota.clone() });
        let of_site = request.quotas.iter().map(|quota| Quota {
            limit: quota.limit.saturating_mul(IPV6_SITE_SHARE.into()),
            ..quota.clone()
        });
        Cow::Owned(QuotaRequest {
            class: request.class,
            quotas: of_network.chain(of_site).collect(),
        })
    }

    fn named(name: String) -> Self {
        let digest = Sha256::digest(&name);
        let offset = u64::from(digest[0]) << 8 | u64::from(digest[1]);
        Self { name, offset: offset % WINDOW, network: None }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(address: &str) -> Caller {
        Caller::address(ClientAddress(address.parse().unwrap()))
    }

    #[test]
    fn windows_start_at_different_seconds() {
        let mut seconds: Vec<u64> = (0..200).map(|n| of(&format!("10.0.0.{n}")).offset()).collect();
        seconds.sort_unstable();
        seconds.dedup();
        assert!(seconds.len() > 50 && seconds.iter().all(|second| *second < WINDOW));
    }

    #[test]
    fn an_ipv6_client_counts_for_its_network_and_its_site() {
        let request = QuotaRequest::tier(crate::Class::Read, "public", 30);
        let (one, other) = (of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!((one.name(), one.site()), (other.name(), other.site()));
        assert_ne!(one, other);
        let keys = |caller: &Caller| -> Vec<(String, u32)> {
            let expanded = caller.expand(&request).into_owned().quotas.into_iter();
            expanded.map(|quota| (quota.key, quota.limit)).collect()
        };
        let expected = [("2001:db8:1:2::/public", 30), ("public", 480)];
        assert_eq!(keys(&one), expected.map(|(key, limit)| (key.to_owned(), limit)));
        assert_eq!(keys(&of("192.0.2.1")), [(String::from("public"), 30)]);
        assert_eq!(of("192.0.2.1").site(), None);
    }
}
