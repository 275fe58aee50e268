//! Writes one log line and records metrics per request.

use std::time::Instant;

use axum::extract::{MatchedPath, RawPathParams, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method};
use primitives::{ErrorCode, RecordedRequest, RequestId, RequestRecord, StoreSlug};

/// The header that marks a request as initiated by an AI agent
/// (docs/contract/authentication.md#transparency-headers).
const AGENT_INITIATED: &str = "x-ai-agent-initiated";

fn is_agent_initiated(headers: &HeaderMap) -> bool {
    headers.get(AGENT_INITIATED).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// The matched route of a request.
#[derive(Debug, Clone)]
struct Route {
    /// Such as `/{slug}/mcp`.
    template: MatchedPath,
    /// Slug of the store in the path.
    store: Option<StoreSlug>,
}

/// Records the matched route in the response; runs inside the router, where the route is known.
pub(crate) async fn record_route(
    template: MatchedPath,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let slug = parameters.iter().find(|(name, _)| *name == "slug").map(|(_, slug)| slug);
    let store = slug.and_then(|slug| slug.parse().ok());
    let mut response = next.run(request).await;
    response.extensions_mut().insert(Route { template, store });
    response
}

/// Returns the method as a metric label; non-standard methods share one label.
fn method_label(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => name,
        _ => "other",
    }
}

/// Records metrics and logs the request, with what the doors recorded of it. Labels are route templates and standard methods, so their number is bounded. The
/// path itself is not logged: it contains ids of carts, checkouts and confirmations, and whoever knows one can use it.
pub(crate) async fn observe(mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let id = request.extensions().get::<RequestId>().cloned();
    let by_agent = is_agent_initiated(request.headers());
    let record = RequestRecord::default();
    request.extensions_mut().insert(record.clone());
    let mut response = next.run(request).await;
    if by_agent {
        response.headers_mut().insert(AGENT_INITIATED, HeaderValue::from_static("true"));
    }
    // MCP endpoints mark every response.
    let by_agent = by_agent || is_agent_initiated(response.headers());
    let seconds = started.elapsed().as_secs_f64();
    let matched = response.extensions().get::<Route>();
    let route = matched.map_or("unknown", |route| route.template.as_str()).to_owned();
    let in_path = matched.and_then(|route| route.store.clone());
    let status = response.status().as_u16();
    let labels = [
        ("method", method_label(&method).to_owned()),
        ("route", route.clone()),
        ("status", status.to_string()),
        ("by_agent", by_agent.to_string()),
    ];
    metrics::counter!("souk_http_requests_total", &labels).increment(1);
    metrics::histogram!("souk_http_request_seconds", "route" => route.clone()).record(seconds);
    let request_id = id.as_ref().map_or("", RequestId::as_str);
    let milliseconds = (seconds * 1_000_000.0).round() / 1_000.0;
    let RecordedRequest { tool, store, key, error } = record.read();
    let store = in_path.or(store);
    let (store, key) = (store.as_ref().map(StoreSlug::as_str), key.map(|key| key.to_string()));
    // Pages for people carry the code of their error.
    let error = error.or_else(|| response.extensions().get::<ErrorCode>().copied());
    let error = error.map(ErrorCode::code);
    tracing::info!(
        target: "souk::access",
        request_id, %method, route, store, tool, key, status, error, milliseconds, by_agent
    );
    response
}
