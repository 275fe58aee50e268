//! Requests to receivers and name servers on loopback.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

mod addresses;
mod dns;
mod exchange;
mod failures;
mod name_server;
mod receiver;
mod spelling;
mod tls;

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use outbound::{Client, Destination, Policy, RequestError, Response, Settings};

/// Accepts `http` and the addresses of loopback.
fn loopback() -> Policy {
    Policy { allow_http: true, allowed_networks: vec!["127.0.0.0/8".parse().unwrap()] }
}

/// Accepts `http`, and no address that is not public.
fn strict() -> Policy {
    Policy { allow_http: true, allowed_networks: Vec::new() }
}

/// Accepts every address.
fn lax() -> Policy {
    let allowed_networks = vec!["0.0.0.0/0".parse().unwrap(), "::/0".parse().unwrap()];
    Policy { allow_http: true, allowed_networks }
}

/// Settings without a name server, so that no test depends on the network.
fn settings(policy: Policy) -> Settings {
    let nowhere = vec!["127.0.0.1:9".parse().unwrap()];
    Settings { policy, nameservers: nowhere, ..Settings::default() }
}

fn client(policy: Policy) -> Client {
    Client::new(settings(policy)).unwrap()
}

/// A client that gives up early, for receivers that never finish.
fn impatient() -> Client {
    let total_timeout = Duration::from_millis(300);
    Client::new(Settings { total_timeout, ..settings(loopback()) }).unwrap()
}

fn destination(url: &str) -> Destination {
    Destination::parse(url, &lax()).unwrap()
}

async fn post(client: &Client, url: &str) -> Result<Response, RequestError> {
    client.post(&destination(url), HeaderMap::new(), Bytes::from_static(b"{}")).await
}

async fn get(client: &Client, url: &str) -> Result<Response, RequestError> {
    client.get(&destination(url), HeaderMap::new()).await
}
