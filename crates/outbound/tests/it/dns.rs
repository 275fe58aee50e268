//! Names that resolve to refused addresses, at once or later.

use std::net::SocketAddr;
use std::time::Duration;

use outbound::{Client, Policy, RequestError, Settings};
use tokio::net::UdpSocket;

use crate::name_server::NameServer;
use crate::receiver::{Canary, Receiver};
use crate::{destination, get, loopback, post, settings, strict};

const HOST: &str = "hooks.example.com";
const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

fn client(policy: Policy, server: &NameServer) -> Client {
    Client::new(Settings { nameservers: vec![server.address], ..settings(policy) }).unwrap()
}

#[tokio::test]
async fn a_name_is_resolved_by_the_name_server_and_the_request_sent_to_its_address() {
    let server = NameServer::start().await;
    server.set(HOST, &["127.0.0.1"]);
    let receiver = Receiver::responding(NO_CONTENT).await;
    let url = format!("http://{HOST}:{}/", receiver.address.port());
    let client = client(loopback(), &server);
    assert_eq!(client.check(&destination(&url)).await, Ok(()));
    assert_eq!(receiver.connections(), 0, "a check does not connect");
    assert_eq!(post(&client, &url).await.unwrap().status, 204);
    assert_eq!(receiver.connections(), 1);
}

