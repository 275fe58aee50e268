//! HTTP and JSON-RPC in. What rmcp would answer in plain text or not at all is answered here.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing};
use database::Database;
use http_body_util::Full;
use identity::{Agent, Callers};
use limits::Gate;
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
use crate::message::{INVALID_REQUEST, Message};
use crate::refusal::{Speech, fault, fault_body, log, refuse};
use crate::tool::{Confirmation, KEY_ARGUMENT, ToolSet};
use crate::welcome::Welcome;
use crate::wire::{VERSIONS, Visit, Wire};
use crate::{direct, gateway, tools};

/// What the endpoint stands on.
#[derive(Clone)]
pub struct Mcp {
    /// The database.
    pub database: Database,
    /// Stores by slug.
    pub stores: StoreCache,
    /// Products by words.
    pub search: Search,
    /// Who calls.
    pub callers: Callers,
    /// How often they may.
    pub gate: Gate,
    /// Where this service is reached.
    pub site_url: Arc<str>,
    /// Names this service may be addressed by; others are refused, because a browser may have been
    /// tricked into sending them (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Origins whose browser pages may call.
    pub allowed_origins: Vec<String>,
}

type Service = StreamableHttpService<Wire, NeverSessionManager>;

pub(crate) struct Endpoint {
    pub(crate) stores: StoreCache,
    pub(crate) wire: Wire,
    pub(crate) admission: Admission,
    welcome: Welcome,
    service: Service,
    #[cfg(debug_assertions)]
    fixtures: StreamableHttpService<Conformance, NeverSessionManager>,
}

/// The endpoint, in both address forms (spec §4.2).
pub fn router(mcp: Mcp) -> Router {
    let wire = Wire {
        database: mcp.database,
        stores: mcp.stores.clone(),
        callers: mcp.callers.clone(),
        search: mcp.search,
        site_url: mcp.site_url,
    };
    let welcome = Welcome::new(&mcp.allowed_hosts, &mcp.allowed_origins);
    // Hosts and origins are checked here, for all ways a request may take.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let endpoint = Endpoint {
        stores: mcp.stores,
        wire: wire.clone(),
        admission: Admission { callers: mcp.callers, gate: mcp.gate },
        welcome: welcome.clone(),
        #[cfg(debug_assertions)]
        fixtures: StreamableHttpService::new(|| Ok(Conformance), Arc::default(), config.clone()),
        service: Service::new(move || Ok(wire.clone()), Arc::default(), config),
    };
    let methods = || routing::post(post).fallback(only_post);
    Router::new()
        .route("/{slug}/mcp", methods())
        .route("/api/v1/{slug}/mcp", methods())
        .layer(cors(welcome))
        .route("/{slug}/mcp/server-card", routing::get(card::card))
        .with_state(Arc::new(endpoint))
}

/// Pages of these origins may call from a browser.
fn cors(welcome: Welcome) -> CorsLayer {
    let may_call = move |origin: &HeaderValue, _: &request::Parts| welcome.has_origin(origin);
    CorsLayer::new()
        .allow_origin(AllowOrigin::predicate(may_call))
        .allow_methods([Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(EXPOSED.map(HeaderName::from_static))
        .max_age(Duration::from_hours(1))
}

/// What a page may read of an answer's head.
const EXPOSED: [&str; 7] = [
    "x-request-id",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-human-confirmation-required",
    "retry-after",
    "www-authenticate",
];

/// Stateless: there is no stream to open and no session to end.
async fn only_post(Extension(request_id): Extension<RequestId>, headers: HeaderMap) -> Response {
    let failure = Failure::from(OnlyPost);
    let mut response = refuse(&failure, &Value::Null, &request_id, Speech::of(&headers));
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
    let speech = Speech::of(&parts.headers);
    if let Err(sentence) = endpoint.welcome.check(&parts.uri, &parts.headers) {
        let mut response = fault(&Value::Null, INVALID_REQUEST, sentence);
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        // The server's limit on bodies cut it off.
        return refuse(&TooLarge.into(), &Value::Null, &request_id, speech);
    };
    let message = match Message::read(&body) {
        Ok(message) => message,
        Err(wrong) => return fault(&wrong.id, wrong.code, wrong.sentence),
    };
    #[cfg(debug_assertions)]
    if slug == conformance::SLUG {
        let answer = endpoint.fixtures.handle(completed(parts, body, &message)).await;
        return in_json(answer.map(Body::new), &message.id).await;
    }
    let confirmed = message.tool().and_then(tools::find).map(|known| known.entry.confirmation);
    if message.id.is_null() {
        // A notification asks for nothing: no store is looked for, and it counts for nothing.
        return notified(&endpoint, parts, body, &message, &request_id).await;
    }
    let (outcome, admitted) = open(&endpoint, &slug, &parts, &message).await;
    let mut response = match outcome {
        Ok(opened) => {
            let Opened { store, agent, sets } = opened;
            let limited = admitted.as_ref().and_then(|admitted| admitted.limited);
            let from = parts.extensions.get::<ClientAddress>().copied();
            let key = idempotency_key(&parts.headers, &message);
            let visit = Visit { store, agent, limited, from, key, request_id, sets };
            if direct::can_answer(&message, &parts.headers) {
                direct::answer(&endpoint.wire, &visit, message, speech).await
            } else {
                forward(&endpoint, parts, body, visit, &message).await
            }
        }
        Err(failure) => {
            log(&failure, &request_id);
            refuse(&failure, &message.id, &request_id, speech)
        }
    };
    if let Some(verdict) = admitted.and_then(|admitted| admitted.verdict) {
        verdict.write(response.headers_mut());
    }
    transparent(response.headers_mut(), confirmed);
    response
}

async fn notified(
    endpoint: &Endpoint,
    parts: request::Parts,
    body: Bytes,
    message: &Message,
    request_id: &RequestId,
) -> Response {
    let speech = Speech::of(&parts.headers);
    let mut response = match endpoint.admission.agent(&parts).await {
        Ok(_) => {
            let answer = endpoint.service.handle(completed(parts, body, message)).await;
            in_json(answer.map(Body::new), &message.id).await
        }
        Err(error) => refuse(&error.into(), &message.id, request_id, speech),
    };
    transparent(response.headers_mut(), None);
    response
}

/// What a request stands before.
struct Opened {
    store: Arc<Store>,
    agent: Option<Arc<Agent>>,
    sets: Arc<[ToolSet]>,
}

/// Caller, share, store, scope, in this order: a wrong credential says nothing of stores, and asking for stores
/// that do not exist is counted like any call.
async fn open(
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
    let share = endpoint.admission.enter(agent.as_deref(), parts, slug.as_ref().ok(), tool).await;
    let admitted = match share {
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
            gateway::may_call(tool, &store, agent.as_deref())?;
        }
        Ok(Opened { store, agent, sets })
    });
    (opened, Some(admitted))
}

