//! Parses JSON-RPC requests and finds the tool they call.

use std::borrow::Cow;

use axum::http::HeaderMap;
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};

use crate::error_response::ErrorFormat;
use crate::rmcp_adapter::VERSIONS;
use crate::tools::{self, RegisteredTool};

/// JSON-RPC error codes.
const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// Field of `_meta` in which a request of 2026-07-28 states its protocol version.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// How a message is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// It expects no response.
    Notification,
    /// A tool call of a protocol version before 2026-07-28. It consists of a name and arguments only, so it is answered
    /// without rmcp.
    DirectCall,
    /// Everything else is forwarded to rmcp.
    Forward,
}

/// A JSON-RPC request or notification.
pub(crate) struct Message {
    /// Null for a notification, and for a request of a plain HTTP caller without an id
    /// (docs/contract/errors.md#call-without-id).
    pub(crate) id: Value,
    pub(crate) route: Route,
    pub(crate) method: String,
    /// The parameters without the arguments.
    pub(crate) params: Map<String, Value>,
    /// The arguments of a tool call: an object, empty if the request has none.
    pub(crate) arguments: Value,
    /// The tool that a `tools/call` request names, if it exists.
    pub(crate) tool: Option<&'static RegisteredTool>,
    /// Whether the request is of protocol version 2026-07-28, whose results state their type.
    pub(crate) is_newest_version: bool,
}

/// An invalid request. `id` is null if the request has no valid one.
pub(crate) struct InvalidMessage {
    pub(crate) id: Value,
    pub(crate) code: i64,
    pub(crate) message: Cow<'static, str>,
}

impl Message {
    /// Parses and validates the body of a request.
    pub(crate) fn parse(body: &[u8], headers: &HeaderMap) -> Result<Self, InvalidMessage> {
        let body = serde_json::from_slice::<Value>(body).map_err(|error| InvalidMessage {
            id: Value::Null,
            code: PARSE_ERROR,
            // The error names line and column, and repeats nothing of the body.
            message: format!("the body is not JSON: {error}").into(),
        })?;
        let Value::Object(mut fields) = body else {
            let message = if body.is_array() {
                "batches are not supported; send one request at a time"
            } else {
                NOT_A_REQUEST
            };
            let (id, message) = (Value::Null, message.into());
            return Err(InvalidMessage { id, code: INVALID_REQUEST, message });
        };
        let is_plain_caller = ErrorFormat::of(headers) == ErrorFormat::Envelope;
        let id = parse_id(fields.remove("id"), is_plain_caller)?;
        let invalid = |(code, message): Rejection| InvalidMessage {
            id: id.clone(),
            code,
            message: message.into(),
        };
        let (method, mut params) = parts(&mut fields).map_err(invalid)?;
        check_params(&method, &params).map_err(invalid)?;
        // A plain HTTP caller receives a response to everything it sends, unless the method is that of a notification.
        let is_notification =
            id.is_null() && (!is_plain_caller || method.starts_with(NOTIFICATION));
        let is_call = method == TOOL_CALL && !is_notification;
        let name = params.get("name").filter(|_| is_call).and_then(Value::as_str);
        let tool = name.and_then(tools::find);
        let arguments = params.remove("arguments").filter(Value::is_object);
        let arguments = arguments.unwrap_or_else(|| json!({}));
        let route = if is_notification {
            Route::Notification
        } else if is_call && is_direct(&params, headers) {
            Route::DirectCall
        } else {
            Route::Forward
        };
        let is_newest_version = version(headers) == Some(ProtocolVersion::V_2026_07_28.as_str());
        Ok(Self { id, route, method, params, arguments, tool, is_newest_version })
    }

    /// Returns whether the message calls a tool, known or not, and expects a response.
    pub(crate) fn is_call(&self) -> bool {
        self.method == TOOL_CALL && self.route != Route::Notification
    }

    /// Returns whether the message belongs to the handshake or lists what the endpoint offers. Such requests need no
    /// credential, and are answered in every state of the store.
    pub(crate) fn is_handshake_or_listing(&self) -> bool {
        let handshake = ["initialize", "ping", "server/discover", "prompts/get"];
        handshake.contains(&self.method.as_str()) || self.method.ends_with("/list")
    }

    /// Returns whether the request uses no quota (docs/contract/limits.md#uncounted).
    pub(crate) fn is_exempt(&self) -> bool {
        matches!(self.method.as_str(), "initialize" | "ping")
    }
}