#[tokio::test]
async fn a_name_with_a_refused_address_is_refused_at_registration_and_at_connect() {
    let server = NameServer::start().await;
    let canary = Canary::start().await;
    let url = format!("http://{HOST}:{}/", canary.address().port());
    let client = client(strict(), &server);
    for addresses in [
        &["127.0.0.1"][..],
        &["::1"],
        &["10.0.0.1"],
        &["169.254.169.254"],
        &["100.64.0.1"],
        &["fd00::1"],
        &["fe80::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
        &["2002:7f00:1::"],
        // Mixed sets, in both orders and over both families.
        &["1.1.1.1", "127.0.0.1"],
        &["127.0.0.1", "1.1.1.1"],
        &["1.1.1.1", "::1"],
        &["127.0.0.1", "2606:4700:4700::1111"],
    ] {
        server.set(HOST, addresses);
        let checked = client.check(&destination(&url)).await;
        assert_eq!(checked, Err(RequestError::AddressRefused), "{addresses:?}");
        let posted = post(&client, &url).await.err();
        assert_eq!(posted, Some(RequestError::AddressRefused), "{addresses:?}");
        let fetched = get(&client, &url).await.err();
        assert_eq!(fetched, Some(RequestError::AddressRefused), "{addresses:?}");
    }
    canary.assert_untouched().await;
}

#[tokio::test]
async fn a_name_with_an_address_of_a_denied_network_is_refused() {
    let server = NameServer::start().await;
    let canary = Canary::start().await;
    let url = format!("http://{HOST}:{}/", canary.address().port());
    let denied_networks = vec!["127.0.0.1/32".parse().unwrap(), "1.1.1.0/24".parse().unwrap()];
    let nameservers = vec![server.address];
    let settings = Settings { denied_networks, nameservers, ..settings(loopback()) };
    let client = Client::new(settings).unwrap();
    for addresses in [&["127.0.0.1"][..], &["1.1.1.1"], &["8.8.8.8", "1.1.1.1"]] {
        server.set(HOST, addresses);
        let checked = client.check(&destination(&url)).await;
        assert_eq!(checked, Err(RequestError::AddressRefused), "{addresses:?}");
        let posted = post(&client, &url).await.err();
        assert_eq!(posted, Some(RequestError::AddressRefused), "{addresses:?}");
    }
    canary.assert_untouched().await;
}

#[tokio::test]
async fn an_alias_of_a_refused_address_is_refused() {
    let server = NameServer::start().await;
    let canary = Canary::start().await;
    server.set_alias(HOST, "edge.example.net");
    server.set_alias("edge.example.net", "internal.example.org");
    server.set("internal.example.org", &["127.0.0.1"]);
    let url = format!("http://{HOST}:{}/", canary.address().port());
    let client = client(strict(), &server);
    assert_eq!(client.check(&destination(&url)).await, Err(RequestError::AddressRefused));
    assert_eq!(post(&client, &url).await.err(), Some(RequestError::AddressRefused));
    canary.assert_untouched().await;
    // The chain itself works: with a public address at its end, the name is accepted.
    server.set("internal.example.org", &["1.1.1.1"]);
    assert_eq!(client.check(&destination(&url)).await, Ok(()));
}

#[tokio::test]
async fn a_name_that_changes_after_its_registration_is_refused_at_connect() {
    let server = NameServer::start().await;
    let canary = Canary::start().await;
    let url = format!("http://{HOST}:{}/", canary.address().port());
    let client = client(strict(), &server);
    server.set(HOST, &["1.1.1.1"]);
    assert_eq!(client.check(&destination(&url)).await, Ok(()));
    server.set(HOST, &["127.0.0.1"]);
    assert_eq!(post(&client, &url).await.err(), Some(RequestError::AddressRefused));
    canary.assert_untouched().await;
}

#[tokio::test]
async fn the_address_that_was_vetted_is_the_address_of_the_connection() {
    let server = NameServer::start().await;
    // The first answer is permitted and the next is not: resolving again after the check would be noticed.
    server.set_changing(HOST, &["127.0.0.1"], &["127.0.0.2"]);
    let receiver = Receiver::responding(NO_CONTENT).await;
    let port = receiver.address.port();
    let canary = Canary::at(SocketAddr::from(([127, 0, 0, 2], port))).await;
    let allowed_networks = vec!["127.0.0.1/32".parse().unwrap()];
    let client = client(Policy { allow_http: true, allowed_networks }, &server);
    let url = format!("http://{HOST}:{port}/");
    assert_eq!(post(&client, &url).await.unwrap().status, 204);
    // The name has moved. A second request uses the open connection, or is refused if that one is not idle yet.
    let again = post(&client, &url).await.map(|response| response.status.as_u16());
    assert!(matches!(again, Ok(204) | Err(RequestError::AddressRefused)), "{again:?}");
    assert_eq!(receiver.connections(), 1);
    assert_eq!(client.check(&destination(&url)).await, Err(RequestError::AddressRefused));
    canary.assert_untouched().await;
}

#[tokio::test]
async fn localhost_is_refused_without_a_question_to_a_name_server() {
    let server = NameServer::start().await;
    let client = client(strict(), &server);
    for host in ["localhost", "a.localhost"] {
        let url = format!("http://{host}:8080/");
        let refused = Err(RequestError::AddressRefused);
        assert_eq!(client.check(&destination(&url)).await, refused, "{host}");
    }
}

#[tokio::test]
async fn a_name_without_addresses_is_a_dns_failure() {
    let server = NameServer::start().await;
    let client = client(strict(), &server);
    let url = format!("http://{HOST}:8080/");
    assert_eq!(client.check(&destination(&url)).await, Err(RequestError::DnsFailed));
    assert_eq!(post(&client, &url).await.err(), Some(RequestError::DnsFailed));
    server.set("empty.example.com", &[]);
    let empty = destination("http://empty.example.com:8080/");
    assert_eq!(client.check(&empty).await, Err(RequestError::DnsFailed));
}

#[tokio::test]
async fn a_silent_name_server_is_a_dns_failure() {
    let silent = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings {
        nameservers: vec![silent.local_addr().unwrap()],
        dns_timeout: Duration::from_millis(300),
        ..settings(strict())
    };
    let client = Client::new(settings).unwrap();
    let url = format!("http://{HOST}:8080/");
    assert_eq!(client.check(&destination(&url)).await, Err(RequestError::DnsFailed));
    assert_eq!(post(&client, &url).await.err(), Some(RequestError::DnsFailed));
}
