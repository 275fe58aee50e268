//! A proxy between a client and the server. It gives each step an address of its own, so that quotas are used by nobody else,
//! and records the tool calls that arrive with what the server answered.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;
use testkit::ShownRequest;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::store::DemoStore;
use crate::http::Client;
use crate::report::Failure;

const BODY_BYTES_MAX: usize = 4 << 20;
/// Field of `_meta` with the capabilities of the client.
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The step whose address has no quota left.
const LIMIT: &str = "limit";

/// A tool call that arrived at the proxy.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedCall {
    pub(crate) step: String,
    pub(crate) tool: String,
    /// The HTTP status of the answer.
    pub(crate) status: u16,
    /// What an error tells the caller to do.
    pub(crate) hint: Option<String>,
    /// It completes an earlier call with the answer of a person.
    pub(crate) is_continuation: bool,
    /// It declares that the client can ask its user.
    pub(crate) declares_elicitation: bool,
}

/// What the proxy has seen.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) requests: u32,
    pub(crate) calls: Vec<ReceivedCall>,
    /// Step and hint of requests other than tool calls that were refused because of a limit.
    pub(crate) refused_listings: Vec<(String, String)>,
    step: String,
    address: Option<Ipv4Addr>,
}

/// A running proxy, stopped when dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    inner: Arc<Inner>,
    task: AbortHandle,
}

struct Inner {
    store: Arc<DemoStore>,
    traffic: Mutex<Traffic>,
}

impl Proxy {
    pub(crate) async fn start(store: Arc<DemoStore>) -> Result<Self, Failure> {
        let inner = Arc::new(Inner { store, traffic: Mutex::default() });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let router = Router::new()
            .route("/steps/{name}", post(begin_step))
            .fallback(forward)
            .with_state(Arc::clone(&inner));
        let task = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        Ok(Self { port, inner, task })
    }

    /// Returns what was seen so far, and forgets it.
    pub(crate) fn traffic(&self) -> Traffic {
        std::mem::take(&mut *self.inner.traffic())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Inner {
    fn traffic(&self) -> std::sync::MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a step of the script, with a new address.
async fn begin_step(State(inner): State<Arc<Inner>>, Path(step): Path<String>) -> Response {
    let address = if step == LIMIT {
        match inner.store.address_at_limit().await {
            Ok(address) => address,
            Err(failure) => return bad_gateway(&failure),
        }
    } else {
        inner.store.new_address()
    };
    let mut traffic = inner.traffic();
    (traffic.step, traffic.address) = (step, Some(address));
    StatusCode::OK.into_response()
}

/// Forwards a request to the server, and records it if it calls a tool.
async fn forward(State(inner): State<Arc<Inner>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_else(|_| Bytes::new());
    let (step, address) = {
        let mut traffic = inner.traffic();
        traffic.requests += 1;
        (traffic.step.clone(), traffic.address)
    };
    let kept = parts.headers.iter().filter(|(name, _)| !is_of_connection(name));
    let mut headers: Vec<(String, String)> = kept
        .filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())))
        .collect();
    headers.extend(address.map(|it| (String::from("X-Forwarded-For"), it.to_string())));
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    let forwarded = ShownRequest {
        method: parts.method.to_string(),
        path: path.to_owned(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let response = match Client::exchange(inner.store.port(), &forwarded).await {
        Ok(response) => response,
        Err(failure) => return bad_gateway(&failure),
    };
    if let Some(call) = received_call(&step, &forwarded.body, response.status, &response.body) {
        inner.traffic().calls.push(call);
    } else if response.status == 429 {
        let hint = hint(&response.body).unwrap_or_default();
        inner.traffic().refused_listings.push((step, hint));
    }
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
    let mut answer = (status, response.body).into_response();
    answer.headers_mut().remove(header::CONTENT_TYPE);
    for (name, value) in response.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value))
            && !is_of_connection(&name)
        {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

/// Returns whether a header describes the connection to the proxy and not the request.
fn is_of_connection(name: &HeaderName) -> bool {
    [
        header::HOST,
        header::CONTENT_LENGTH,
        header::CONNECTION,
        header::TRANSFER_ENCODING,
        header::ACCEPT_ENCODING,
    ]
    .contains(name)
}

fn received_call(step: &str, request: &str, status: u16, answer: &str) -> Option<ReceivedCall> {
    let request: Value = serde_json::from_str(request).ok()?;
    let params = (request["method"] == "tools/call").then(|| &request["params"])?;
    Some(ReceivedCall {
        step: step.to_owned(),
        tool: params["name"].as_str()?.to_owned(),
        status,
        hint: hint(answer),
        is_continuation: params.get("requestState").is_some(),
        declares_elicitation: params["_meta"][CAPABILITIES].get("elicitation").is_some(),
    })
}

/// Returns the hint of an error, which is the result of a call or the data of a JSON-RPC error.
fn hint(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let result = &answer["result"];
    let envelope = if result["isError"] == true {
        serde_json::from_str(result["content"][0]["text"].as_str()?).ok()?
    } else {
        answer["error"]["data"].clone()
    };
    envelope["details"]["hint"].as_str().map(str::to_owned)
}

fn bad_gateway(failure: &Failure) -> Response {
    (StatusCode::BAD_GATEWAY, failure.to_string()).into_response()
}
