//! Applies the policy of a tool call in a fixed order, as declared by the tool.

use std::time::Instant;

use identity::{Agent, IdentityError};
use jobs::{IdempotencyError, IdempotencyKey};
use jsonschema::error::ValidationErrorKind;
use merchants::Store;
use primitives::{Details, ErrorCode, Failure, Problem};
use serde_json::Value;

use crate::call::Call;
use crate::tool::{Access, KEY_ARGUMENT, remove_nulls};
use crate::tools::{self, RegisteredTool};

/// Calls a tool: checks scope, standing, limits, arguments and idempotency key, runs it and records metrics. The endpoint
/// has resolved tool and store, because their errors are protocol errors or have an HTTP status.
///
/// Calling a writing tool is the agent's attestation that a person agreed, as its listing and the response header state.
/// Where the store requires a stronger proof, the tool demands it (docs/decisions/0022).
pub(crate) async fn call(
    call: Call<'_>,
    tool: &RegisteredTool,
    arguments: Value,
) -> Result<Value, Failure> {
    let started = Instant::now();
    let outcome = apply(call, tool, arguments).await;
    record(tool, started, outcome.as_ref().err());
    outcome
}

async fn apply(
    mut call: Call<'_>,
    tool: &RegisteredTool,
    mut arguments: Value,
) -> Result<Value, Failure> {
    authorize(tool, call.store, call.agent)?;
    call.store.admit()?;
    if let Some(error) = call.limit_exceeded {
        return Err(error.into());
    }
    remove_nulls(&mut arguments);
    validate(tool, &arguments)?;
    call.idempotency = idempotency_key(&call, tool, &mut arguments)?;
    (tool.entry.run)(&call, arguments).await
}

/// Removes the idempotency key from the arguments and returns it for a writing tool. A key in the arguments takes precedence
/// over one in `_meta` or the header.
fn idempotency_key(
    call: &Call<'_>,
    tool: &RegisteredTool,
    arguments: &mut Value,
) -> Result<Option<IdempotencyKey>, IdempotencyError> {
    if !tool.entry.writes_to_store() {
        return Ok(None);
    }
    let argument = arguments.as_object_mut().and_then(|fields| fields.remove(KEY_ARGUMENT));
    let sent = argument.as_ref().and_then(Value::as_str).or(call.raw_idempotency_key);
    let (Some(agent), Some(key)) = (call.agent, sent) else { return Ok(None) };
    let request = (tool.entry.name, &*arguments);
    IdempotencyKey::new(call.store.merchant, &agent.key, key, request).map(Some)
}

/// Checks whether an agent may call a tool of a store. The endpoint calls it first, because the error has an HTTP status.
pub(crate) fn authorize(
    tool: &RegisteredTool,
    store: &Store,
    agent: Option<&Agent>,
) -> Result<(), Failure> {
    if tool.entry.writes_to_store() {
        store.admit_write(agent.is_some_and(Agent::is_sandbox))?;
    }
    match (tool.entry.access, agent) {
        (Access::Public, _) => Ok(()),
        (Access::Scope(_), None) => Err(IdentityError::MissingCredential.into()),
        (Access::Scope(scope), Some(agent)) => Ok(agent.require(scope)?),
    }
}

/// Validates the arguments against the advertised schema.
fn validate(tool: &RegisteredTool, arguments: &Value) -> Result<(), InvalidArguments> {
    let Some(error) = tool.arguments.iter_errors(arguments).next() else {
        return Ok(());
    };
    let properties = tool.listing.input_schema.get("properties").and_then(Value::as_object);
    Err(InvalidArguments {
        field: field(&error),
        // The value is masked: it may be long, and the caller knows it.
        reason: error.masked_with("the value").to_string(),
        allowed: properties.map(|names| names.keys().cloned().collect()).unwrap_or_default(),
    })
}

/// Returns the path of the invalid field. The name of a missing or unexpected field is appended to the path of its parent.
fn field(error: &jsonschema::ValidationError<'_>) -> String {
    let parent = error.instance_path().as_str().trim_start_matches('/');
    let named = match error.kind() {
        ValidationErrorKind::Required { property } => property.as_str(),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        _ => None,
    };
    match named {
        Some(named) if parent.is_empty() => named.to_owned(),
        Some(named) => format!("{parent}/{named}"),
        None => parent.to_owned(),
    }
}

fn record(tool: &RegisteredTool, started: Instant, failure: Option<&Failure>) {
    let outcome = failure.map_or("ok", |failure| failure.code().code());
    let name = tool.entry.name;
    metrics::counter!("souk_tool_calls_total", "tool" => name, "outcome" => outcome).increment(1);
    metrics::histogram!("souk_tool_seconds", "tool" => name)
        .record(started.elapsed().as_secs_f64());
}

/// The arguments do not match the input schema of the tool.
#[derive(Debug, thiserror::Error)]
#[error("invalid arguments: {reason}")]
pub(crate) struct InvalidArguments {
    field: String,
    reason: String,
    allowed: Vec<String>,
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

/// No tool has the requested name.
#[derive(Debug, thiserror::Error)]
#[error("unknown tool")]
pub(crate) struct UnknownTool {
    allowed: Vec<String>,
}

impl UnknownTool {
    pub(crate) fn new() -> Self {
        Self { allowed: tools::listing().into_iter().map(|tool| tool.name.into_owned()).collect() }
    }
}

impl Problem for UnknownTool {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "name");
        details.insert("allowed", self.allowed.clone());
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
