//! The tools of the conformance suite.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, InputResponses,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::{PNG, WAV, elicitation, input_required, sampling, typed};

const PREFIX: &str = "test_input_required_result_";
/// Request states that clients must return unchanged.
const CONFIRMING: &str = "fixture-state-confirm";
const GATHERING: &str = "fixture-state-gather";
const FIRST_ROUND: &str = "fixture-state-round-1";
const SECOND_ROUND: &str = "fixture-state-round-2";

/// Returns the listing of the tools.
pub(super) fn listing() -> Value {
    let plain = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_error_handling",
        "test_tool_with_progress",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_tampered_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_capabilities",
    ];
    let tool = |name: &str, schema: Value| {
        json!({ "name": name, "description": format!("A fixture of the conformance suite: {name}"),
            "inputSchema": schema })
    };
    let empty = || json!({ "type": "object", "properties": {} });
    let mut tools: Vec<Value> = plain.iter().map(|name| tool(name, empty())).collect();
    tools.push(tool("json_schema_2020_12_tool", every_keyword()));
    tools.push(tool(
        "test_custom_header",
        json!({ "type": "object", "required": ["value"],
            "properties": { "value": { "type": "string", "x-mcp-header": "Value" } } }),
    ));
    Value::Array(tools)
}

/// Returns a schema that must reach the client unchanged.
fn every_keyword() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

fn content(blocks: &Value, is_error: bool) -> Result<CallToolResponse, ErrorData> {
    let result = json!({ "resultType": "complete", "content": blocks, "isError": is_error });
    Ok(typed::<CallToolResult>(result)?.into())
}

fn text(text: &str) -> Result<CallToolResponse, ErrorData> {
    content(&json!([{ "type": "text", "text": text }]), false)
}

/// Returns the text of the response to an input request, or `None` without a usable one.
pub(super) fn response_text(responses: Option<&InputResponses>, key: &str) -> Option<String> {
    let response = responses?.get(key)?.as_object()?;
    let filled = response.get("content").and_then(Value::as_object);
    let field = filled.and_then(|fields| fields.values().next());
    let text = response.get("content").and_then(|content| content.get("text"));
    let found = text.or(field).or_else(|| response.get("roots"))?;
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(kind) = request.name.strip_prefix(PREFIX) {
        return require_input(kind, request, context);
    }
    let image = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    match request.name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(&json!([image]), false),
        "test_audio_content" => {
            content(&json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }]), false)
        }
        "test_embedded_resource" => content(
            &json!([{ "type": "resource", "resource": { "uri": "test://embedded-resource",
                "mimeType": "text/plain", "text": "This is an embedded resource content." } }]),
            false,
        ),
        "test_multiple_content_types" => content(
            &json!([
                { "type": "text", "text": "Multiple content types test:" },
                image,
                { "type": "resource", "resource": { "uri": "test://mixed-content-resource",
                    "mimeType": "application/json", "text": r#"{"test":"data","value":123}"# } },
            ]),
            false,
        ),
        "test_error_handling" => {
            let message = "This tool intentionally returns an error for testing";
            content(&json!([{ "type": "text", "text": message }]), true)
        }
        "test_tool_with_logging" | "test_logging_tool" | "test_tool_with_progress" => {
            notify(&request.name, context).await
        }
        "test_custom_header" => {
            let arguments = request.arguments.as_ref();
            let value = arguments.and_then(|arguments| arguments.get("value")?.as_str());
            text(value.unwrap_or_default())
        }
        "json_schema_2020_12_tool" => text("Valid"),
        "test_missing_capability" => missing_capability(context),
        "test_streaming_elicitation" => {
            let requests = json!({ "value": elicitation("Provide a value", "value", "string") });
            Ok(input_required(&requests, None)?.into())
        }
        _ => Err(ErrorData::invalid_params("unknown tool", None)),
    }
}

