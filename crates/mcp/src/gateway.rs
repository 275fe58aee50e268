//! The policy of a request, in the order in which it is applied: credential, quotas of the caller and the tool, store,
//! content type, stores of the key, standing of the store, scope, write access; then, for a tool call, arguments and
//! idempotency key.
//!
//! A request for a store that does not exist uses quota like any other (docs/decisions/0021). A call that is refused here
//! and one that fails in its tool have the same form: docs/contract/errors.md#mcp-errors.

use std::sync::Arc;
use std::time::Instant;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use identity::{Agent, Credential, IdentityError};
use jobs::{IdempotencyError, IdempotencyKey};
use limits::{
    AdmissionPermit, Caller, Class, ConcurrencyLimit, DEMO_STORE_PER_MINUTE, LimitExceeded,
    PUBLIC_PER_MINUTE, QuotaDecision, QuotaRequest, tier_limit,
};
use merchants::Store;
use primitives::{ClientAddress, Failure, InvalidSlug, Plan, RequestId, RequestRecord, StoreSlug};
use serde_json::Value;

use crate::elicitation::ElicitationSupport;
use crate::endpoint::Mcp;
use crate::error::{
    InvalidArguments, KeyRequired, SandboxKeyRequired, UnknownTool, UnserializableOutput,
    UnsupportedContentType,
};
use crate::error_response::{ErrorFormat, log};
use crate::listing::ListingOptions;
use crate::message::Message;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, KEY_ARGUMENT, Stores, Tool, remove_nulls};
use crate::tools::RegisteredTool;

/// An admitted request.
pub(crate) struct Admitted {
    pub(crate) context: RequestContext,
    /// Held until the response is ready. It is not part of the context, which rmcp may keep for longer.
    pub(crate) permit: Option<AdmissionPermit>,
}

/// A rejected request.
pub(crate) struct Rejected {
    pub(crate) failure: Failure,
    /// The state of the quotas, if the request was counted and admitted by them.
    pub(crate) quota: Option<QuotaDecision>,
    pub(crate) kind: RejectionKind,
}

/// What a rejection is about, which determines its form for an MCP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RejectionKind {
    /// The request itself: its address, its form, a bearer token, or a dependency that is unavailable. An HTTP error.
    Request,
    /// The right of the caller to call a tool, now and at this store. A tool call gets it as its result.
    Call,
}

impl Rejected {
    /// Rejects a request because its caller may not make this call.
    fn call(failure: impl Into<Failure>) -> Self {
        Self { failure: failure.into(), quota: None, kind: RejectionKind::Call }
    }

    /// Adds the state of the quotas.
    fn with_quota(self, quota: Option<QuotaDecision>) -> Self {
        Self { quota, ..self }
    }
}

impl<E: Into<Failure>> From<E> for Rejected {
    fn from(error: E) -> Self {
        Self { failure: error.into(), quota: None, kind: RejectionKind::Request }
    }
}

/// Admits a request. The store is resolved after the quota is taken: requests for unknown stores use quota too.
pub(crate) async fn admit(
    app: &Arc<Mcp>,
    slug: &str,
    parts: &Parts,
    message: &Message,
    request_id: &RequestId,
) -> Result<Admitted, Rejected> {
    let format = ErrorFormat::of(&parts.headers);
    // An MCP client with an invalid key completes its handshake; each of its tool calls is rejected.
    let needs_key = format == ErrorFormat::Envelope || !message.is_handshake_or_listing();
    let agent = authenticate(app, parts).await;
    let agent = if needs_key { agent? } else { ignore_invalid_key(agent)? };
    let record = parts.extensions.get::<RequestRecord>().cloned().unwrap_or_default();
    if let Some(agent) = &agent {
        record.set_key(agent.key);
    }
    let slug = slug.parse::<StoreSlug>();
    let address = client_address(parts);
    let (permit, quota) = if message.is_exempt() {
        (None, None)
    } else {
        take_quota(app, agent.as_deref(), address, slug.as_ref().ok(), message.tool).await?
    };
    let (store, listing) = authorize(app, agent.as_deref(), slug, parts, message)
        .await
        .map_err(|rejected| rejected.with_quota(quota))?;
    let context = RequestContext {
        app: Arc::clone(app),
        store,
        agent,
        tool: message.tool,
        quota,
        client_address: address,
        raw_idempotency_key: raw_idempotency_key(&parts.headers, message),
        idempotency_key: None,
        request_id: request_id.clone(),
        record,
        listing,
        error_format: format,
        elicitation_support: ElicitationSupport::from_meta(message.params.get("_meta")),
        elicitation_response: None,
    };
    Ok(Admitted { context, permit })
}