/// Returns the id of a request, or null if it has none. MCP allows no null as an id; of a plain HTTP caller it means the
/// same as no id.
fn parse_id(sent: Option<Value>, is_plain_caller: bool) -> Result<Value, InvalidMessage> {
    match sent {
        None => Ok(Value::Null),
        Some(id @ (Value::String(_) | Value::Number(_))) => Ok(id),
        Some(Value::Null) if is_plain_caller => Ok(Value::Null),
        Some(_) => {
            let message = "id must be a string or a number".into();
            Err(InvalidMessage { id: Value::Null, code: INVALID_REQUEST, message })
        }
    }
}

/// Returns the protocol version that the headers state.
fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok())
}

/// Returns whether a request is of a protocol version before 2026-07-28 and no task.
fn is_direct(params: &Map<String, Value>, headers: &HeaderMap) -> bool {
    let is_older_version = headers.get("mcp-protocol-version").is_none_or(|named| {
        let mut older =
            VERSIONS.iter().filter(|version| **version != ProtocolVersion::V_2026_07_28);
        older.any(|version| named == version.as_str())
    });
    let names_version = params.get("_meta").is_some_and(|meta| meta.get(VERSION_IN_META).is_some());
    is_older_version && !names_version && !params.contains_key("task")
}

const TOOL_CALL: &str = "tools/call";
/// Prefix of the methods of notifications.
const NOTIFICATION: &str = "notifications/";
const NOT_A_REQUEST: &str = "the body is not a JSON-RPC 2.0 request";

type Rejection = (i64, &'static str);

/// Takes method and parameters out of the request object.
fn parts(fields: &mut Map<String, Value>) -> Result<(String, Map<String, Value>), Rejection> {
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err((INVALID_REQUEST, NOT_A_REQUEST));
    };
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err((INVALID_REQUEST, NOT_A_REQUEST));
    }
    match fields.remove("params") {
        None | Some(Value::Null) => Ok((method, Map::new())),
        Some(Value::Object(params)) => Ok((method, params)),
        Some(_) => Err((INVALID_PARAMS, "params must be an object")),
    }
}

/// Checks that the parameters required by the method are present; without them rmcp would take the request for a custom method.
fn check_params(method: &str, params: &Map<String, Value>) -> Result<(), Rejection> {
    let is_string = |name: &str| params.get(name).is_some_and(Value::is_string);
    let invalid = |message| Err((INVALID_PARAMS, message));
    let not_object = |value: &Value| !(value.is_null() || value.is_object());
    match method {
        TOOL_CALL if !is_string("name") => {
            invalid("params.name must be the name of a tool; see tools/list")
        }
        TOOL_CALL if params.get("arguments").is_some_and(not_object) => {
            invalid("params.arguments must be an object")
        }
        "resources/read" if !is_string("uri") => {
            invalid("params.uri must be the URI of a resource; see resources/list")
        }
        "prompts/get" if !is_string("name") => {
            invalid("params.name must be the name of a prompt; see prompts/list")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    const CALL: &str = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_cart"}}"#;

    fn headers(sent: &[(&'static str, &'static str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        sent.iter().map(header).collect()
    }

    fn route(body: &str, sent: &[(&'static str, &'static str)]) -> Result<Route, i64> {
        let parsed = Message::parse(body.as_bytes(), &headers(sent));
        parsed.map(|message| message.route).map_err(|invalid| invalid.code)
    }

    #[test]
    fn a_plain_caller_needs_no_id_and_an_mcp_client_does() {
        let plain: &[_] = &[("accept", "application/json")];
        let stream: &[_] = &[("accept", "application/json, text/event-stream")];
        let versioned: &[_] = &[("mcp-protocol-version", "2025-11-25")];
        assert_eq!(route(CALL, &[]), Ok(Route::DirectCall));
        assert_eq!(route(CALL, plain), Ok(Route::DirectCall));
        assert_eq!(route(CALL, stream), Ok(Route::Notification));
        assert_eq!(route(CALL, versioned), Ok(Route::Notification));
        let null = CALL.replacen('{', "{\"id\":null,", 1);
        assert_eq!(route(&null, plain), Ok(Route::DirectCall));
        assert_eq!(route(&null, versioned), Err(INVALID_REQUEST));
        for wrong in ["{}", "[]", "true"] {
            let body = CALL.replacen('{', &format!("{{\"id\":{wrong},"), 1);
            assert_eq!(route(&body, plain), Err(INVALID_REQUEST), "{wrong}");
        }
    }

    #[test]
    fn methods_other_than_notifications_are_answered_without_an_id() {
        let body = |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#);
        for method in ["tools/list", "ping", "no/such/method"] {
            assert_eq!(route(&body(method), &[]), Ok(Route::Forward), "{method}");
        }
        let initialized = body("notifications/initialized");
        assert_eq!(route(&initialized, &[]), Ok(Route::Notification));
    }
}
