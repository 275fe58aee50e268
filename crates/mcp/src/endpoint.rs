//! HTTP and JSON-RPC in. What rmcp would answer in plain text or not at all is answered here.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request};
use axum::response::Response;
use axum::{Extension, Router, routing};
use database::Database;
use http_body_util::Full;
use merchants::{Store, StoreCache};
use primitives::{Details, ErrorCode, Failure, Problem, RequestId, StoreSlug};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use search::Search;
use serde_json::Value;
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::card;
#[cfg(debug_assertions)]
use crate::conformance::{self, Conformance};
use crate::refusal::{Speech, fault, log, refuse};
use crate::tool::{Confirmation, ToolSet};
use crate::tools;
use crate::wire::{Visit, Wire};

/// JSON-RPC's names for what is wrong with a request.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const INVALID_PARAMS: i64 = -32602;

/// What the endpoint stands on.
#[derive(Clone)]
pub struct Mcp {
    /// The database.
    pub database: Database,
    /// Stores by slug.
    pub stores: StoreCache,
    /// Products by words.
    pub search: Search,
    /// Where this service is reached.
    pub site_url: Arc<str>,
    /// Names this service may be addressed by; others are refused, because a browser may have been
    /// tricked into sending them (DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Origins whose browser pages may call.
    pub allowed_origins: Vec<String>,
}

type Service = StreamableHttpService<Wire, NeverSessionManager>;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) stores: StoreCache,
    pub(crate) site_url: Arc<str>,
    service: Service,
    #[cfg(debug_assertions)]
    fixtures: StreamableHttpService<Conformance, NeverSessionManager>,
}

/// The endpoint, in both address forms (spec §4.2).
pub fn router(mcp: Mcp) -> Router {
    let wire =
        Wire { database: mcp.database, search: mcp.search, site_url: Arc::clone(&mcp.site_url) };
    let cors = cors(mcp.allowed_origins.clone());
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_keep_alive(None)
        .with_allowed_hosts(mcp.allowed_hosts)
        .with_allowed_origins(mcp.allowed_origins)
        .enforce_origin_validation();
    let endpoint = Endpoint {
        stores: mcp.stores,
        site_url: mcp.site_url,
        #[cfg(debug_assertions)]
        fixtures: StreamableHttpService::new(|| Ok(Conformance), Arc::default(), config.clone()),
        service: Service::new(move || Ok(wire.clone()), Arc::default(), config),
    };
    let methods = || routing::post(post).fallback(only_post);
    Router::new()
        .route("/{slug}/mcp", methods())
        .route("/api/v1/{slug}/mcp", methods())
        .layer(cors)
        .route("/{slug}/mcp/server-card", routing::get(card::card))
        .with_state(endpoint)
}

/// Pages of these origins may call from a browser.
fn cors(allowed: Vec<String>) -> CorsLayer {
    let may_call = move |origin: &HeaderValue, _: &request::Parts| {
        origin.to_str().is_ok_and(|origin| allowed.iter().any(|known| is_same(origin, known)))
    };
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

/// Whether two origins are one: a browser leaves out the port its scheme implies.
fn is_same(origin: &str, known: &str) -> bool {
    let port = if origin.starts_with("https://") { ":443" } else { ":80" };
    origin == known || known.strip_suffix(port) == Some(origin)
}

/// Stateless: there is no stream to open and no session to end.
async fn only_post(Extension(request_id): Extension<RequestId>, headers: HeaderMap) -> Response {
    let failure = Failure::from(OnlyPost);
    let mut response = refuse(&failure, &Value::Null, &request_id, Speech::of(&headers));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

async fn post(
    State(endpoint): State<Endpoint>,
    Path(slug): Path<String>,
    Extension(request_id): Extension<RequestId>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let speech = Speech::of(&parts.headers);
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        // The server's limit on bodies cut it off.
        return refuse(&TooLarge.into(), &Value::Null, &request_id, speech);
    };
    let asked = match read(&body) {
        Ok(asked) => asked,
        Err(wrong) => return fault(&wrong.id, wrong.code, wrong.sentence),
    };
    #[cfg(debug_assertions)]
    if slug == conformance::SLUG {
        let answer = endpoint.fixtures.handle(completed(parts, body, &asked)).await;
        return in_json(answer.map(Body::new), &asked.id).await;
    }
    let mut response = match resolve(&endpoint, &slug, &parts).await {
        Ok((store, sets)) => {
            let visit = Visit { store, request_id, sets, failure: Arc::default() };
            forward(&endpoint, parts, body, visit, speech, &asked).await
        }
        Err(failure) => {
            log(&failure, &request_id);
            refuse(&failure, &asked.id, &request_id, speech)
        }
    };
    transparent(response.headers_mut(), &asked);
    response
}

/// Says what kind of action this was (spec §5.6): whoever calls here is an agent.
fn transparent(headers: &mut HeaderMap, asked: &Asked) {
    let yes = HeaderValue::from_static("true");
    headers.insert("x-ai-agent-initiated", yes.clone());
    let tool = asked.tool.as_deref().and_then(tools::find);
    if tool.is_some_and(|known| known.entry.confirmation == Confirmation::Required) {
        headers.insert("x-human-confirmation-required", yes);
    }
}

/// What of a JSON-RPC request the endpoint needs to know.
struct Asked {
    id: Value,
    initializes: bool,
    /// The tool, if one is called.
    tool: Option<String>,
}

/// What is wrong with a request, under its id if it has one.
struct Wrong {
    id: Value,
    code: i64,
    sentence: &'static str,
}

/// Reads a JSON-RPC request, or says what is wrong with it.
fn read(body: &Bytes) -> Result<Asked, Wrong> {
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return Err(Wrong { id: Value::Null, code: PARSE_ERROR, sentence: "the body is not JSON" });
    };
    let id = match &message["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id.clone(),
        _ => Value::Null,
    };
    match judge(&message) {
        Ok(()) => {
            let is = |method: &str| message["method"] == method;
            let tool = message["params"]["name"].as_str().filter(|_| is("tools/call"));
            Ok(Asked { id, initializes: is("initialize"), tool: tool.map(str::to_owned) })
        }
        Err((code, sentence)) => Err(Wrong { id, code, sentence }),
    }
}

