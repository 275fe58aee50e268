//! The HTTP endpoint: HTTP and JSON-RPC in and out. Requests that rmcp would answer in plain text or not at all are answered
//! here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing};
use database::Database;
use http_body_util::Full;
use identity::CredentialStore;
use limits::{AdmissionControl, QuotaDecision};
use merchants::StoreCache;
use primitives::{Failure, RequestId};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use search::Search;
use serde_json::{Value, json};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

#[cfg(debug_assertions)]
use crate::conformance::{self, Conformance};
use crate::error::{BodyTooLarge, MethodNotAllowed};
use crate::error_response::{ErrorFormat, json_rpc_error, log, protocol_error, render};
use crate::gateway::{Admitted, Rejected};
use crate::message::{INVALID_REQUEST, Message};
use crate::origin_policy::OriginPolicy;
use crate::rmcp_adapter::{RmcpAdapter, VERSIONS};
use crate::tool::Confirmation;
use crate::tools::RegisteredTool;
use crate::{card, fast_path, gateway};

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
    /// Accepted values of the `Host` header; others are rejected as protection against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may call from a browser.
    pub allowed_origins: Vec<String>,
}

type Service = StreamableHttpService<RmcpAdapter, NeverSessionManager>;

pub(crate) struct Endpoint {
    pub(crate) app: Arc<Mcp>,
    origin_policy: OriginPolicy,
    service: Service,
    #[cfg(debug_assertions)]
    fixtures: StreamableHttpService<Conformance, NeverSessionManager>,
}

/// Returns the routes of the endpoint, in both address forms (docs/contract/mcp.md#addresses).
pub fn router(mcp: Mcp) -> Router {
    let origin_policy = OriginPolicy::new(&mcp.allowed_hosts, &mcp.allowed_origins);
    // Hosts and origins are checked by the endpoint, for the fast path as well.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let endpoint = Endpoint {
        app: Arc::new(mcp),
        origin_policy: origin_policy.clone(),
        #[cfg(debug_assertions)]
        fixtures: StreamableHttpService::new(|| Ok(Conformance), Arc::default(), config.clone()),
        service: Service::new(|| Ok(RmcpAdapter), Arc::default(), config),
    };
    let methods = || routing::post(post).fallback(method_not_allowed);
    Router::new()
        .route("/{slug}/mcp", methods())
        .route("/api/v1/{slug}/mcp", methods())
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

async fn post(
    State(endpoint): State<Arc<Endpoint>>,
    Path(slug): Path<String>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let format = ErrorFormat::of(&parts.headers);
    if let Err(reason) = endpoint.origin_policy.check(&parts.uri, &parts.headers) {
        let mut response = protocol_error(&Value::Null, INVALID_REQUEST, reason);
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        // The body exceeds the limit of the server.
        return render(&BodyTooLarge.into(), &Value::Null, &request_id, format);
    };
    let mut message = match Message::parse(&body) {
        Ok(message) => message,
        Err(invalid) => return protocol_error(&invalid.id, invalid.code, invalid.message),
    };
    #[cfg(debug_assertions)]
    if slug == conformance::SLUG {
        let answer = endpoint.fixtures.handle(rmcp_request(parts, body, &message)).await;
        return ensure_json(answer.map(Body::new), &message.id).await;
    }
    let outcome = if message.is_notification() {
        accept_notification(&endpoint, parts, body, &message).await
    } else if message.is_plain_call(&parts.headers) {
        call(&endpoint, &slug, &parts, &mut message, &request_id).await
    } else {
        forward(&endpoint, &slug, parts, body, &message, &request_id).await
    };
    let mut response = outcome.unwrap_or_else(|rejected| {
        log(&rejected.failure, &request_id);
        let response = render(&rejected.failure, &message.id, &request_id, format);
        with_quota(response, rejected.quota)
    });
    disclosure_headers(response.headers_mut(), message.tool);
    response
}

/// Accepts a notification after authentication. It has no effect: no store is resolved, and it uses no quota.
async fn accept_notification(
    endpoint: &Endpoint,
    parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> Result<Response, Rejected> {
    gateway::authenticate(&endpoint.app, &parts).await?;
    let answer = endpoint.service.handle(rmcp_request(parts, body, message)).await;
    Ok(ensure_json(answer.map(Body::new), &message.id).await)
}

/// Answers a tool call without rmcp.
async fn call(
    endpoint: &Endpoint,
    slug: &str,
    parts: &request::Parts,
    message: &mut Message,
    request_id: &RequestId,
) -> Result<Response, Rejected> {
    let (admitted, outcome) =
        gateway::admit_and_call(&endpoint.app, slug, parts, message, request_id).await?;
    let response = fast_path::render(&admitted.context, &message.id, outcome);
    Ok(with_quota(response, admitted.context.quota))
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
    let answer = endpoint.service.handle(rmcp_request(parts, body, message)).await;
    let response = ensure_json(answer.map(Body::new), &message.id).await;
    Ok(with_quota(response, quota))
}

/// Adds the rate limit headers.
fn with_quota(mut response: Response, quota: Option<QuotaDecision>) -> Response {
    if let Some(quota) = quota {
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

/// Builds the request for rmcp, with the headers that rmcp requires.
fn rmcp_request(
    mut parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> http::Request<Full<Bytes>> {
    // rmcp answers 406 unless both are accepted; clients need not send them (docs/contract/mcp.md#accept-header).
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    // A plain HTTP caller states no version: it uses the first of docs/contract/mcp.md#protocol-versions. A client that
    // initializes has none yet: it is negotiated by this call.
    if message.method != "initialize" {
        let version = HeaderValue::from_static("2025-11-25");
        parts.headers.entry("mcp-protocol-version").or_insert(version);
    }
    http::Request::from_parts(parts, Full::new(body))
}

/// Converts plain-text errors of rmcp, such as that for an unknown protocol version, to JSON-RPC errors.
async fn ensure_json(answer: Response, id: &Value) -> Response {
    let is_text = answer
        .headers()
        .get(header::CONTENT_TYPE)
        .is_none_or(|value| value.as_bytes().starts_with(b"text/plain"));
    if !answer.status().is_client_error() || !is_text {
        return answer;
    }
    let status = answer.status();
    let text = axum::body::to_bytes(answer.into_body(), 1_024).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let is_version = text.to_ascii_lowercase().contains("protocol-version");
    let supported: Vec<&str> = VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    let data = is_version.then(|| json!({ "supported": supported }));
    let body = json_rpc_error(id, INVALID_REQUEST, &text, data);
    let mut response = (status, axum::Json(body)).into_response();
    // A body that rmcp cannot parse is a protocol error like any other.
    let is_invalid_body = status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    *response.status_mut() = if is_invalid_body { StatusCode::BAD_REQUEST } else { status };
    response
}
