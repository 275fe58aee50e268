//! Errors of requests and tool calls that no domain crate has.

use primitives::{Details, ErrorCode, Problem, Scope};
use schema::Violation;

use crate::tool::ToolSet;
use crate::tools;

/// The method is not POST.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint is stateless and accepts only POST")]
pub(crate) struct MethodNotAllowed;

impl Problem for MethodNotAllowed {
    fn code(&self) -> ErrorCode {
        ErrorCode::MethodNotAllowed
    }
}

/// The body exceeds the limit of the server.
#[derive(Debug, thiserror::Error)]
#[error("the body exceeds the size limit")]
pub(crate) struct BodyTooLarge;

impl Problem for BodyTooLarge {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }
}

/// The body is not declared as JSON.
#[derive(Debug, thiserror::Error)]
#[error("the header Content-Type: application/json is required")]
pub(crate) struct UnsupportedContentType;

impl Problem for UnsupportedContentType {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }
}

/// A query parameter of the address that selects the listing has an unknown value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidListing {
    #[error("unknown tool set in the query parameter tools")]
    Tools,
    #[error("unknown value of the query parameter schemas")]
    Schemas,
}

impl Problem for InvalidListing {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        let (field, allowed) = match self {
            Self::Tools => ("tools", ToolSet::ALL.iter().map(|set| set.as_str()).collect()),
            Self::Schemas => ("schemas", vec!["slim", "full"]),
        };
        details.insert("field", field);
        details.insert("allowed", allowed);
    }
}

/// No tool has the requested name.
#[derive(Debug, thiserror::Error)]
#[error("unknown tool")]
pub(crate) struct UnknownTool;

impl Problem for UnknownTool {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "name");
        let names: Vec<&str> = tools::entries().map(|entry| entry.name).collect();
        details.insert("allowed", names);
    }
}

/// A tool of the demo store that requires a key was called without one.
#[derive(Debug, thiserror::Error)]
#[error("an agent key is required; at this store, a sandbox key")]
pub(crate) struct SandboxKeyRequired;

impl Problem for SandboxKeyRequired {
    fn code(&self) -> ErrorCode {
        ErrorCode::Unauthorized
    }

    fn details(&self, details: &mut Details) {
        let hint = "create a sandbox key with the tool create_sandbox_key or POST /api/v1/sandbox/key, and send it as X-Agent-Api-Key";
        details.insert("hint", hint);
    }
}

/// A tool that requires a key was called without one, or with one that is not valid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyRequired {
    #[error("an agent key is required")]
    Missing(Scope),
    /// The message does not tell unknown, expired and revoked keys apart, so that guessing reveals nothing.
    #[error("the key is not valid: it is unknown, expired or revoked")]
    Invalid,
}

impl Problem for KeyRequired {
    fn code(&self) -> ErrorCode {
        ErrorCode::Unauthorized
    }

    fn details(&self, details: &mut Details) {
        let hint = match self {
            Self::Missing(_) => {
                "the person creates an agent key with this scope, and the client sends it as X-Agent-Api-Key; to try without one, connect to /demo-store/mcp and call create_sandbox_key"
            }
            Self::Invalid => {
                "send a valid agent key, which the person creates, as X-Agent-Api-Key, or none for tools that need none; to try, connect to /demo-store/mcp and call create_sandbox_key"
            }
        };
        details.insert("hint", hint);
        if let Self::Missing(scope) = self {
            details.insert("required_scope", scope.as_str());
        }
    }
}

/// The arguments do not match the input schema of the tool.
#[derive(Debug, thiserror::Error)]
#[error("invalid arguments: {reason}")]
pub(crate) struct InvalidArguments {
    reason: String,
    /// `None` if the invalid field is not known.
    violation: Option<Violation>,
}

impl InvalidArguments {
    /// For arguments that do not match the advertised schema.
    pub(crate) fn new(violation: Violation) -> Self {
        Self { reason: violation.to_string(), violation: Some(violation) }
    }

    /// For arguments that match the schema but cannot be deserialized.
    pub(crate) fn from_deserialization(error: &serde_json::Error) -> Self {
        Self { reason: error.to_string().chars().take(200).collect(), violation: None }
    }
}

impl Problem for InvalidArguments {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if let Some(violation) = &self.violation {
            violation.add_details(details);
        }
        details.insert("hint", "see the inputSchema of the tool in tools/list");
    }
}

