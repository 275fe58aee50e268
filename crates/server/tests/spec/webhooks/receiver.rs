//! A receiver of webhooks on this machine, which verifies signatures as the contract describes it.

use std::sync::{Arc, Mutex};

use aws_lc_rs::hmac;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct Received {
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Received {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns whether a `v1` of `X-Webhook-Signature` is of this secret (docs/contract/webhooks.md#signature).
    pub(super) fn is_signed_with(&self, secret: &str) -> bool {
        let header = self.headers["x-webhook-signature"].to_str().unwrap();
        let (time, signatures) = header.strip_prefix("t=").unwrap().split_once(',').unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let tag = hmac::sign(&key, format!("{time}.{}", self.body).as_bytes());
        let expected = format!("v1={}", hex::encode(tag));
        signatures.split(',').any(|signature| signature == expected)
    }
}

#[derive(Clone)]
struct Recorder {
    requests: Arc<Mutex<Vec<Received>>>,
    status: Arc<Mutex<u16>>,
}

/// A receiver that records requests.
pub(super) struct Receiver {
    recorder: Recorder,
    url: String,
}

async fn receive(
    State(recorder): State<Recorder>,
    headers: HeaderMap,
    body: String,
) -> (StatusCode, &'static str) {
    recorder.requests.lock().unwrap().push(Received { headers, body });
    let status = *recorder.status.lock().unwrap();
    (StatusCode::from_u16(status).unwrap(), "thanks")
}

impl Receiver {
    pub(super) async fn start() -> Self {
        let recorder = Recorder { requests: Arc::default(), status: Arc::new(Mutex::new(200)) };
        let router = Router::new().route("/hook", post(receive)).with_state(recorder.clone());
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", socket.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(socket, router).await.unwrap() });
        Self { recorder, url }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn respond_with(&self, status: u16) {
        *self.recorder.status.lock().unwrap() = status;
    }

    pub(super) fn requests(&self) -> Vec<Received> {
        self.recorder.requests.lock().unwrap().clone()
    }
}
