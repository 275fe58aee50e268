//! All policy of a call, in one place and in one order, read from the tool's declaration.

use std::time::Instant;

use identity::{Agent, IdentityError};
use jobs::{IdempotencyError, IdempotencyKey};
use jsonschema::error::ValidationErrorKind;
use merchants::Store;
use primitives::{Details, ErrorCode, Failure, Problem};
use serde_json::Value;

use crate::call::Call;
use crate::tool::{Access, KEY_ARGUMENT, leave_out_nulls};
use crate::tools::{self, Known};

/// Calls a tool: caller and scope, standing, limits, arguments, idempotency; run; record. Tool and
/// store were found by the endpoint: their errors are faults of the protocol or have an HTTP status.
///
/// A tool that writes is attested by being called: its listing and the answer's header say that a person has to have
/// agreed. Where a stronger proof is wanted, the tool asks for it (docs/decisions/0022).
pub(crate) async fn call(
    call: Call<'_>,
    known: &Known,
    arguments: Value,
) -> Result<Value, Failure> {
    let began = Instant::now();
    let outcome = apply(call, known, arguments).await;
    record(known, began, outcome.as_ref().err());
    outcome
}

async fn apply(mut call: Call<'_>, known: &Known, mut arguments: Value) -> Result<Value, Failure> {
    may_call(known, call.store, call.agent)?;
    call.store.admit()?;
    if let Some(limited) = call.limited {
        return Err(limited.into());
    }
    leave_out_nulls(&mut arguments);
    check(known, &arguments)?;
    call.once = once(&call, known, &mut arguments)?;
    (known.entry.run)(&call, arguments).await
}

/// The key under which a write is done once. The one among the arguments wins over one beside them.
fn once(
    call: &Call<'_>,
    known: &Known,
    arguments: &mut Value,
) -> Result<Option<IdempotencyKey>, IdempotencyError> {
    if !known.entry.writes_to_store() {
        return Ok(None);
    }
    let argument = arguments.as_object_mut().and_then(|fields| fields.remove(KEY_ARGUMENT));
    let sent = argument.as_ref().and_then(Value::as_str).or(call.key);
    let (Some(agent), Some(key)) = (call.agent, sent) else { return Ok(None) };
    let asked = (known.entry.name, &*arguments);
    IdempotencyKey::new(call.store.merchant, &agent.key, key, asked).map(Some)
}

/// Whether a caller may call a tool of a store. The endpoint asks it first, because the refusal has an HTTP status.
pub(crate) fn may_call(known: &Known, store: &Store, agent: Option<&Agent>) -> Result<(), Failure> {
    if known.entry.writes_to_store() {
        store.admit_write(agent.is_some_and(Agent::is_sandbox))?;
    }
    match (known.entry.access, agent) {
        (Access::Public, _) => Ok(()),
        (Access::Scope(_), None) => Err(IdentityError::Missing.into()),
        (Access::Scope(scope), Some(agent)) => Ok(agent.require(scope)?),
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

/// A tool's output could not be written as JSON: a mistake in its type.
#[derive(Debug, thiserror::Error)]
#[error("a tool's output cannot be written as JSON")]
pub(crate) struct Unwritable(#[source] pub(crate) serde_json::Error);

impl Problem for Unwritable {
    fn code(&self) -> ErrorCode {
        ErrorCode::InternalError
    }
}