/// The output of a tool could not be serialized: a defect of its type.
#[derive(Debug, thiserror::Error)]
#[error("the output of the tool cannot be serialized as JSON")]
pub(crate) struct UnserializableOutput(#[source] pub(crate) serde_json::Error);

impl Problem for UnserializableOutput {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}

/// A required argument of a prompt is missing.
#[derive(Debug, thiserror::Error)]
#[error("an argument of the prompt is required")]
pub(crate) struct MissingPromptArgument(pub(crate) &'static str);

impl Problem for MissingPromptArgument {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.0);
        details.insert("hint", "prompts/list describes the arguments");
    }
}

/// No resource or prompt has the requested name.
#[derive(Debug, thiserror::Error)]
#[error("not found")]
pub(crate) struct NotFound {
    pub(crate) field: &'static str,
    pub(crate) hint: &'static str,
}

impl Problem for NotFound {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("hint", self.hint);
    }
}

#[cfg(test)]
mod tests {
    use primitives::Failure;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_hint_of_a_missing_key_fits_the_door() {
        for error in [KeyRequired::Missing(Scope::AgentCart), KeyRequired::Invalid] {
            let details = Failure::from(error).envelope("req_1")["details"].clone();
            let hint = details["hint"].as_str().unwrap();
            assert!(hint.contains("create_sandbox_key") && !hint.contains("/api/v1"), "{hint}");
            assert!(!hint.contains("Bearer"), "{hint}");
        }
        let missing = Failure::from(KeyRequired::Missing(Scope::AgentCart)).envelope("req_1");
        assert_eq!(missing["details"]["required_scope"], Scope::AgentCart.as_str());
    }

    #[test]
    fn a_missing_argument_of_a_prompt_is_an_invalid_request() {
        let envelope = Failure::from(MissingPromptArgument("wish")).envelope("req_1");
        assert_eq!(
            (&envelope["error"], &envelope["details"]["field"]),
            (&json!("invalid_request"), &json!("wish"))
        );
    }

    fn envelope(tool: &str, arguments: &Value) -> Value {
        let schema = &tools::find(tool).unwrap().arguments;
        let violation = schema.validate(arguments).unwrap_err();
        Failure::from(InvalidArguments::new(violation)).envelope("req_1")
    }

    #[test]
    fn invalid_arguments_name_the_field() {
        let id = format!("prod_{}", "0".repeat(32));
        for (tool, arguments, field, message) in [
            ("create_cart", json!({}), "items", "items is required"),
            ("create_cart", json!({ "items": [{}] }), "items[0].product_id", "is required"),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id, "quantity": 0 }] }),
                "items[0].quantity",
                "items[0].quantity must be an integer from 1 to 999",
            ),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id, "price": 1 }] }),
                "items[0].price",
                "is not a field of this request",
            ),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id }], "do as I say": 1 }),
                "",
                "the value contains an unknown field",
            ),
            (
                "create_cart",
                json!({ "itemz": [{ "product_id": id }] }),
                "itemz",
                "itemz is not a field of this request; did you mean items?",
            ),
            (
                "get_product_variants",
                json!({ "product_id": id, "selected": [{ "name": "color", "value": 1 }] }),
                "selected[0].value",
                "selected[0].value must be plain text of at most 200 characters",
            ),
        ] {
            let envelope = envelope(tool, &arguments);
            assert_eq!(
                envelope["details"]["field"].as_str().unwrap_or_default(),
                field,
                "{envelope}"
            );
            let text = envelope["message"].as_str().unwrap();
            assert!(text.starts_with("invalid arguments: ") && text.ends_with(message), "{text}");
        }
    }

    #[test]
    fn invalid_arguments_tell_what_the_field_accepts() {
        let wrong_value =
            envelope("search_products", &json!({ "query": "mug", "sort": "cheapest" }));
        let allowed = &wrong_value["details"]["allowed"];
        assert_eq!(wrong_value["details"]["field"], "sort");
        assert!(
            allowed["enum"].as_array().is_some_and(|it| it.contains(&json!("price_asc"))),
            "{allowed}"
        );
        let wrong_id = envelope("get_checkout", &json!({ "checkout_id": "chk_1" }));
        assert_eq!(wrong_id["details"]["allowed"]["type"], "string", "{wrong_id}");
        let unknown = envelope("cancel_cart", &json!({ "cart": "cart_1" }));
        assert_eq!(unknown["details"]["allowed"], json!(["cart_id", "idempotency_key"]));
    }
}
