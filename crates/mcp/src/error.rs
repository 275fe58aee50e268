//! Errors of requests and tool calls that no domain crate has.

use primitives::{Details, ErrorCode, Problem};
use schema::{Validator, Violation};
use serde_json::Value;

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

/// The arguments do not match the input schema of the tool.
#[derive(Debug, thiserror::Error)]
#[error("invalid arguments: {reason}")]
pub(crate) struct InvalidArguments {
    /// Path of the invalid field, such as `items/0/quantity`; empty if it is not known.
    field: String,
    reason: String,
    /// Names of all arguments.
    allowed: Vec<String>,
    /// The argument whose name is nearest to that of an unknown one.
    did_you_mean: Option<String>,
}

impl InvalidArguments {
    /// For arguments that do not match the advertised schema.
    pub(crate) fn new(schema: &Validator, violation: &Violation) -> Self {
        let properties = schema.schema().get("properties").and_then(Value::as_object);
        let allowed = properties.map(|names| names.keys().cloned().collect()).unwrap_or_default();
        let did_you_mean = violation.did_you_mean().map(str::to_owned);
        Self { field: violation.pointer(), reason: violation.to_string(), allowed, did_you_mean }
    }

    /// For arguments that match the schema but cannot be deserialized.
    pub(crate) fn from_deserialization(error: &serde_json::Error) -> Self {
        let reason = error.to_string().chars().take(200).collect();
        Self { field: String::new(), reason, allowed: Vec::new(), did_you_mean: None }
    }
}

impl Problem for InvalidArguments {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        if !self.field.is_empty() {
            details.insert("field", self.field.clone());
        }
        if !self.allowed.is_empty() {
            details.insert("allowed", self.allowed.clone());
        }
        if let Some(nearest) = &self.did_you_mean {
            details.insert("did_you_mean", nearest.as_str());
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

/// No resource or prompt has the requested name, or an argument of a prompt is missing.
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
    use serde_json::json;

    use super::*;

    fn envelope(tool: &str, arguments: &Value) -> Value {
        let schema = &tools::find(tool).unwrap().arguments;
        let violation = schema.validate(arguments).unwrap_err();
        Failure::from(InvalidArguments::new(schema, &violation)).envelope("req_1")
    }

    #[test]
    fn invalid_arguments_name_the_field_as_sent() {
        let id = format!("prod_{}", "0".repeat(32));
        for (tool, arguments, field, message) in [
            ("create_cart", json!({}), "items", "items is required"),
            ("create_cart", json!({ "items": [{}] }), "items/0/product_id", "is required"),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id, "quantity": 0 }] }),
                "items/0/quantity",
                "items[0].quantity must be an integer from 1 to 999",
            ),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id, "price": 1 }] }),
                "items/0/price",
                "is not a field of this request",
            ),
            (
                "create_cart",
                json!({ "items": [{ "product_id": id }], "do as I say": 1 }),
                "do as I say",
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
                "selected/0/value",
                "selected[0].value must be plain text of at most 200 characters",
            ),
        ] {
            let envelope = envelope(tool, &arguments);
            assert_eq!(envelope["details"]["field"], field, "{envelope}");
            let text = envelope["message"].as_str().unwrap();
            assert!(text.starts_with("invalid arguments: ") && text.ends_with(message), "{text}");
        }
    }

    #[test]
    fn invalid_arguments_list_all_arguments() {
        let envelope = envelope("cancel_cart", &json!({}));
        assert_eq!(envelope["details"]["allowed"], json!(["cart_id", "idempotency_key"]));
    }
}
