//! JSON-RPC in: a request, or what is wrong with it.

use serde_json::{Map, Value};

/// JSON-RPC's names for what is wrong with a request.
const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const INVALID_PARAMS: i64 = -32602;

/// A request, or a notification if it has no id.
pub(crate) struct Message {
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

/// What is wrong with a request, under its id if it has one.
pub(crate) struct Wrong {
    pub(crate) id: Value,
    pub(crate) code: i64,
    pub(crate) sentence: &'static str,
}

impl Message {
    pub(crate) fn read(body: &[u8]) -> Result<Self, Wrong> {
        let Ok(message) = serde_json::from_slice::<Value>(body) else {
            let sentence = "the body is not JSON";
            return Err(Wrong { id: Value::Null, code: PARSE_ERROR, sentence });
        };
        let Value::Object(mut fields) = message else {
            let sentence = if message.is_array() {
                "batches are not served; send one request at a time"
            } else {
                NO_REQUEST
            };
            return Err(Wrong { id: Value::Null, code: INVALID_REQUEST, sentence });
        };
        let id = fields.remove("id");
        let known_id = match &id {
            Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
            _ => Value::Null,
        };
        let wrong = |(code, sentence)| Wrong { id: known_id.clone(), code, sentence };
        if id.is_some() && known_id.is_null() {
            return Err(wrong((INVALID_REQUEST, "the id of a request is a string or a number")));
        }
        let (method, params) = parts(&mut fields).map_err(wrong)?;
        judge(&method, &params).map_err(wrong)?;
        Ok(Self { id: known_id, method, params })
    }

    /// The tool, if one is called.
    pub(crate) fn tool(&self) -> Option<&str> {
        if self.method == "tools/call" { self.params.get("name")?.as_str() } else { None }
    }
}

const NO_REQUEST: &str = "the body is not a JSON-RPC 2.0 request";

type Fault = (i64, &'static str);

fn parts(fields: &mut Map<String, Value>) -> Result<(String, Map<String, Value>), Fault> {
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err((INVALID_REQUEST, NO_REQUEST));
    };
    if fields.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err((INVALID_REQUEST, NO_REQUEST));
    }
    match fields.remove("params") {
        None | Some(Value::Null) => Ok((method, Map::new())),
        Some(Value::Object(params)) => Ok((method, params)),
        Some(_) => Err((INVALID_PARAMS, "params must be an object")),
    }
}

/// Whether a request has the parameters its method needs. rmcp would take it for another method.
fn judge(method: &str, params: &Map<String, Value>) -> Result<(), Fault> {
    let is_text = |name: &str| params.get(name).is_some_and(Value::is_string);
    let fault = |sentence| Err((INVALID_PARAMS, sentence));
    let no_object = |value: &Value| !(value.is_null() || value.is_object());
    match method {
        "tools/call" if !is_text("name") => {
            fault("params.name must be the name of a tool; tools/list has them")
        }
        "tools/call" if params.get("arguments").is_some_and(no_object) => {
            fault("params.arguments must be an object")
        }
        "resources/read" if !is_text("uri") => {
            fault("params.uri must be the address of a resource; resources/list has them")
        }
        "prompts/get" if !is_text("name") => {
            fault("params.name must be the name of a prompt; prompts/list has them")
        }
        _ => Ok(()),
    }
}