/// Admits a tool call and runs the tool.
pub(crate) async fn admit_and_call(
    app: &Arc<Mcp>,
    slug: &str,
    parts: &Parts,
    message: &mut Message,
    request_id: &RequestId,
) -> Result<(Admitted, Result<Value, Failure>), Rejected> {
    let arguments = message.arguments.take();
    let mut admitted = admit(app, slug, parts, message, request_id).await?;
    let outcome = call(&mut admitted.context, arguments).await;
    Ok((admitted, outcome))
}

/// Returns the authenticated agent, or `None` without a credential. A credential must be valid even where none is
/// required.
async fn authenticate(app: &Mcp, parts: &Parts) -> Result<Option<Arc<Agent>>, Rejected> {
    match Credential::from_headers(&parts.headers) {
        Credential::Missing => Ok(None),
        Credential::AgentKey(key) => {
            let address = client_address(parts).ok_or(IdentityError::UnknownClientAddress)?;
            let agent = app.credentials.agent_keys.agent_of(key, address).await;
            Ok(Some(agent.map_err(|error| match error {
                IdentityError::InvalidCredential => Rejected::call(KeyRequired::Invalid),
                IdentityError::TooManyInvalidKeys { .. } => Rejected::call(error),
                other => Rejected::from(other),
            })?))
        }
        Credential::StoreKey(_) | Credential::Token(_) | Credential::Malformed => {
            Err(IdentityError::AgentKeyRequired.into())
        }
    }
}

/// Treats the caller as anonymous if its agent key is invalid.
fn ignore_invalid_key(
    authenticated: Result<Option<Arc<Agent>>, Rejected>,
) -> Result<Option<Arc<Agent>>, Rejected> {
    match authenticated {
        Err(Rejected { kind: RejectionKind::Call, .. }) => Ok(None),
        other => other,
    }
}

/// Checks the credential of a notification, which has no effect. That of an MCP client belongs to its handshake.
pub(crate) async fn authenticate_notification(app: &Mcp, parts: &Parts) -> Result<(), Rejected> {
    let authenticated = authenticate(app, parts).await;
    match ErrorFormat::of(&parts.headers) {
        ErrorFormat::JsonRpc => ignore_invalid_key(authenticated)?,
        ErrorFormat::Envelope => authenticated?,
    };
    Ok(())
}

