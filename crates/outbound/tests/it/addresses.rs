//! URLs with addresses that are refused at registration and at connect.

use outbound::{Client, Destination, DestinationError, Policy, RequestError, Settings};

use crate::receiver::Canary;
use crate::{client, destination, get, lax, loopback, post, settings, strict};

/// Hosts that are addresses outside of the public internet, in the spellings of URL parsers.
const REFUSED_HOSTS: &[&str] = &[
    // Loopback.
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0x7f.1",
    "0x7f000001",
    "0X7F.0.0.0x1",
    "0177.0.0.1",
    "017700000001",
    "2130706433",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127。0。0。1",
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001::7f00:1]",
    // This host.
    "0.0.0.0",
    "0",
    "0x0",
    "[::]",
    // Metadata services of clouds.
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "192.0.0.192",
    // Private, shared, link-local, unique local, multicast, broadcast.
    "10.0.0.1",
    "10.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.257",
    "100.64.0.1",
    "[fd00::1]",
    "[fc00::1]",
    "[fe80::1]",
    "[fec0::1]",
    "224.0.0.1",
    "[ff02::1]",
    "255.255.255.255",
];

#[test]
fn a_refused_address_is_refused_at_registration_in_every_spelling() {
    for host in REFUSED_HOSTS {
        let url = format!("https://{host}/");
        let parsed = Destination::parse(&url, &Policy::default());
        assert_eq!(parsed, Err(DestinationError::Address), "{url}");
    }
}

#[tokio::test]
async fn a_refused_address_is_refused_at_connect_in_every_spelling() {
    let canary = Canary::start().await;
    let client = client(strict());
    for host in REFUSED_HOSTS {
        // As if it had been registered with another policy.
        let url = format!("http://{host}:{}/", canary.address().port());
        let refused = Some(RequestError::AddressRefused);
        assert_eq!(client.check(&destination(&url)).await.err(), refused, "{url}");
        assert_eq!(post(&client, &url).await.err(), refused, "{url}");
        assert_eq!(get(&client, &url).await.err(), refused, "{url}");
    }
    canary.assert_untouched().await;
}

#[tokio::test]
async fn plain_http_is_refused_at_connect_unless_the_policy_of_the_client_allows_it() {
    let canary = Canary::start().await;
    let client = client(Policy { allow_http: false, ..loopback() });
    let url = format!("http://{}/", canary.address());
    assert_eq!(post(&client, &url).await.err(), Some(RequestError::AddressRefused));
    canary.assert_untouched().await;
}

#[tokio::test]
async fn a_port_of_another_service_is_refused_at_connect() {
    let only_loopback = client(loopback());
    // Parsed with a policy that exempts all addresses from the rule for ports.
    let redis = Destination::parse("http://1.1.1.1:6379/", &lax()).unwrap();
    assert_eq!(only_loopback.check(&redis).await, Err(RequestError::AddressRefused));
}

#[tokio::test]
async fn a_denied_network_is_refused_at_registration_and_at_connect_although_it_is_allowed() {
    let canary = Canary::start().await;
    let denied_networks = vec!["127.0.0.0/16".parse().unwrap(), "1.1.1.1/32".parse().unwrap()];
    let settings = Settings { denied_networks, ..settings(loopback()) };
    let client = Client::new(settings).unwrap();
    let port = canary.address().port();
    for url in [format!("http://{}/", canary.address()), format!("http://[::ffff:7f00:1]:{port}/")]
    {
        let refused = Some(RequestError::AddressRefused);
        assert_eq!(client.check(&destination(&url)).await.err(), refused, "{url}");
        assert_eq!(post(&client, &url).await.err(), refused, "{url}");
    }
    let public = client.check(&destination("https://1.1.1.1/")).await;
    assert_eq!(public, Err(RequestError::AddressRefused));
    assert_eq!(client.check(&destination("https://1.1.1.2/")).await, Ok(()));
    canary.assert_untouched().await;
}
