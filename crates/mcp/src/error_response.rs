//! Refusals, in the two forms of decisions §7.

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use primitives::{Failure, RequestId};
use serde_json::{Value, json};

/// JSON-RPC's code for errors a server defines itself.
const SERVER_ERROR: i64 = -32000;

/// How a caller wants to hear of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// An MCP client: JSON-RPC errors and results.
    Mcp,
    /// Plain HTTP, as in the specification's examples: the envelope.
    Plain,
}

impl Speech {
    /// As its headers tell.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let accepts_stream = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/event-stream"));
        if headers.contains_key("mcp-protocol-version") || accepts_stream {
            Self::Mcp
        } else {
            Self::Plain
        }
    }
}

/// A refusal with an HTTP status: the envelope, or a JSON-RPC error that carries it.
pub(crate) fn refuse(
    failure: &Failure,
    id: &Value,
    request_id: &RequestId,
    speech: Speech,
) -> Response {
    let envelope = failure.envelope(request_id.as_str());
    let mut headers = HeaderMap::new();
    let status = failure.code().status();
    if let Some(challenge) = identity::challenge(status, &envelope) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    match status {
        429 => limits::write_refusal(&envelope, &mut headers),
        503 => drop(headers.insert(header::RETRY_AFTER, HeaderValue::from_static("30"))),
        _ => {}
    }
    let body = match speech {
        Speech::Plain => envelope,
        Speech::Mcp => fault_body(id, SERVER_ERROR, &failure.message(), Some(envelope)),
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, Json(body)).into_response()
}

/// A fault of the protocol: a JSON-RPC error with HTTP 400.
pub(crate) fn fault(id: &Value, code: i64, message: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(fault_body(id, code, message, None))).into_response()
}

pub(crate) fn fault_body(id: &Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Causes of our own failures, once, at the door.
pub(crate) fn log(failure: &Failure, request_id: &RequestId) {
    match failure.code().status() {
        500 => tracing::error!(%request_id, cause = failure.cause(), "internal error"),
        503 => tracing::warn!(%request_id, cause = failure.cause(), "unavailable"),
        _ => {}
    }
}

/// The answer to a request that failed before it reached the endpoint: for the server's own layers,
/// which have not read the body and so do not know the request's JSON-RPC id.
#[must_use]
pub fn refusal(failure: &Failure, speech: Speech, request_id: &RequestId) -> Response {
    log(failure, request_id);
    refuse(failure, &Value::Null, request_id, speech)
}