/// The key that came beside the arguments. What is no text becomes an empty one, which no write takes.
fn idempotency_key(headers: &HeaderMap, message: &Message) -> Option<String> {
    let meta = message.params.get("_meta").and_then(|meta| meta.get(KEY_ARGUMENT));
    let in_meta = meta.map(|key| key.as_str().unwrap_or_default().to_owned());
    let header = headers.get("idempotency-key");
    in_meta.or_else(|| header.map(|key| key.to_str().unwrap_or_default().to_owned()))
}

/// Says what kind of action this was (spec §5.6): whoever calls here is an agent.
fn transparent(headers: &mut HeaderMap, confirmation: Option<Confirmation>) {
    let yes = HeaderValue::from_static("true");
    headers.insert("x-ai-agent-initiated", yes.clone());
    if confirmation == Some(Confirmation::Required) {
        headers.insert("x-human-confirmation-required", yes);
    }
}

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
    if json { Ok((store, sets(parts.uri.query())?)) } else { Err(NotJson.into()) }
}

/// The sets of tools named by `?tools=discovery,cart`.
fn sets(query: Option<&str>) -> Result<Arc<[ToolSet]>, UnknownSet> {
    let pairs = query.unwrap_or_default().split('&');
    let named = pairs.filter_map(|pair| pair.strip_prefix("tools=")).flat_map(|names| {
        names.split([',', '+']).flat_map(|name| name.split("%2C")).filter(|name| !name.is_empty())
    });
    named.map(|name| ToolSet::from_name(name).ok_or(UnknownSet)).collect()
}

#[derive(Debug, thiserror::Error)]
#[error("tools names a set of tools that does not exist")]
struct UnknownSet;

impl Problem for UnknownSet {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "tools");
        let names: Vec<&str> = ToolSet::ALL.iter().map(|(_, name)| *name).collect();
        details.insert("allowed", names);
    }
}

/// Hands the request to rmcp.
async fn forward(
    endpoint: &Endpoint,
    mut parts: request::Parts,
    body: Bytes,
    visit: Visit,
    message: &Message,
) -> Response {
    parts.extensions.insert(visit);
    let answer = endpoint.service.handle(completed(parts, body, message)).await;
    in_json(answer.map(Body::new), &message.id).await
}

/// The request with what rmcp insists on.
fn completed(
    mut parts: request::Parts,
    body: Bytes,
    message: &Message,
) -> http::Request<Full<Bytes>> {
    // rmcp answers 406 unless both are accepted; the specification's examples send neither.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    // A plain caller names no version; it means the one the specification conforms to. A client that
    // initializes has none yet: negotiating it is what the call is for.
    if message.method != "initialize" {
        let version = HeaderValue::from_static("2025-11-25");
        parts.headers.entry("mcp-protocol-version").or_insert(version);
    }
    http::Request::from_parts(parts, Full::new(body))
}

/// rmcp refuses an unknown version in plain text; a client expects JSON.
async fn in_json(answer: Response, id: &Value) -> Response {
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
    let served: Vec<&str> = VERSIONS.iter().map(ProtocolVersion::as_str).collect();
    let data = is_version.then(|| json!({ "supported": served }));
    let body = fault_body(id, INVALID_REQUEST, &text, data);
    let mut response = (status, axum::Json(body)).into_response();
    // A body that rmcp cannot read is a fault of the protocol like any other.
    let is_unreadable = status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    *response.status_mut() = if is_unreadable { StatusCode::BAD_REQUEST } else { status };
    response
}

#[derive(Debug, thiserror::Error)]
#[error("the endpoint is stateless: it takes POST and nothing else")]
struct OnlyPost;

impl Problem for OnlyPost {
    fn code(&self) -> ErrorCode {
        ErrorCode::MethodNotAllowed
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the body is larger than this server takes")]
struct TooLarge;

impl Problem for TooLarge {
    fn code(&self) -> ErrorCode {
        ErrorCode::PayloadTooLarge
    }
}

#[derive(Debug, thiserror::Error)]
#[error("send the request with the header Content-Type: application/json")]
struct NotJson;

impl Problem for NotJson {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }
}