/// Takes quota of all calls of the caller and of the tool at this store.
async fn take_quota(
    app: &Mcp,
    agent: Option<&Agent>,
    address: Option<ClientAddress>,
    slug: Option<&StoreSlug>,
    tool: Option<&RegisteredTool>,
) -> Result<(Option<AdmissionPermit>, Option<QuotaDecision>), Rejected> {
    let plan = agent.map_or(Plan::Free, |agent| agent.plan);
    // Quotas cannot be applied to an unknown address.
    let address = || address.ok_or(IdentityError::UnknownClientAddress);
    let (caller, bucket, limit) = match agent {
        // Anybody can have many sandbox keys: those of an address share its quotas, also over REST.
        Some(agent) if agent.is_sandbox() => (Caller::address(address()?), "mcp", tier_limit(plan)),
        Some(agent) => (Caller::agent(agent.key), "mcp", tier_limit(plan)),
        None if slug.is_some_and(|slug| slug.as_str() == StoreSlug::DEMO) => {
            (Caller::address(address()?), "demo", DEMO_STORE_PER_MINUTE)
        }
        None => (Caller::address(address()?), "mcp", tier_limit(plan)),
    };
    let class = match tool.map(|tool| tool.entry.confirmation) {
        Some(Confirmation::Required) => Class::Write,
        Some(Confirmation::Never) | None => Class::Read,
    };
    let mut request = QuotaRequest::tier(class, bucket, limit);
    if let Some(tool) = tool {
        request = request.and_tool(slug, tool.entry.name, tool.per_minute);
    }
    let admitted = app.admission.admit(&caller, ConcurrencyLimit::for_plan(plan), &request).await;
    let permit = admitted.map_err(Rejected::call)?;
    let quota = permit.decision;
    Ok((Some(permit), quota))
}

/// Takes quota for a public page (docs/contract/limits.md#public-limit).
pub(crate) async fn admit_public(
    app: &Mcp,
    address: ClientAddress,
) -> Result<AdmissionPermit, LimitExceeded> {
    let quota = QuotaRequest::tier(Class::Read, "public", PUBLIC_PER_MINUTE);
    let concurrency = ConcurrencyLimit::for_plan(Plan::Free);
    app.admission.admit(&Caller::address(address), concurrency, &quota).await
}

/// Resolves the store, and checks its standing, the request and the rights of the agent. Returns the store and what
/// to list.
async fn authorize(
    app: &Mcp,
    agent: Option<&Agent>,
    slug: Result<StoreSlug, InvalidSlug>,
    parts: &Parts,
    message: &Message,
) -> Result<(Arc<Store>, ListingOptions), Rejected> {
    let store = app.stores.find_active(&slug?).await?;
    require_json(&parts.headers)?;
    let listing = ListingOptions::from_query(parts.uri.query())?;
    if !message.is_handshake_or_listing()
        || ErrorFormat::of(&parts.headers) == ErrorFormat::Envelope
    {
        let allowed = agent.map_or(Ok(()), |agent| agent.require_store(store.merchant));
        allowed.map_err(Rejected::call)?;
    }
    if message.is_call() {
        authorize_call(message.tool, &store, agent).map_err(Rejected::call)?;
    }
    Ok((store, listing))
}

fn require_json(headers: &HeaderMap) -> Result<(), UnsupportedContentType> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    match content_type {
        Some(value) if value.to_ascii_lowercase().starts_with("application/json") => Ok(()),
        _ => Err(UnsupportedContentType),
    }
}

/// Checks whether an agent may call a tool of a store. An unknown tool can be called at no store that is closed or
/// suspended.
pub(crate) fn authorize_call(
    tool: Option<&RegisteredTool>,
    store: &Store,
    agent: Option<&Agent>,
) -> Result<(), Failure> {
    let Some(tool) = tool else { return Ok(store.admit()?) };
    if tool.entry.stores == Stores::Open {
        store.admit()?;
    }
    match (tool.entry.access, agent) {
        (Access::Public, _) => {}
        (Access::Scope(_), None) if store.is_read_only() => return Err(SandboxKeyRequired.into()),
        (Access::Scope(scope), None) => return Err(KeyRequired::Missing(scope).into()),
        (Access::Scope(scope), Some(agent)) => agent.require(scope)?,
    }
    if tool.entry.writes_to_store() {
        store.admit_write(agent.is_some_and(Agent::is_sandbox))?;
    }
    Ok(())
}

