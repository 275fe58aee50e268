//! Test doubles of payment processors (dev/processors): processes that end with the test. They need node; without it, set
//! `SOUK_SKIP_NODE` and their tests pass without doing anything.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use http::HeaderMap;
use outbound::{Client, Destination, Policy, Settings};
use payments::ProviderName;
use processors::{CertificateAuthorities, Endpoints, Processors, RESPONSE_MAX_BYTES};
use serde_json::{Value, json};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A running test double.
pub(crate) struct Double {
    child: Child,
    /// The double ends when it is closed, also if the test is killed.
    _stdin: ChildStdin,
    pub(crate) provider: ProviderName,
    pub(crate) address: String,
    client: Client,
}

impl Double {
    /// Starts the double of a processor, with an account that moves real money; `None` if the tests are skipped.
    #[expect(
        clippy::disallowed_methods,
        reason = "where the tests run decides whether there is node"
    )]
    pub(crate) fn start(provider: ProviderName) -> Option<Self> {
        if std::env::var("SOUK_SKIP_NODE").is_ok_and(|value| !value.is_empty()) {
            return None;
        }
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../dev/processors");
        let mut command = Command::new("node");
        command.arg(folder.join(format!("{provider}-double.mjs")));
        if provider == ProviderName::Stripe {
            command.args(["--api-key", "sk_live_double"]);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            panic!("node is needed for the test doubles; set SOUK_SKIP_NODE to skip these tests")
        };
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let address = started["address"].as_str().unwrap().to_owned();
        let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
        let client = Client::new(Settings {
            policy: Policy { allow_http: true, allowed_networks },
            total_timeout: PATIENCE,
            connect_timeout: PATIENCE,
            response_max_bytes: RESPONSE_MAX_BYTES,
            ..Settings::default()
        });
        Some(Self { child, _stdin: stdin, provider, address, client: client.unwrap() })
    }

    /// Returns clients of the processors, of which this one is the double.
    pub(crate) async fn processors(&self) -> Processors {
        let mut endpoints = Endpoints::default();
        let mut authorities = CertificateAuthorities::from_pem(b"");
        let address = self.address.clone();
        if self.provider == ProviderName::Stripe {
            endpoints.stripe = address;
        } else {
            let pem = self.get(&format!("{address}/control/authority")).await;
            authorities = CertificateAuthorities::from_pem(&pem);
            endpoints.paypal_live_certificates = vec![address.clone()];
            endpoints.paypal_live = address;
        }
        Processors::new(&self.client, &endpoints, authorities).unwrap()
    }

    pub(crate) async fn get(&self, url: &str) -> Vec<u8> {
        let destination = Destination::parse(url, self.client.policy()).unwrap();
        let response = self.client.get(&destination, HeaderMap::new()).await.unwrap();
        assert!(response.status.is_success(), "{url}: {}", response.status);
        response.body
    }

    pub(crate) async fn control(&self, path: &str, body: Value) {
        let status =
            self.post(&format!("{}/control/{path}", self.address), &body.to_string()).await;
        assert_eq!(status, 200, "{path} {body}");
    }

    pub(crate) async fn fault(&self, operation: &str, fault: &str) {
        self.control("faults", json!({ "operation": operation, "fault": fault })).await;
    }

    /// Presses a button on the page of a payment.
    pub(crate) async fn press(&self, page_url: &str, action: &str) {
        let (url, _) = page_url.split_once('#').unwrap_or((page_url, ""));
        assert!([200, 303].contains(&self.post(url, &format!("action={action}")).await));
    }

    async fn post(&self, url: &str, body: &str) -> u16 {
        let destination = Destination::parse(url, self.client.policy()).unwrap();
        let response = self.client.post(&destination, HeaderMap::new(), body.to_owned().into());
        response.await.unwrap().status.as_u16()
    }

    /// Returns how many objects of a kind the double has.
    pub(crate) async fn count(&self, kind: &str) -> usize {
        let state = self.get(&format!("{}/control/state", self.address)).await;
        let state: Value = serde_json::from_slice(&state).unwrap();
        state[kind].as_array().unwrap().len()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
