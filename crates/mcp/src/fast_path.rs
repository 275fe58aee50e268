//! The short way of a tool call. The older versions of the protocol ask nothing of a call but its name and
//! arguments, so it is answered here; everything else, and every call of 2026-07-28, goes through rmcp.

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use primitives::Failure;
use rmcp::model::ProtocolVersion;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::call::Call;
use crate::elicitation::{Asks, URL_REQUIRED};
use crate::gateway::{self, UnknownTool, Unwritable};
use crate::message::{INVALID_PARAMS, Message};
use crate::refusal::{Speech, fault_body, log, refuse};
use crate::tools;
use crate::wire::{VERSIONS, Visit, Wire};

/// The field of `_meta` by which a request of 2026-07-28 names its version.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Whether a request can be answered here.
pub(crate) fn can_answer(message: &Message, headers: &HeaderMap) -> bool {
    let is_older = headers.get("mcp-protocol-version").is_none_or(|named| {
        let mut older =
            VERSIONS.iter().filter(|version| **version != ProtocolVersion::V_2026_07_28);
        older.any(|version| named == version.as_str())
    });
    let names_version =
        message.params.get("_meta").is_some_and(|meta| meta.get(VERSION_IN_META).is_some());
    let is_task = message.params.contains_key("task");
    let is_call = message.tool().is_some() && !message.id.is_null();
    is_call && is_older && !names_version && !is_task
}

/// Calls the tool and renders what it answered.
pub(crate) async fn answer(
    wire: &Wire,
    visit: &Visit,
    mut message: Message,
    speech: Speech,
) -> Response {
    let arguments = match message.params.remove("arguments") {
        Some(arguments @ Value::Object(_)) => arguments,
        _ => json!({}),
    };
    let Some(known) = message.tool().and_then(tools::find) else {
        return refuse_tool(&message.id, visit, speech);
    };
    let asks = Asks::of_meta(message.params.get("_meta"));
    let outcome = gateway::call(Call { asks, ..wire.call(visit) }, known, arguments).await;
    match outcome.and_then(|output| success(&message.id, &output)) {
        Ok(body) => in_json(body),
        Err(failure) => {
            log(&failure, &visit.request_id);
            match speech {
                Speech::Plain => refuse(&failure, &message.id, &visit.request_id, speech),
                Speech::Mcp => {
                    let envelope = failure.envelope(visit.request_id.as_str());
                    if let Some(data) = asks.and_then(|asks| asks.address(&envelope)) {
                        let sentence = failure.message();
                        let body = fault_body(&message.id, URL_REQUIRED, &sentence, Some(data));
                        return in_json(body.to_string());
                    }
                    let text = envelope.to_string();
                    let content = [json!({ "type": "text", "text": text })];
                    let result = json!({ "content": content, "isError": true });
                    let body = json!({ "jsonrpc": "2.0", "id": message.id, "result": result });
                    in_json(body.to_string())
                }
            }
        }
    }
}

/// An unknown tool is a fault of the protocol.
fn refuse_tool(id: &Value, visit: &Visit, speech: Speech) -> Response {
    let failure = Failure::from(UnknownTool::new());
    match speech {
        Speech::Plain => refuse(&failure, id, &visit.request_id, speech),
        Speech::Mcp => {
            let envelope = failure.envelope(visit.request_id.as_str());
            let sentence = failure.message();
            in_json(fault_body(id, INVALID_PARAMS, &sentence, Some(envelope)).to_string())
        }
    }
}

fn in_json(body: String) -> Response {
    (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// The answer as the protocol has it: as text, and as the structure the text was written from.
#[derive(Serialize)]
struct Answer<'answer> {
    jsonrpc: &'static str,
    id: &'answer Value,
    result: Outcome<'answer>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'answer> {
    content: [Text<'answer>; 1],
    structured_content: &'answer RawValue,
    is_error: bool,
}

#[derive(Serialize)]
struct Text<'answer> {
    r#type: &'static str,
    text: &'answer str,
}

fn success(id: &Value, output: &Value) -> Result<String, Failure> {
    let written = serde_json::value::to_raw_value(output).map_err(Unwritable)?;
    let content = [Text { r#type: "text", text: written.get() }];
    let result = Outcome { content, structured_content: &written, is_error: false };
    let answer = Answer { jsonrpc: "2.0", id, result };
    Ok(serde_json::to_string(&answer).map_err(Unwritable)?)
}
