//! Fixtures of the official conformance suite: tools, prompts and resources that only exercise the protocol. Served under
//! the slug `conformance` by development builds only, through the same endpoint as every store.
#![expect(deprecated, reason = "the suite still requires servers of an older version to log")]

mod tools;

use std::borrow::Cow;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, InitializeResult,
    InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, Prompt, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceTemplate, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Slug of the fixtures.
pub(crate) const SLUG: &str = "conformance";

/// An image of one pixel and an empty sound.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// The rmcp server handler of the fixtures.
#[derive(Clone, Copy)]
pub(crate) struct Conformance;

/// Converts JSON to a type of the protocol.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn list<T: DeserializeOwned>(values: Value) -> Result<Vec<T>, ErrorData> {
    typed(values)
}

/// Returns a result that requires input, with requests by key.
fn input_required(requests: &Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = json!({ "resultType": "input_required", "inputRequests": requests });
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    typed(result)
}

/// Returns an elicitation of one field.
fn elicitation(message: &str, field: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "message": message, "requestedSchema": {
        "type": "object", "properties": { field: { "type": kind } }, "required": [field],
    } } })
}

fn sampling(question: &str, max_tokens: u32) -> Value {
    json!({ "method": "sampling/createMessage", "params": { "maxTokens": max_tokens, "messages": [
        { "role": "user", "content": { "type": "text", "text": question } },
    ] } })
}

impl ServerHandler for Conformance {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_logging()
            .enable_completions()
            .build();
        let mut info = InitializeResult::new(capabilities);
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.server_info = Implementation::new("souk-conformance", env!("CARGO_PKG_VERSION"));
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(crate::rmcp_adapter::VERSIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult { tools: list(tools::listing())?, ..ListToolsResult::default() })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        list::<Tool>(tools::listing()).ok()?.into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(&request, &context).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &str| json!({ "name": name, "description": name, "required": true });
        let prompts: Vec<Prompt> = list(json!([
            { "name": "test_simple_prompt", "description": "A prompt without arguments" },
            { "name": "test_prompt_with_arguments", "description": "A prompt with two arguments",
                "arguments": [argument("arg1"), argument("arg2")] },
            { "name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource",
                "arguments": [argument("resourceUri")] },
            { "name": "test_prompt_with_image", "description": "A prompt with an image" },
            { "name": "test_input_required_result_prompt", "description": "A prompt that requires input" },
        ]))?;
        Ok(ListPromptsResult { prompts, ..ListPromptsResult::default() })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let given = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = |text: String| json!({ "type": "text", "text": text });
        let blocks = match request.name.as_str() {
            "test_simple_prompt" => {
                vec![text(String::from("This is a simple prompt for testing."))]
            }
            "test_prompt_with_arguments" => vec![text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                given("arg1"),
                given("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                json!({ "type": "resource", "resource": { "uri": given("resourceUri"),
                    "mimeType": "text/plain", "text": "Embedded resource content for testing." } }),
                text(String::from("Please process the embedded resource above.")),
            ],
            "test_prompt_with_image" => vec![
                json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
                text(String::from("Please analyze the image above.")),
            ],
            "test_input_required_result_prompt" => {
                let answered =
                    tools::response_text(request.input_responses.as_ref(), "user_context");
                let Some(context) = answered else {
                    let question = "What context should the prompt use?";
                    let requests =
                        json!({ "user_context": elicitation(question, "context", "string") });
                    return Ok(input_required(&requests, None)?.into());
                };
                vec![text(format!("Context: {context}"))]
            }
            _ => return Err(ErrorData::invalid_params("no prompt has this name", None)),
        };
        let messages: Vec<Value> = blocks
            .into_iter()
            .map(|content| json!({ "role": "user", "content": content }))
            .collect();
        let messages = json!({ "resultType": "complete", "messages": messages });
        Ok(typed::<GetPromptResult>(messages)?.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources: Vec<Resource> = list(json!([
            { "uri": "test://static-text", "name": "static-text", "mimeType": "text/plain" },
            { "uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png" },
            { "uri": "test://watched-resource", "name": "watched-resource", "mimeType": "text/plain" },
        ]))?;
        Ok(ListResourcesResult { resources, ..ListResourcesResult::default() })
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let resource_templates: Vec<ResourceTemplate> = list(json!([
            { "uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json" },
        ]))?;
        Ok(ListResourceTemplatesResult {
            resource_templates,
            ..ListResourceTemplatesResult::default()
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let of_template =
            uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, of_template) {
            ("test://static-text", _) => json!({ "uri": uri, "mimeType": "text/plain",
                "text": "This is the content of the static text resource." }),
            ("test://watched-resource", _) => {
                json!({ "uri": uri, "mimeType": "text/plain", "text": "Watched resource content" })
            }
            ("test://static-binary", _) => {
                json!({ "uri": uri, "mimeType": "image/png", "blob": PNG })
            }
            (_, Some(id)) => {
                let text =
                    json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "uri": uri, "mimeType": "application/json", "text": text.to_string() })
            }
            _ => {
                let data = Some(json!({ "uri": uri }));
                return Err(ErrorData::resource_not_found("no resource has this URI", data));
            }
        };
        let contents = json!({ "resultType": "complete", "contents": [content] });
        Ok(typed::<ReadResourceResult>(contents)?.into())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        typed(json!({ "resultType": "complete", "completion": { "values": [] } }))
    }
}
