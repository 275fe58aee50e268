//! Fast path for tool calls. In the protocol versions before 2026-07-28 a call consists of a name and arguments only, so
//! it is answered here without rmcp. All other requests, and every call of 2026-07-28, go through rmcp.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use primitives::Failure;
use rmcp::model::ProtocolVersion;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::Call;
use crate::elicitation::{ElicitationSupport, URL_REQUIRED};
use crate::error_response::{ErrorFormat, json_rpc_error, log, render};
use crate::gateway::{self, UnknownTool, UnserializableOutput};
use crate::message::{INVALID_PARAMS, Message};
use crate::rmcp_adapter::{RmcpAdapter, VERSIONS, Visit};
use crate::tools;

/// Field of `_meta` in which a request of 2026-07-28 states its protocol version.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns whether a request can be answered on the fast path.
pub(crate) fn can_answer(message: &Message, headers: &HeaderMap) -> bool {
    let is_older_version = headers.get("mcp-protocol-version").is_none_or(|named| {
        let mut older =
            VERSIONS.iter().filter(|version| **version != ProtocolVersion::V_2026_07_28);
        older.any(|version| named == version.as_str())
    });
    let names_version =
        message.params.get("_meta").is_some_and(|meta| meta.get(VERSION_IN_META).is_some());
    let is_task = message.params.contains_key("task");
    let is_call = message.tool().is_some() && !message.id.is_null();
    is_call && is_older_version && !names_version && !is_task
}

/// Calls the tool and renders its result.
pub(crate) async fn answer(
    adapter: &RmcpAdapter,
    visit: &Visit,
    mut message: Message,
    format: ErrorFormat,
) -> Response {
    let arguments = match message.params.remove("arguments") {
        Some(arguments @ Value::Object(_)) => arguments,
        _ => json!({}),
    };
    let Some(tool) = message.tool().and_then(tools::find) else {
        return unknown_tool(&message.id, visit, format);
    };
    let elicitation_support = ElicitationSupport::from_meta(message.params.get("_meta"));
    let call = Call { elicitation_support, ..adapter.call(visit) };
    let outcome = gateway::call(call, tool, arguments).await;
    match outcome.and_then(|output| success(&message.id, &output)) {
        Ok(body) => json_response(body),
        Err(failure) => {
            log(&failure, &visit.request_id);
            match format {
                ErrorFormat::Envelope => render(&failure, &message.id, &visit.request_id, format),
                ErrorFormat::JsonRpc => {
                    let envelope = failure.envelope(visit.request_id.as_str());
                    let url = elicitation_support.and_then(|support| support.url_error(&envelope));
                    if let Some(data) = url {
                        let text = failure.message();
                        let body = json_rpc_error(&message.id, URL_REQUIRED, &text, Some(data));
                        return json_response(body.to_string());
                    }
                    let text = envelope.to_string();
                    let content = [json!({ "type": "text", "text": text })];
                    let result = json!({ "content": content, "isError": true });
                    let body = json!({ "jsonrpc": "2.0", "id": message.id, "result": result });
                    json_response(body.to_string())
                }
            }
        }
    }
}

/// Renders the error for an unknown tool, which is a protocol error.
fn unknown_tool(id: &Value, visit: &Visit, format: ErrorFormat) -> Response {
    let failure = Failure::from(UnknownTool::new());
    match format {
        ErrorFormat::Envelope => render(&failure, id, &visit.request_id, format),
        ErrorFormat::JsonRpc => {
            let envelope = failure.envelope(visit.request_id.as_str());
            let text = failure.message();
            json_response(json_rpc_error(id, INVALID_PARAMS, &text, Some(envelope)).to_string())
        }
    }
}

fn json_response(body: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A successful JSON-RPC response: the output as text and as structured content.
#[derive(Serialize)]
struct ToolResponse<'output> {
    jsonrpc: &'static str,
    id: &'output Value,
    result: ToolResult<'output>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'output> {
    content: [TextContent<'output>; 1],
    structured_content: &'output RawValue,
    is_error: bool,
}

#[derive(Serialize)]
struct TextContent<'output> {
    r#type: &'static str,
    text: &'output str,
}

fn success(id: &Value, output: &Value) -> Result<String, Failure> {
    let text = serde_json::value::to_raw_value(output).map_err(UnserializableOutput)?;
    let content = [TextContent { r#type: "text", text: text.get() }];
    let result = ToolResult { content, structured_content: &text, is_error: false };
    let response = ToolResponse { jsonrpc: "2.0", id, result };
    Ok(serde_json::to_string(&response).map_err(UnserializableOutput)?)
}
