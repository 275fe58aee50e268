//! All policy of a call, in one place and in one order, read from the tool's declaration.

use std::time::Instant;

use identity::{Agent, IdentityError};
use jsonschema::error::ValidationErrorKind;
use primitives::{Details, ErrorCode, Failure, Problem};
use serde_json::Value;

use crate::call::Call;
use crate::tool::{Access, Confirmation, leave_out_nulls};
use crate::tools::{self, Known};

/// Calls a tool: caller and scope, standing, limits, confirmation, arguments; run; record. Tool and
/// store were found by the endpoint: their errors are faults of the protocol or have an HTTP status.
pub(crate) async fn call(
    call: &Call<'_>,
    known: &Known,
    arguments: Value,
) -> Result<Value, Failure> {
    let began = Instant::now();
    let outcome = apply(call, known, arguments).await;
    record(known, began, outcome.as_ref().err());
    outcome
}

async fn apply(call: &Call<'_>, known: &Known, arguments: Value) -> Result<Value, Failure> {
    may_call(known, call.agent)?;
    call.store.admit()?;
    if let Some(limited) = call.limited {
        return Err(limited.into());
    }
    match known.entry.confirmation {
        Confirmation::Never => {}
        // The place of confirmation: no proof can be given yet, so none is accepted.
        Confirmation::Required => return Err(ConfirmationMissing.into()),
    }
    let mut arguments = arguments;
    leave_out_nulls(&mut arguments);
    check(known, &arguments)?;
    (known.entry.run)(call, arguments).await
}

/// Whether a caller may call a tool. The endpoint asks it first, because the refusal has an HTTP status.
pub(crate) fn may_call(known: &Known, agent: Option<&Agent>) -> Result<(), IdentityError> {
    match (known.entry.access, agent) {
        (Access::Public, _) => Ok(()),
        (Access::Scope(_), None) => Err(IdentityError::Missing),
        (Access::Scope(scope), Some(agent)) => agent.require(scope),
    }
}

/// Holds the arguments against the schema that was advertised.
fn check(known: &Known, arguments: &Value) -> Result<(), InvalidArguments> {
    let Some(error) = known.arguments.iter_errors(arguments).next() else {
        return Ok(());
    };
    let properties = known.listing.input_schema.get("properties").and_then(Value::as_object);
    Err(InvalidArguments {
        field: field(&error),
        // The value itself is masked: it may be long, and it is the caller's own.
        reason: error.masked_with("the value").to_string(),
        allowed: properties.map(|names| names.keys().cloned().collect()).unwrap_or_default(),
    })
}

/// Which field is wrong. One that is missing or too many is no part of the path to what holds it.
fn field(error: &jsonschema::ValidationError<'_>) -> String {
    let holder = error.instance_path().as_str().trim_start_matches('/');
    let named = match error.kind() {
        ValidationErrorKind::Required { property } => property.as_str(),
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        _ => None,
    };
    match named {
        Some(named) if holder.is_empty() => named.to_owned(),
        Some(named) => format!("{holder}/{named}"),
        None => holder.to_owned(),
    }
}

fn record(known: &Known, began: Instant, failure: Option<&Failure>) {
    let outcome = failure.map_or("ok", |failure| failure.code().code());
    let tool = known.entry.name;
    metrics::counter!("souk_tool_calls_total", "tool" => tool, "outcome" => outcome).increment(1);
    metrics::histogram!("souk_tool_seconds", "tool" => tool).record(began.elapsed().as_secs_f64());
}

/// The arguments do not fit the tool.
#[derive(Debug, thiserror::Error)]
#[error("the arguments do not fit the tool: {reason}")]
pub(crate) struct InvalidArguments {
    field: String,
    reason: String,
    allowed: Vec<String>,
}

impl InvalidArguments {
    /// For what the schema lets through and the type does not.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
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
        details.insert("hint", "tools/list shows each tool's inputSchema");
    }
}

/// There is no tool of that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no tool of this name")]
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

/// The tool needs a person's confirmation.
#[derive(Debug, thiserror::Error)]
#[error("a person has to confirm this first")]
struct ConfirmationMissing;

impl Problem for ConfirmationMissing {
    fn code(&self) -> ErrorCode {
        ErrorCode::ConfirmationRequired
    }
}

/// A tool's output could not be written as JSON: a mistake in its type.
#[derive(Debug, thiserror::Error)]
#[error("a tool's output cannot be written as JSON")]
pub(crate) struct Unwritable(#[source] pub(crate) serde_json::Error);

impl Problem for Unwritable {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}
