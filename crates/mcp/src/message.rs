//! Parses JSON-RPC requests and finds the tool they call.

use axum::http::HeaderMap;
use rmcp::model::ProtocolVersion;
use serde_json::{Map, Value, json};

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
    PlainCall,
    /// Everything else is forwarded to rmcp.
    Forward,
}

/// A JSON-RPC request, or a notification if `id` is null.
pub(crate) struct Message {
    pub(crate) id: Value,
    pub(crate) route: Route,
    pub(crate) method: String,
    /// The parameters without the arguments.
    pub(crate) params: Map<String, Value>,
    /// The arguments of a tool call: an object, empty if the request has none.
    pub(crate) arguments: Value,
    /// The tool that a `tools/call` request names, if it exists.
    pub(crate) tool: Option<&'static RegisteredTool>,
}

/// An invalid request. `id` is null if the request has no valid one.
pub(crate) struct InvalidMessage {
    pub(crate) id: Value,
    pub(crate) code: i64,
    pub(crate) message: &'static str,
}

impl Message {
    /// Parses and validates the body of a request.
    pub(crate) fn parse(body: &[u8], headers: &HeaderMap) -> Result<Self, InvalidMessage> {
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            let message = "the body is not JSON";
            return Err(InvalidMessage { id: Value::Null, code: PARSE_ERROR, message });
        };
        let Value::Object(mut fields) = body else {
            let message = if body.is_array() {
                "batches are not supported; send one request at a time"
            } else {
                NOT_A_REQUEST
            };
            return Err(InvalidMessage { id: Value::Null, code: INVALID_REQUEST, message });
        };
        let id = fields.remove("id");
        let known_id = match &id {
            Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
            _ => Value::Null,
        };
        let invalid = |(code, message)| InvalidMessage { id: known_id.clone(), code, message };
        if id.is_some() && known_id.is_null() {
            return Err(invalid((INVALID_REQUEST, "id must be a string or a number")));
        }
        let (method, mut params) = parts(&mut fields).map_err(invalid)?;
        check_params(&method, &params).map_err(invalid)?;
        // A notification calls no tool.
        let is_call = method == TOOL_CALL && !known_id.is_null();
        let name = params.get("name").filter(|_| is_call).and_then(Value::as_str);
        let tool = name.and_then(tools::find);
        let arguments = params.remove("arguments").filter(Value::is_object);
        let arguments = arguments.unwrap_or_else(|| json!({}));
        let route = if known_id.is_null() {
            Route::Notification
        } else if method == TOOL_CALL && is_plain(&params, headers) {
            Route::PlainCall
        } else {
            Route::Forward
        };
        Ok(Self { id: known_id, route, method, params, arguments, tool })
    }
}

/// Returns whether a request is of a protocol version before 2026-07-28 and no task.
fn is_plain(params: &Map<String, Value>, headers: &HeaderMap) -> bool {
    let is_older_version = headers.get("mcp-protocol-version").is_none_or(|named| {
        let mut older =
            VERSIONS.iter().filter(|version| **version != ProtocolVersion::V_2026_07_28);
        older.any(|version| named == version.as_str())
    });
    let names_version = params.get("_meta").is_some_and(|meta| meta.get(VERSION_IN_META).is_some());
    is_older_version && !names_version && !params.contains_key("task")
}

const TOOL_CALL: &str = "tools/call";
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
