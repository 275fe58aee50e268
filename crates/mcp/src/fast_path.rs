//! Renders the outcome of a tool call without rmcp, for the protocol versions before 2026-07-28.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use primitives::Failure;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::elicitation::URL_REQUIRED;
use crate::error::UnserializableOutput;
use crate::error_response::{self, ErrorFormat, json_rpc_error};
use crate::message::INVALID_PARAMS;
use crate::request_context::RequestContext;

/// Renders the outcome of a tool call.
pub(crate) fn render(
    context: &RequestContext,
    id: &Value,
    outcome: Result<Value, Failure>,
) -> Response {
    let rendered = outcome.and_then(|output| {
        success(id, &output)
            .inspect_err(|failure| error_response::log(failure, &context.request_id))
    });
    match rendered {
        Ok(body) => json_response(body),
        Err(failure) => match context.error_format {
            ErrorFormat::Envelope => {
                error_response::render(&failure, id, &context.request_id, context.error_format)
            }
            ErrorFormat::JsonRpc => json_response(error(context, id, &failure).to_string()),
        },
    }
}

/// Returns the JSON-RPC response to a failed call. An unknown tool is a protocol error.
fn error(context: &RequestContext, id: &Value, failure: &Failure) -> Value {
    let envelope = || failure.envelope(context.request_id.as_str());
    if context.tool.is_none() {
        return json_rpc_error(id, INVALID_PARAMS, &failure.message(), Some(envelope()));
    }
    let remedy = context.elicitation_support.zip(failure.remedy());
    if let Some(data) = remedy.and_then(|(support, remedy)| support.url_error(&remedy)) {
        return json_rpc_error(id, URL_REQUIRED, &failure.message(), Some(data));
    }
    let text = json!({ "type": "text", "text": envelope().to_string() });
    let result = json!({ "content": [text], "isError": true });
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
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
