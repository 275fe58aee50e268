//! The HTTP endpoint. Requests that rmcp would answer in plain text or not at all are answered here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing};
use database::Database;
use http_body_util::Full;
use identity::{Agent, CredentialStore};
use limits::AdmissionControl;
use merchants::{Store, StoreCache};
use primitives::{ClientAddress, Details, ErrorCode, Failure, Problem, RequestId, StoreSlug};
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use search::Search;
use serde_json::{Value, json};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::admission::{Admission, Admitted};
use crate::card;
#[cfg(debug_assertions)]
use crate::conformance::{self, Conformance};
use crate::error_response::{ErrorFormat, json_rpc_error, log, protocol_error, render};
use crate::message::{INVALID_REQUEST, Message};
use crate::origin_policy::OriginPolicy;
use crate::rmcp_adapter::{RmcpAdapter, VERSIONS, Visit};
use crate::tool::{Confirmation, KEY_ARGUMENT, ToolSet};
use crate::{fast_path, gateway, tools};

/// Dependencies and configuration of the endpoint.
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
    pub(crate) stores: StoreCache,
    pub(crate) adapter: RmcpAdapter,
    pub(crate) admission: Admission,
    origin_policy: OriginPolicy,
    service: Service,
    #[cfg(debug_assertions)]
    fixtures: StreamableHttpService<Conformance, NeverSessionManager>,
}

/// Returns the routes of the endpoint, in both address forms (spec §4.2).
pub fn router(mcp: Mcp) -> Router {
    let adapter = RmcpAdapter {
        database: mcp.database,
        stores: mcp.stores.clone(),
        credentials: mcp.credentials.clone(),
        search: mcp.search,
        site_url: mcp.site_url,
    };
    let origin_policy = OriginPolicy::new(&mcp.allowed_hosts, &mcp.allowed_origins);
    // Hosts and origins are checked by the endpoint, for the fast path as well.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let endpoint = Endpoint {
        stores: mcp.stores,
        adapter: adapter.clone(),
        admission: Admission { credentials: mcp.credentials, control: mcp.admission },
        origin_policy: origin_policy.clone(),
        #[cfg(debug_assertions)]
        fixtures: StreamableHttpService::new(|| Ok(Conformance), Arc::default(), config.clone()),
        service: Service::new(move || Ok(adapter.clone()), Arc::default(), config),
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
    let message = match Message::parse(&body) {
        Ok(message) => message,
        Err(invalid) => return protocol_error(&invalid.id, invalid.code, invalid.message),
    };
    #[cfg(debug_assertions)]
    if slug == conformance::SLUG {
        let answer = endpoint.fixtures.handle(rmcp_request(parts, body, &message)).await;
        return ensure_json(answer.map(Body::new), &message.id).await;
    }
    let confirmation = message.tool().and_then(tools::find).map(|tool| tool.entry.confirmation);
    if message.id.is_null() {
        // A notification has no effect: no store is resolved, and it uses no quota.
        return accept_notification(&endpoint, parts, body, &message, &request_id).await;
    }
    let (outcome, admitted) = admit(&endpoint, &slug, &parts, &message).await;
    let mut response = match outcome {
        Ok(opened) => {
            let Opened { store, agent, sets } = opened;
            let limit_exceeded = admitted.as_ref().and_then(|admitted| admitted.limit_exceeded);
            let client_address = parts.extensions.get::<ClientAddress>().copied();
            let raw_idempotency_key = idempotency_key(&parts.headers, &message);
            let visit = Visit {
                store,
                agent,
                limit_exceeded,
                client_address,
                raw_idempotency_key,
                request_id,
                sets,
            };
            if fast_path::can_answer(&message, &parts.headers) {
                fast_path::answer(&endpoint.adapter, &visit, message, format).await
            } else {
                forward(&endpoint, parts, body, visit, &message).await
            }
        }
        Err(failure) => {
            log(&failure, &request_id);
            render(&failure, &message.id, &request_id, format)
        }
    };
    if let Some(decision) = admitted.and_then(|admitted| admitted.decision) {
        decision.write_headers(response.headers_mut());
    }
    disclosure_headers(response.headers_mut(), confirmation);
    response
}

/// Accepts a notification after authentication.
async fn accept_notification(
    endpoint: &Endpoint,
    parts: request::Parts,
    body: Bytes,
    message: &Message,
    request_id: &RequestId,
) -> Response {
    let format = ErrorFormat::of(&parts.headers);
    let mut response = match endpoint.admission.agent(&parts).await {
        Ok(_) => {
            let answer = endpoint.service.handle(rmcp_request(parts, body, message)).await;
            ensure_json(answer.map(Body::new), &message.id).await
        }
        Err(error) => render(&error.into(), &message.id, request_id, format),
    };
    disclosure_headers(response.headers_mut(), None);
    response
}

