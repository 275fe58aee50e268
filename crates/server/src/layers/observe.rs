//! One log line and one count per request.

use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Method};
use primitives::RequestId;

/// By which a request says that an agent made it (spec §5.6).
const AGENT: &str = "x-ai-agent-initiated";

fn says_true(headers: &HeaderMap) -> bool {
    headers.get(AGENT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"))
}

/// Notes which route a request took; runs inside the router, where that is known.
pub(crate) async fn note_route(path: MatchedPath, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.extensions_mut().insert(path);
    response
}

/// The name of a method as a label: callers may invent others.
fn known(method: &Method) -> &str {
    match method.as_str() {
        name @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => name,
        _ => "other",
    }
}

/// Counts and logs. Labels are route templates and known methods, so their number is bounded whatever callers send.
pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let id = request.extensions().get::<RequestId>().cloned();
    let path = request.uri().path().to_owned();
    let by_agent = says_true(request.headers());
    let mut response = next.run(request).await;
    if by_agent {
        response.headers_mut().insert(AGENT, HeaderValue::from_static("true"));
    }
    // The doors for agents say it of everybody who calls there.
    let by_agent = by_agent || says_true(response.headers());
    let seconds = began.elapsed().as_secs_f64();
    let route = response.extensions().get::<MatchedPath>();
    let route = route.map_or("unknown", MatchedPath::as_str).to_owned();
    let status = response.status().as_u16();
    let labels = [
        ("method", known(&method).to_owned()),
        ("route", route.clone()),
        ("status", status.to_string()),
        ("by_agent", by_agent.to_string()),
    ];
    metrics::counter!("souk_http_requests_total", &labels).increment(1);
    metrics::histogram!("souk_http_request_seconds", "route" => route).record(seconds);
    let request_id = id.as_ref().map_or("", RequestId::as_str);
    let milliseconds = (seconds * 1_000_000.0).round() / 1_000.0;
    tracing::info!(target: "souk::access", request_id, %method, path, status, milliseconds, by_agent);
    response
}
