//! Error responses, in the two formats of docs/contract/errors.md#mcp-errors.

use axum::Json;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use primitives::{Failure, RequestId};
use serde_json::{Value, json};

use crate::elicitation::URL_REQUIRED;
use crate::message::{INVALID_PARAMS, Message};
use crate::request_context::RequestContext;

/// JSON-RPC code for errors that a server defines itself.
const SERVER_ERROR: i64 = -32000;

/// Format in which a caller expects errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFormat {
    /// JSON-RPC errors and results, for MCP clients.
    JsonRpc,
    /// The error envelope with its HTTP status, for plain HTTP callers (docs/contract/errors.md#plain-http).
    Envelope,
}

impl ErrorFormat {
    /// Returns the format that the request headers ask for: MCP clients send `MCP-Protocol-Version` or accept event streams.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let accepts_stream = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.contains("text/event-stream"));
        if headers.contains_key("mcp-protocol-version") || accepts_stream {
            Self::JsonRpc
        } else {
            Self::Envelope
        }
    }
}

/// Renders a failure with its HTTP status: as the envelope, or as a JSON-RPC error that contains it.
pub(crate) fn render(
    failure: &Failure,
    id: &Value,
    request_id: &RequestId,
    format: ErrorFormat,
) -> Response {
    let envelope = failure.envelope(request_id.as_str());
    let mut headers = HeaderMap::new();
    let status = failure.code().status();
    if let Some(challenge) = identity::challenge(status, &envelope) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    limits::write_error_headers(&envelope, &mut headers);
    let body = match format {
        ErrorFormat::Envelope => envelope,
        ErrorFormat::JsonRpc => {
            json_rpc_error(id, SERVER_ERROR, &failure.message(), Some(envelope))
        }
    };
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, headers, Json(body)).into_response()
}

/// Renders the failure of a tool call that is answered without rmcp. For an MCP client it is a result with `isError`, a request
/// for the person's approval if the client supports it, or, for an unknown tool, a protocol error.
pub(crate) fn tool_error(
    context: &RequestContext,
    message: &Message,
    failure: &Failure,
) -> Response {
    let (id, request_id) = (&message.id, &context.request_id);
    if context.error_format == ErrorFormat::Envelope {
        return render(failure, id, request_id, context.error_format);
    }
    if context.tool.is_none() {
        let envelope = failure.envelope(request_id.as_str());
        let body = json_rpc_error(id, INVALID_PARAMS, &failure.message(), Some(envelope));
        return Json(body).into_response();
    }
    let remedy = context.elicitation_support.zip(failure.remedy());
    if let Some(data) = remedy.and_then(|(support, remedy)| support.url_error(&remedy)) {
        let body = json_rpc_error(id, URL_REQUIRED, &failure.message(), Some(data));
        return Json(body).into_response();
    }
    failed_result(failure, message, request_id)
}

/// Renders a failure as the result of a tool call: HTTP status 200, `isError` and the envelope as JSON text
/// (docs/contract/errors.md#tool-errors). Headers report an exceeded limit and when to retry, as they do on a response with
/// status 429 or 503.
pub(crate) fn failed_result(
    failure: &Failure,
    message: &Message,
    request_id: &RequestId,
) -> Response {
    let envelope = failure.envelope(request_id.as_str());
    let mut headers = HeaderMap::new();
    limits::write_error_headers(&envelope, &mut headers);
    let text = json!({ "type": "text", "text": envelope.to_string() });
    let mut result = json!({ "content": [text], "isError": true });
    if message.is_newest_version {
        result["resultType"] = json!("complete");
    }
    let body = json!({ "jsonrpc": "2.0", "id": message.id, "result": result });
    (headers, Json(body)).into_response()
}

/// Renders a protocol error: a JSON-RPC error with HTTP status 400. Invalid parameters of an MCP client are reported in a
/// response with status 200, as the protocol versions prescribe.
pub(crate) fn protocol_error(
    id: &Value,
    code: i64,
    message: &str,
    format: ErrorFormat,
) -> Response {
    let body = Json(json_rpc_error(id, code, message, None));
    match (code, format) {
        (INVALID_PARAMS, ErrorFormat::JsonRpc) => body.into_response(),
        _ => (StatusCode::BAD_REQUEST, body).into_response(),
    }
}

/// Returns the body of a JSON-RPC error.
pub(crate) fn json_rpc_error(id: &Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Logs the cause of an internal error or an unavailable dependency; other failures are the caller's.
pub(crate) fn log(failure: &Failure, request_id: &RequestId) {
    match failure.code().status() {
        500 => tracing::error!(%request_id, cause = failure.cause(), "internal error"),
        503 => tracing::warn!(%request_id, cause = failure.cause(), "service unavailable"),
        _ => {}
    }
}

/// Renders and logs a failure of a request that did not reach the endpoint: for the server's middleware, which has not
/// read the body and so does not know the JSON-RPC id.
#[must_use]
pub fn error_response(failure: &Failure, format: ErrorFormat, request_id: &RequestId) -> Response {
    log(failure, request_id);
    render(failure, &Value::Null, request_id, format)
}