/// An admitted request.
struct Opened {
    store: Arc<Store>,
    agent: Option<Arc<Agent>>,
    sets: Arc<[ToolSet]>,
}

/// Checks credential, quota, store and scope, in this order: an invalid credential learns nothing about stores, and a
/// request for a store that does not exist uses quota like any other.
async fn admit(
    endpoint: &Endpoint,
    slug: &str,
    parts: &request::Parts,
    message: &Message,
) -> (Result<Opened, Failure>, Option<Admitted>) {
    let agent = match endpoint.admission.agent(parts).await {
        Ok(agent) => agent,
        Err(error) => return (Err(error.into()), None),
    };
    let slug = slug.parse::<StoreSlug>();
    let tool = message.tool().and_then(tools::find);
    let permit = endpoint.admission.admit(agent.as_deref(), parts, slug.as_ref().ok(), tool).await;
    let admitted = match permit {
        Ok(admitted) => admitted,
        Err(error) => return (Err(error.into()), None),
    };
    let resolved = match slug {
        Ok(slug) => resolve(endpoint, &slug, parts).await,
        Err(error) => Err(error.into()),
    };
    let opened = resolved.and_then(|(store, sets)| {
        if let Some(agent) = &agent {
            agent.require_store(store.merchant)?;
        }
        if let Some(tool) = tool {
            gateway::authorize(tool, &store, agent.as_deref())?;
        }
        Ok(Opened { store, agent, sets })
    });
    (opened, Some(admitted))
}

/// Returns the idempotency key in `_meta` or else in the header. A value that is not text becomes an empty key, which every
/// writing tool rejects.
fn idempotency_key(headers: &HeaderMap, message: &Message) -> Option<String> {
    let meta = message.params.get("_meta").and_then(|meta| meta.get(KEY_ARGUMENT));
    let in_meta = meta.map(|key| key.as_str().unwrap_or_default().to_owned());
    let header = headers.get("idempotency-key");
    in_meta.or_else(|| header.map(|key| key.to_str().unwrap_or_default().to_owned()))
}

/// Adds the headers that disclose an action by an agent and the confirmation it requires (spec §5.6).
fn disclosure_headers(headers: &mut HeaderMap, confirmation: Option<Confirmation>) {
    let yes = HeaderValue::from_static("true");
    headers.insert("x-ai-agent-initiated", yes.clone());
    if confirmation == Some(Confirmation::Required) {
        headers.insert("x-human-confirmation-required", yes);
    }
}

/// Returns the store of the request and the tool sets to list.
async fn resolve(
    endpoint: &Endpoint,
    slug: &StoreSlug,
    parts: &request::Parts,
) -> Result<(Arc<Store>, Arc<[ToolSet]>), Failure> {
    let store = endpoint.stores.admit(slug).await?;
    let json = parts
        .headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.to_ascii_lowercase().starts_with("application/json"));
    if json {
        Ok((store, tool_sets(parts.uri.query())?))
    } else {
        Err(UnsupportedContentType.into())
    }
}

/// Parses the tool sets in `?tools=discovery,cart`.
fn tool_sets(query: Option<&str>) -> Result<Arc<[ToolSet]>, UnknownToolSet> {
    let pairs = query.unwrap_or_default().split('&');
    let named = pairs.filter_map(|pair| pair.strip_prefix("tools=")).flat_map(|names| {
        names.split([',', '+']).flat_map(|name| name.split("%2C")).filter(|name| !name.is_empty())
    });
    named.map(|name| ToolSet::parse(name).ok_or(UnknownToolSet)).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("unknown tool set in the query parameter tools")]
struct UnknownToolSet;

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

/// Forwards the request to rmcp.
async fn forward(
    endpoint: &Endpoint,
    mut parts: request::Parts,
    body: Bytes,
    visit: Visit,
    message: &Message,
) -> Response {
    parts.extensions.insert(visit);
    let answer = endpoint.service.handle(rmcp_request(parts, body, message)).await;
    ensure_json(answer.map(Body::new), &message.id).await
}

/// Builds the request for rmcp, with the headers that rmcp requires.
fn rmcp_request(
    mut parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> http::Request<Full<Bytes>> {
    // rmcp answers 406 unless both are accepted; the specification's examples send neither.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    // A plain HTTP caller states no version: it uses the one of the specification. A client that initializes has none
    // yet: it is negotiated by this call.
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

#[derive(Debug, thiserror::Error)]
#[error("the endpoint is stateless and accepts only POST")]
struct MethodNotAllowed;

impl Problem for MethodNotAllowed {
    fn code(&self) -> ErrorCode {
        ErrorCode::MethodNotAllowed
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the body exceeds the size limit")]
struct BodyTooLarge;

impl Problem for BodyTooLarge {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the header Content-Type: application/json is required")]
struct UnsupportedContentType;

impl Problem for UnsupportedContentType {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }
}
