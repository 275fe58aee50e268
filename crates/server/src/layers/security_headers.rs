//! Adds security headers to every response, and `Connection: close` while the process drains.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Version;
use http::header::{
    CONNECTION, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY,
    STRICT_TRANSPORT_SECURITY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use tokio::sync::watch;

const ALWAYS: [(HeaderName, &str); 4] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    // A page that needs a weaker policy sets its own.
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

/// Adds the headers that the response does not already have.
pub(crate) async fn security_headers(
    State(tls): State<bool>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if tls {
        let value = HeaderValue::from_static("max-age=31536000");
        headers.entry(STRICT_TRANSPORT_SECURITY).or_insert(value);
    }
    response
}

/// Asks clients to close their connections while the process drains, so that none is idle when the
/// listener closes. For HTTP/2, hyper sends GOAWAY instead.
pub(crate) async fn close_while_draining(
    State(draining): State<watch::Receiver<bool>>,
    request: Request,
    next: Next,
) -> Response {
    let is_http1 = request.version() <= Version::HTTP_11;
    let mut response = next.run(request).await;
    if is_http1 && *draining.borrow() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
