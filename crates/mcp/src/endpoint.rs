//! The HTTP endpoint: parses a request, has the gateway admit it and run its tool, and renders the result. Requests other than
//! tool calls, and tool calls of the newest protocol version, are forwarded to rmcp once they are admitted.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing};
use checkout::PaymentGateway;
use database::Database;
use identity::CredentialStore;
use limits::{AdmissionControl, QuotaDecision};
use merchants::StoreCache;
use primitives::{Failure, RequestId, RequestRecord};
use search::Search;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};
use trust::MethodologyVersion;

use crate::card;
#[cfg(debug_assertions)]
use crate::conformance;
use crate::error::{BodyTooLarge, MethodNotAllowed, UnserializableOutput};
use crate::error_response::{ErrorFormat, failed_result, log, protocol_error, render, tool_error};
use crate::gateway::{self, Admitted, Rejected, RejectionKind};
use crate::message::{INVALID_REQUEST, Message, Route};
use crate::origin_policy::OriginPolicy;
use crate::rmcp_server::RmcpServer;
use crate::tool::Confirmation;
use crate::tools::RegisteredTool;

/// Dependencies and configuration of the endpoint: the state shared by all requests.
#[derive(Clone)]
pub struct Mcp {
    pub database: Database,
    pub stores: StoreCache,
    pub search: Search,
    pub credentials: CredentialStore,
    pub admission: AdmissionControl,
    /// Public base address of this service.
    pub site_url: Arc<str>,
    /// Accepts payments on the hosted payment page.
    pub payment_gateway: PaymentGateway,
    /// The methodology whose trust scores are in force.
    pub trust_methodology: MethodologyVersion,
    /// Accepted values of the `Host` header; others are rejected as protection against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may call from a browser.
    pub allowed_origins: Vec<String>,
}

pub(crate) struct Endpoint {
    pub(crate) app: Arc<Mcp>,
    origin_policy: OriginPolicy,
    rmcp: RmcpServer,
}

/// Returns the routes of the endpoint, in both address forms (docs/contract/mcp.md#addresses).
pub fn router(mcp: Mcp) -> Router {
    let origin_policy = OriginPolicy::new(&mcp.allowed_hosts, &mcp.allowed_origins);
    let endpoint = Endpoint {
        app: Arc::new(mcp),
        origin_policy: origin_policy.clone(),
        rmcp: RmcpServer::new(),
    };
    let methods = || routing::post(post).fallback(method_not_allowed);
    Router::new()
        .route("/{slug}/mcp", methods())
        .route("/{slug}/mcp/", methods())
        .route("/api/v1/{slug}/mcp", methods())
        .route("/api/v1/{slug}/mcp/", methods())
        .layer(cors(origin_policy))
        .route("/{slug}/mcp/server-card", routing::get(card::card))
        .with_state(Arc::new(endpoint))
}

/// Returns the CORS layer for the allowed origins.
fn cors(origin_policy: OriginPolicy) -> CorsLayer {
    let is_allowed =
        move |origin: &HeaderValue, _: &request::Parts| origin_policy.allows_origin(origin);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(is_allowed))
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED.map(HeaderName::from_static))
        .max_age(Duration::from_hours(1))
}

/// Response headers that a page may read.
const EXPOSED: [&str; 7] = [
    "x-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-human-confirmation-required",
    "retry-after",
    "www-authenticate",
];