/// Whether it is a request at all.
fn judge(message: &Value) -> Result<(), (i64, &'static str)> {
    if message.is_array() {
        return Err((INVALID_REQUEST, "batches are not served; send one request at a time"));
    }
    if message["jsonrpc"] != "2.0" || !message["method"].is_string() {
        return Err((INVALID_REQUEST, "the body is not a JSON-RPC 2.0 request"));
    }
    match message.get("id") {
        None | Some(Value::String(_) | Value::Number(_)) => judge_params(message),
        Some(_) => Err((INVALID_REQUEST, "the id of a request is a string or a number")),
    }
}

/// Whether a request has the parameters its method needs. rmcp would take it for another method.
fn judge_params(message: &Value) -> Result<(), (i64, &'static str)> {
    let fault = |sentence| Err((INVALID_PARAMS, sentence));
    let params = &message["params"];
    if !params.is_null() && !params.is_object() {
        return fault("params must be an object");
    }
    match message["method"].as_str().unwrap_or_default() {
        "tools/call" if !params["name"].is_string() => {
            fault("params.name must be the name of a tool; tools/list has them")
        }
        "tools/call" if !(params["arguments"].is_null() || params["arguments"].is_object()) => {
            fault("params.arguments must be an object")
        }
        "resources/read" if !params["uri"].is_string() => {
            fault("params.uri must be the address of a resource; resources/list has them")
        }
        "prompts/get" if !params["name"].is_string() => {
            fault("params.name must be the name of a prompt; prompts/list has them")
        }
        _ => Ok(()),
    }
}

async fn resolve(
    endpoint: &Endpoint,
    slug: &str,
    parts: &request::Parts,
) -> Result<(Arc<Store>, Arc<[ToolSet]>), Failure> {
    let slug: StoreSlug = slug.parse()?;
    let store = endpoint.stores.admit(&slug).await?;
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

/// Hands the request to rmcp, and renders a tool's failure for those who speak plain HTTP.
async fn forward(
    endpoint: &Endpoint,
    mut parts: request::Parts,
    body: Bytes,
    visit: Visit,
    speech: Speech,
    asked: &Asked,
) -> Response {
    parts.extensions.insert(visit.clone());
    let answer = endpoint.service.handle(completed(parts, body, asked)).await;
    match take(&visit.failure) {
        Some(failure) if speech == Speech::Plain => {
            refuse(&failure, &asked.id, &visit.request_id, speech)
        }
        _ => in_json(answer.map(Body::new), &asked.id).await,
    }
}

/// The request with what rmcp insists on.
fn completed(mut parts: request::Parts, body: Bytes, asked: &Asked) -> http::Request<Full<Bytes>> {
    // rmcp answers 406 unless both are accepted; the specification's examples send neither.
    let both = HeaderValue::from_static("application/json, text/event-stream");
    parts.headers.insert(header::ACCEPT, both);
    // A plain caller names no version; it means the one the specification conforms to. A client that
    // initializes has none yet: negotiating it is what the call is for.
    if !asked.initializes {
        let version = HeaderValue::from_static("2025-11-25");
        parts.headers.entry("mcp-protocol-version").or_insert(version);
    }
    http::Request::from_parts(parts, Full::new(body))
}

/// rmcp refuses a foreign host or origin, or an unknown version, in plain text; a client expects JSON.
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
    let mut response = fault(id, INVALID_REQUEST, &String::from_utf8_lossy(&text));
    // A body that rmcp cannot read is a fault of the protocol like any other.
    let is_unreadable = status == StatusCode::UNSUPPORTED_MEDIA_TYPE;
    *response.status_mut() = if is_unreadable { StatusCode::BAD_REQUEST } else { status };
    response
}

fn take(slot: &Mutex<Option<Failure>>) -> Option<Failure> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).take()
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
