//! Test doubles of payment processors (dev/processors), processes that end with the test, and the webhooks that they send. They need node;
//! without it, set `SOUK_SKIP_NODE` and their tests pass without doing anything.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Extension, Router};
use outbound::{Client, Destination, Policy, Settings};
use processors::RESPONSE_MAX_BYTES;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// A webhook as a processor sent it.
#[derive(Debug, Clone)]
pub(super) struct Webhook {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// A running double.
pub(super) struct Double {
    child: Child,
    /// The double ends when it is closed, also if the test is killed.
    _stdin: ChildStdin,
    pub(super) address: String,
    client: Client,
    webhooks: UnboundedReceiver<Webhook>,
}

/// Returns a client that reaches the doubles.
pub(super) fn client() -> Client {
    let allowed_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let client = Client::new(Settings {
        policy: Policy { allow_http: true, allowed_networks },
        total_timeout: PATIENCE,
        connect_timeout: PATIENCE,
        response_max_bytes: RESPONSE_MAX_BYTES,
        ..Settings::default()
    });
    client.unwrap()
}

#[expect(clippy::disallowed_methods, reason = "where the tests run decides whether there is node")]
pub(super) fn is_skipped() -> bool {
    std::env::var("SOUK_SKIP_NODE").is_ok_and(|value| !value.is_empty())
}

impl Double {
    pub(super) async fn start(script: &str, arguments: &[&str]) -> Self {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../dev/processors");
        let mut command = Command::new("node");
        command.arg(folder.join(script)).args(arguments);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            panic!("node is needed for the test doubles; set SOUK_SKIP_NODE to skip these tests")
        };
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).unwrap();
        let address = started["address"].as_str().unwrap().to_owned();
        let (sender, webhooks) = unbounded_channel();
        let double = Self { child, _stdin: stdin, address, client: client(), webhooks };
        let url = receiver(sender).await;
        double.control("webhooks", json!({ "url": url })).await;
        double
    }

    pub(super) async fn get(&self, path: &str) -> Vec<u8> {
        let url = format!("{}{path}", self.address);
        let destination = Destination::parse(&url, self.client.policy()).unwrap();
        let response = self.client.get(&destination, HeaderMap::new()).await.unwrap();
        assert!(response.status.is_success(), "{url}: {}", response.status);
        response.body
    }

    pub(super) async fn control(&self, path: &str, body: Value) {
        let url = format!("{}/control/{path}", self.address);
        assert_eq!(self.post(&url, body.to_string()).await, 200, "{path} {body}");
    }

    /// Presses a button on the page of a payment.
    pub(super) async fn press(&self, page_url: &str, action: &str) {
        let (url, _) = page_url.split_once('#').unwrap_or((page_url, ""));
        let status = self.post(url, format!("action={action}")).await;
        assert!([200, 303].contains(&status), "{url}: {status}");
    }

    async fn post(&self, url: &str, body: String) -> u16 {
        let destination = Destination::parse(url, self.client.policy()).unwrap();
        let response = self.client.post(&destination, HeaderMap::new(), body.into()).await;
        response.unwrap().status.as_u16()
    }

    pub(super) async fn state(&self) -> Value {
        serde_json::from_slice(&self.get("/control/state").await).unwrap()
    }

    /// Returns how many requests the double received for an operation.
    pub(super) async fn requests(&self, operation: &str) -> usize {
        let state = self.state().await;
        let requests = state["requests"].as_array().unwrap();
        requests.iter().filter(|request| request["operation"] == operation).count()
    }

    /// Waits for the next webhook.
    pub(super) async fn webhook(&mut self) -> Webhook {
        let next = tokio::time::timeout(PATIENCE, self.webhooks.recv()).await;
        next.unwrap_or_else(|_| panic!("no webhook arrived")).unwrap()
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a receiver of webhooks, and returns its URL.
async fn receiver(sender: UnboundedSender<Webhook>) -> String {
    let receive = |Extension(sender): Extension<UnboundedSender<Webhook>>,
                   headers: HeaderMap,
                   body: Bytes| async move {
        let _ = sender.send(Webhook { headers, body });
    };
    let router = Router::new().route("/", post(receive)).layer(Extension(sender));
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", socket.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(socket, router).await.unwrap() });
    url
}