/// Calls a tool that sends notifications before its result.
async fn notify(
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match name {
        "test_tool_with_logging" => {
            for message in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                log(context, LoggingLevel::Info, message).await;
            }
            text("Logging test completed")
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "A level was requested").await;
            }
            text("Logging tool completed")
        }
        _ => {
            let token = context.meta.get_progress_token();
            for progress in [0.0, 50.0, 100.0] {
                if let Some(token) = &token {
                    let notification =
                        ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
                    let _ = context.peer.notify_progress(notification).await;
                }
            }
            text("Progress test completed")
        }
    }
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, message: &str) {
    let notification = LoggingMessageNotificationParam::new(level, json!(message));
    let _ = context.peer.notify_logging_message(notification).await;
}

fn missing_capability(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.meta.client_capabilities().unwrap_or_default();
    if capabilities.sampling.is_some() {
        return text("The capability is present");
    }
    let code = rmcp::model::ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    let data = json!({ "requiredCapabilities": { "sampling": {} } });
    Err(ErrorData::new(code, "the client does not support sampling", Some(data)))
}

/// Calls a tool that requires input.
fn require_input(
    kind: &str,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let response = |key: &str| response_text(request.input_responses.as_ref(), key);
    let (key, question) = match kind {
        "elicitation" => ("user_name", name()),
        "sampling" => ("capital_question", sampling("What is the capital of France?", 100)),
        "list_roots" => ("client_roots", roots()),
        "capabilities" => return require_supported_input(request, context),
        _ => return require_input_with_state(kind, request.request_state.as_deref()),
    };
    match response(key) {
        Some(name) if kind == "elicitation" => text(&format!("Hello, {name}!")),
        Some(answer) => text(&answer),
        None => Ok(input_required(&json!({ key: question }), None)?.into()),
    }
}

fn name() -> Value {
    elicitation("What is your name?", "name", "string")
}

fn roots() -> Value {
    json!({ "method": "roots/list" })
}

/// Calls a tool that sends a state and requires it back unchanged.
fn require_input_with_state(
    kind: &str,
    state: Option<&str>,
) -> Result<CallToolResponse, ErrorData> {
    let (requests, next) = match (kind, state) {
        ("request_state" | "tampered_state", None) => {
            (json!({ "confirm": elicitation("Please confirm", "ok", "boolean") }), CONFIRMING)
        }
        ("request_state" | "tampered_state", Some(CONFIRMING)) => return text("state-ok"),
        ("multiple_inputs", None) => {
            let greeting = sampling("Generate a greeting", 50);
            let requests =
                json!({ "user_name": name(), "greeting": greeting, "client_roots": roots() });
            (requests, GATHERING)
        }
        ("multiple_inputs", Some(GATHERING)) => return text("All inputs received"),
        ("multi_round", None) => {
            (json!({ "step1": elicitation("Step 1: your name", "name", "string") }), FIRST_ROUND)
        }
        ("multi_round", Some(FIRST_ROUND)) => {
            (json!({ "step2": elicitation("Step 2: a colour", "color", "string") }), SECOND_ROUND)
        }
        ("multi_round", Some(SECOND_ROUND)) => return text("Both rounds are done"),
        _ => {
            return Err(ErrorData::invalid_params("unknown tool or request state", None));
        }
    };
    Ok(input_required(&requests, Some(next))?.into())
}

/// Requests only input that the client supports.
fn require_supported_input(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.meta.client_capabilities().unwrap_or_default();
    let mut requests = serde_json::Map::new();
    if capabilities.elicitation.is_some() {
        requests.insert(String::from("user_name"), name());
    }
    if capabilities.sampling.is_some() {
        requests.insert(String::from("greeting"), sampling("Generate a greeting", 50));
    }
    if capabilities.roots.is_some() {
        requests.insert(String::from("client_roots"), roots());
    }
    if requests.is_empty() || request.input_responses.is_some() {
        return text("No input required");
    }
    Ok(input_required(&Value::Object(requests), None)?.into())
}
