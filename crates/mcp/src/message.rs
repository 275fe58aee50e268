//! Parses JSON-RPC requests.

use serde_json::{Map, Value};

/// JSON-RPC error codes.
const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// A JSON-RPC request, or a notification if `id` is null.
pub(crate) struct Message {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

/// An invalid request. `id` is null if the request has no valid one.
pub(crate) struct InvalidMessage {
    pub(crate) id: Value,
    pub(crate) code: i64,
    pub(crate) message: &'static str,
}

impl Message {
    /// Parses and validates the body of a request.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, InvalidMessage> {
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
        let (method, params) = parts(&mut fields).map_err(invalid)?;
        check_params(&method, &params).map_err(invalid)?;
        Ok(Self { id: known_id, method, params })
    }

    /// Returns the name of the tool, if the request is a `tools/call`.
    pub(crate) fn tool(&self) -> Option<&str> {
        if self.method == "tools/call" { self.params.get("name")?.as_str() } else { None }
    }
}

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
        "tools/call" if !is_string("name") => {
            invalid("params.name must be the name of a tool; see tools/list")
        }
        "tools/call" if params.get("arguments").is_some_and(not_object) => {
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
