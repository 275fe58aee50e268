//! The client of outbound requests, for servers of a test.

use std::time::Duration;

use outbound::{Client, Policy, Settings};

/// Returns a client that permits receivers on this machine without TLS, with a total timeout.
#[must_use]
pub fn loopback_client(timeout: Duration) -> Client {
    let loopback = "127.0.0.0/8".parse().expect("a network");
    let policy = Policy { allow_http: true, allowed_networks: vec![loopback] };
    let settings = Settings {
        policy,
        total_timeout: timeout,
        response_max_bytes: 1_024 * 1_024,
        ..Settings::default()
    };
    Client::new(settings).expect("the client can be created")
}
