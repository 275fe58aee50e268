//! The tools of the suite.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, InputResponses,
    LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::{PNG, WAV, asks, elicitation, sampling, typed};

const PREFIX: &str = "test_input_required_result_";
/// States that go out and must come back as they were.
const CONFIRMING: &str = "fixture-state-confirm";
const GATHERING: &str = "fixture-state-gather";
const FIRST_ROUND: &str = "fixture-state-round-1";
const SECOND_ROUND: &str = "fixture-state-round-2";

/// All of them, as they are listed.
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

/// A schema that must arrive as it is.
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

/// What was answered to a question, in words; none, if nothing that can be used.
pub(super) fn answered(responses: Option<&InputResponses>, key: &str) -> Option<String> {
    let response = responses?.get(key)?.as_object()?;
    let filled = response.get("content").and_then(Value::as_object);
    let field = filled.and_then(|fields| fields.values().next());
    let said = response.get("content").and_then(|content| content.get("text"));
    let found = said.or(field).or_else(|| response.get("roots"))?;
    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

pub(super) async fn call(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(kind) = request.name.strip_prefix(PREFIX) {
        return ask(kind, request, context);
    }
    let picture = json!({ "type": "image", "data": PNG, "mimeType": "image/png" });
    match request.name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(&json!([picture]), false),
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
                picture,
                { "type": "resource", "resource": { "uri": "test://mixed-content-resource",
                    "mimeType": "application/json", "text": r#"{"test":"data","value":123}"# } },
            ]),
            false,
        ),
        "test_error_handling" => {
            let sentence = "This tool intentionally returns an error for testing";
            content(&json!([{ "type": "text", "text": sentence }]), true)
        }
        "test_tool_with_logging" | "test_logging_tool" | "test_tool_with_progress" => {
            tell(&request.name, context).await
        }
        "test_custom_header" => {
            let arguments = request.arguments.as_ref();
            let value = arguments.and_then(|arguments| arguments.get("value")?.as_str());
            text(value.unwrap_or_default())
        }
        "json_schema_2020_12_tool" => text("Valid"),
        "test_missing_capability" => missing_capability(context),
        "test_streaming_elicitation" => {
            let asked = json!({ "value": elicitation("Provide a value", "value", "string") });
            Ok(asks(&asked, None)?.into())
        }
        _ => Err(ErrorData::invalid_params("there is no tool of this name", None)),
    }
}

/// Tools that tell something before they answer.
async fn tell(
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    match name {
        "test_tool_with_logging" => {
            for said in
                ["Tool execution started", "Tool processing data", "Tool execution completed"]
            {
                log(context, LoggingLevel::Info, said).await;
            }
            text("Logging test completed")
        }
        "test_logging_tool" => {
            if let Some(level) = context.meta.log_level() {
                log(context, level, "A level was asked for").await;
            }
            text("Logging tool completed")
        }
        _ => {
            let token = context.meta.get_progress_token();
            for progress in [0.0, 50.0, 100.0] {
                if let Some(token) = &token {
                    let told =
                        ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
                    let _ = context.peer.notify_progress(told).await;
                }
            }
            text("Progress test completed")
        }
    }
}

async fn log(context: &RequestContext<RoleServer>, level: LoggingLevel, said: &str) {
    let told = LoggingMessageNotificationParam::new(level, json!(said));
    let _ = context.peer.notify_logging_message(told).await;
}

fn missing_capability(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.meta.client_capabilities().unwrap_or_default();
    if capabilities.sampling.is_some() {
        return text("The capability is there");
    }
    let code = rmcp::model::ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY;
    let data = json!({ "requiredCapabilities": { "sampling": {} } });
    Err(ErrorData::new(code, "the client cannot sample", Some(data)))
}

/// Tools that need answers before they are done.
fn ask(
    kind: &str,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let given = |key: &str| answered(request.input_responses.as_ref(), key);
    let (key, question) = match kind {
        "elicitation" => ("user_name", name()),
        "sampling" => ("capital_question", sampling("What is the capital of France?", 100)),
        "list_roots" => ("client_roots", roots()),
        "capabilities" => return ask_what_can_be_answered(request, context),
        _ => return ask_with_state(kind, request.request_state.as_deref()),
    };
    match given(key) {
        Some(name) if kind == "elicitation" => text(&format!("Hello, {name}!")),
        Some(answer) => text(&answer),
        None => Ok(asks(&json!({ key: question }), None)?.into()),
    }
}

fn name() -> Value {
    elicitation("What is your name?", "name", "string")
}

fn roots() -> Value {
    json!({ "method": "roots/list" })
}

/// Those that send a state along and want it back as it was.
fn ask_with_state(kind: &str, state: Option<&str>) -> Result<CallToolResponse, ErrorData> {
    let (asked, next) = match (kind, state) {
        ("request_state" | "tampered_state", None) => {
            (json!({ "confirm": elicitation("Please confirm", "ok", "boolean") }), CONFIRMING)
        }
        ("request_state" | "tampered_state", Some(CONFIRMING)) => return text("state-ok"),
        ("multiple_inputs", None) => {
            let greeting = sampling("Generate a greeting", 50);
            let asked =
                json!({ "user_name": name(), "greeting": greeting, "client_roots": roots() });
            (asked, GATHERING)
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
            return Err(ErrorData::invalid_params(
                "no such tool, or a state that is not ours",
                None,
            ));
        }
    };
    Ok(asks(&asked, Some(next))?.into())
}

/// Asks for no more than the client says it can answer.
fn ask_what_can_be_answered(
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.meta.client_capabilities().unwrap_or_default();
    let mut asked = serde_json::Map::new();
    if capabilities.elicitation.is_some() {
        asked.insert(String::from("user_name"), name());
    }
    if capabilities.sampling.is_some() {
        asked.insert(String::from("greeting"), sampling("Generate a greeting", 50));
    }
    if capabilities.roots.is_some() {
        asked.insert(String::from("client_roots"), roots());
    }
    if asked.is_empty() || request.input_responses.is_some() {
        return text("Nothing to ask for");
    }
    Ok(asks(&Value::Object(asked), None)?.into())
}