/// Calls the tool of an admitted request, and records metrics and internal errors.
///
/// Calling a writing tool is the agent's attestation that a person agreed, as its listing and the response header state.
/// Where the store requires a stronger proof, the tool demands it (docs/decisions/0022).
pub(crate) async fn call(context: &mut RequestContext, arguments: Value) -> Result<Value, Failure> {
    let started = Instant::now();
    let outcome = match context.tool {
        Some(tool) => {
            let outcome = run(context, tool, arguments).await;
            record(tool, started, outcome.as_ref().err());
            outcome
        }
        None => Err(UnknownTool.into()),
    };
    if let Err(failure) = &outcome {
        context.record.set_error(failure.code());
        log(failure, &context.request_id);
    }
    outcome
}

async fn run(
    context: &mut RequestContext,
    tool: &RegisteredTool,
    mut arguments: Value,
) -> Result<Value, Failure> {
    let schema = &tool.arguments;
    schema.normalize(&mut arguments);
    schema.validate(&arguments).map_err(InvalidArguments::new)?;
    context.idempotency_key = idempotency_key(context, tool, &mut arguments)?;
    // `run_tool`, below, with the type of the tool.
    (tool.entry.run)(context, arguments).await
}

/// Calls the tool: deserializes its arguments, and serializes its output.
pub(crate) async fn run_tool<T: Tool>(
    context: &RequestContext,
    arguments: Value,
) -> Result<Value, Failure> {
    // The arguments match the schema; if the type rejects them nevertheless, it is still an error of the caller.
    let arguments = serde_json::from_value(arguments)
        .map_err(|error| InvalidArguments::from_deserialization(&error))?;
    let output = T::call(context, arguments).await?;
    let mut output = serde_json::to_value(output).map_err(UnserializableOutput)?;
    remove_nulls(&mut output);
    Ok(output)
}

/// Returns the idempotency key in `_meta` or else in the header. A value that is not text becomes an empty key, which every
/// writing tool rejects.
fn raw_idempotency_key(headers: &HeaderMap, message: &Message) -> Option<String> {
    let meta = message.params.get("_meta").and_then(|meta| meta.get(KEY_ARGUMENT));
    let in_meta = meta.map(|key| key.as_str().unwrap_or_default().to_owned());
    let header = headers.get("idempotency-key");
    in_meta.or_else(|| header.map(|key| key.to_str().unwrap_or_default().to_owned()))
}

/// Removes the idempotency key from the arguments and returns it for a writing tool. A key in the arguments takes precedence
/// over one in `_meta` or the header.
fn idempotency_key(
    context: &RequestContext,
    tool: &RegisteredTool,
    arguments: &mut Value,
) -> Result<Option<IdempotencyKey>, IdempotencyError> {
    if !tool.entry.writes_to_store() {
        return Ok(None);
    }
    let argument = arguments.as_object_mut().and_then(|fields| fields.remove(KEY_ARGUMENT));
    let argument = argument.as_ref().and_then(Value::as_str);
    let sent = argument.or(context.raw_idempotency_key.as_deref());
    let (Some(agent), Some(key)) = (&context.agent, sent) else { return Ok(None) };
    let request = (tool.entry.name, &*arguments);
    IdempotencyKey::new(context.store.merchant, &agent.key, key, request).map(Some)
}

fn record(tool: &RegisteredTool, started: Instant, failure: Option<&Failure>) {
    count(tool, failure.map_or("ok", |failure| failure.code().code()));
    metrics::histogram!("souk_tool_seconds", "tool" => tool.entry.name)
        .record(started.elapsed().as_secs_f64());
}

/// Counts a call that was rejected before its tool ran.
pub(crate) fn count_rejection(tool: Option<&RegisteredTool>, failure: &Failure) {
    if let Some(tool) = tool {
        count(tool, failure.code().code());
    }
}

fn count(tool: &RegisteredTool, outcome: &'static str) {
    let name = tool.entry.name;
    metrics::counter!("souk_tool_calls_total", "tool" => name, "outcome" => outcome).increment(1);
}

/// Returns the client address, which the server adds to each request.
fn client_address(parts: &Parts) -> Option<ClientAddress> {
    parts.extensions.get::<ClientAddress>().copied()
}