/// The endpoint is stateless: it has no stream to open with GET and no session to end with DELETE.
async fn method_not_allowed(
    Extension(request_id): Extension<RequestId>,
    headers: HeaderMap,
) -> Response {
    let failure = Failure::from(MethodNotAllowed);
    let format = ErrorFormat::of(&headers);
    let mut response = render(&failure, &Value::Null, &request_id, format);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

/// Answers a request: parses it, has it admitted and run, and renders the result.
async fn post(
    State(endpoint): State<Arc<Endpoint>>,
    Path(slug): Path<String>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let format = ErrorFormat::of(&parts.headers);
    let record = parts.extensions.get::<RequestRecord>().cloned().unwrap_or_default();
    if let Err(reason) = endpoint.origin_policy.check(&parts.uri, &parts.headers) {
        let mut response = protocol_error(&Value::Null, INVALID_REQUEST, reason, format);
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        // The body exceeds the limit of the server.
        return render(&BodyTooLarge.into(), &Value::Null, &request_id, format);
    };
    let mut message = match Message::parse(&body, &parts.headers) {
        Ok(message) => message,
        Err(invalid) => return protocol_error(&invalid.id, invalid.code, &invalid.message, format),
    };
    if let Some(tool) = message.tool {
        record.set_tool(tool.entry.name);
    }
    #[cfg(debug_assertions)]
    if slug == conformance::SLUG {
        return endpoint.rmcp.handle_fixtures(parts, body, &message).await;
    }
    if message.route != Route::DirectCall {
        // rmcp parses the body again: kept, the arguments would take their memory twice.
        message.arguments.take();
    }
    let outcome = match message.route {
        Route::Notification => accept_notification(&endpoint, parts, body, &message).await,
        Route::DirectCall => call(&endpoint, &slug, &parts, &mut message, &request_id).await,
        Route::Forward => forward(&endpoint, &slug, parts, body, &message, &request_id).await,
    };
    let mut response = outcome.unwrap_or_else(|rejected| {
        record.set_error(rejected.failure.code());
        reject(&rejected, &message, &request_id, format)
    });
    disclosure_headers(response.headers_mut(), message.tool);
    response
}

/// Renders a rejection: of a tool call by an MCP client as the result of the call, otherwise with its HTTP status.
fn reject(
    rejected: &Rejected,
    message: &Message,
    request_id: &RequestId,
    format: ErrorFormat,
) -> Response {
    let failure = &rejected.failure;
    log(failure, request_id);
    gateway::count_rejection(message.tool, failure);
    let is_result =
        rejected.kind == RejectionKind::Call && message.is_call() && format == ErrorFormat::JsonRpc;
    let response = if is_result {
        failed_result(failure, message, request_id)
    } else {
        render(failure, &message.id, request_id, format)
    };
    with_quota(response, rejected.quota)
}

/// Accepts a notification after authentication. It has no effect: no store is resolved, and it uses no quota.
async fn accept_notification(
    endpoint: &Endpoint,
    parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> Result<Response, Rejected> {
    gateway::authenticate_notification(&endpoint.app, &parts).await?;
    Ok(endpoint.rmcp.handle(parts, body, message).await)
}

/// Answers a tool call without rmcp, the fast path: admits the request, runs the tool and renders its output.
async fn call(
    endpoint: &Endpoint,
    slug: &str,
    parts: &request::Parts,
    message: &mut Message,
    request_id: &RequestId,
) -> Result<Response, Rejected> {
    let (admitted, outcome) =
        gateway::admit_and_call(&endpoint.app, slug, parts, message, request_id).await?;
    let context = &admitted.context;
    let body = outcome.and_then(|output| {
        success_body(&message.id, &output).inspect_err(|failure| log(failure, request_id))
    });
    let response = match body {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(failure) => tool_error(context, message, &failure),
    };
    Ok(with_quota(response, context.quota))
}

/// Forwards a request to rmcp, which answers it through the adapter.
async fn forward(
    endpoint: &Endpoint,
    slug: &str,
    mut parts: request::Parts,
    body: Bytes,
    message: &Message,
    request_id: &RequestId,
) -> Result<Response, Rejected> {
    let admitted = gateway::admit(&endpoint.app, slug, &parts, message, request_id).await?;
    let Admitted { context, permit: _permit } = admitted;
    let quota = context.quota;
    parts.extensions.insert(context);
    let response = endpoint.rmcp.handle(parts, body, message).await;
    Ok(with_quota(response, quota))
}

/// Adds the rate limit headers, unless the response has those of the limit that was exceeded.
fn with_quota(mut response: Response, quota: Option<QuotaDecision>) -> Response {
    if let Some(quota) = quota
        && !response.headers().contains_key("x-ratelimit-limit")
    {
        quota.write_headers(response.headers_mut());
    }
    response
}

/// Adds the headers that disclose an action by an agent and the confirmation it requires
/// (docs/contract/authentication.md#transparency-headers).
fn disclosure_headers(headers: &mut HeaderMap, tool: Option<&RegisteredTool>) {
    let yes = HeaderValue::from_static("true");
    headers.insert("x-ai-agent-initiated", yes.clone());
    if tool.is_some_and(|tool| tool.entry.confirmation == Confirmation::Required) {
        headers.insert("x-human-confirmation-required", yes);
    }
}

/// A successful JSON-RPC response: the output as text and as structured content.
#[derive(Serialize)]
struct ToolResponse<'output> {
    jsonrpc: &'static str,
    id: &'output Value,
    result: ToolResult<'output>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult<'output> {
    content: [TextContent<'output>; 1],
    structured_content: &'output RawValue,
    is_error: bool,
}

#[derive(Serialize)]
struct TextContent<'output> {
    r#type: &'static str,
    text: &'output str,
}

/// Returns the body of the response to a successful tool call. The output is serialized once.
fn success_body(id: &Value, output: &Value) -> Result<String, Failure> {
    let text = serde_json::value::to_raw_value(output).map_err(UnserializableOutput)?;
    let content = [TextContent { r#type: "text", text: text.get() }];
    let result = ToolResult { content, structured_content: &text, is_error: false };
    let response = ToolResponse { jsonrpc: "2.0", id, result };
    Ok(serde_json::to_string(&response).map_err(UnserializableOutput)?)
}
