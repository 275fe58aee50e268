//! Headers that keep browsers from doing harm, and one that asks clients to leave.

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
    // A page that needs more says so itself.
    (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
];

pub(crate) async fn secure(State(tls): State<bool>, request: Request, next: Next) -> Response {
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

/// While the process drains, every answer asks its client to close the connection, so that none is
/// left idle when the listener closes. HTTP/2 has its own way, which hyper takes.
pub(crate) async fn close_when_draining(
    State(draining): State<watch::Receiver<bool>>,
    request: Request,
    next: Next,
) -> Response {
    let is_old = request.version() <= Version::HTTP_11;
    let mut response = next.run(request).await;
    if is_old && *draining.borrow() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}
