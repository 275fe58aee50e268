//! Errors of requests and tool calls that no domain crate has.

use primitives::{Details, ErrorCode, Problem};

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

/// `?tools=` names a set that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown tool set in the query parameter tools")]
pub(crate) struct UnknownToolSet;

impl Problem for UnknownToolSet {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "tools");
        let names: Vec<&str> = ToolSet::ALL.iter().map(|set| set.as_str()).collect();
        details.insert("allowed", names);
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

/// The arguments do not match the input schema of the tool.
#[derive(Debug, thiserror::Error)]
#[error("invalid arguments: {reason}")]
pub(crate) struct InvalidArguments {
    /// Path of the invalid field; empty if it is not known.
    pub(crate) field: String,
    pub(crate) reason: String,
    /// Names of all arguments.
    pub(crate) allowed: Vec<String>,
}

impl InvalidArguments {
    /// For arguments that match the schema but cannot be deserialized.
    pub(crate) fn from_deserialization(error: &serde_json::Error) -> Self {
        let reason = error.to_string().chars().take(200).collect();
        Self { field: String::new(), reason, allowed: Vec::new() }
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
