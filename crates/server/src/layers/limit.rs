//! Limits the body size and the duration of requests.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt;
use http::Method;
use http::header::CONTENT_LENGTH;
use http_body_util::Limited;

use super::upload::upload;
use super::{ErrorResponder, LayerError};

/// The limits of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) body_bytes_max: usize,
    pub(crate) request_max: Duration,
    pub(crate) upload_bytes_max: u64,
    pub(crate) upload_idle_max: Duration,
    /// Whether a request is an upload, by its method and path.
    pub(crate) is_upload: fn(&Method, &str) -> bool,
}

impl Limits {
    /// Maximum time without new data in the body of an upload.
    pub(crate) const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(30);
}

/// Enforces the limits.
pub(crate) async fn limit(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let is_upload = (limits.is_upload)(request.method(), request.uri().path());
    let bytes_max = if is_upload {
        limits.upload_bytes_max
    } else {
        limits.body_bytes_max.try_into().unwrap_or(u64::MAX)
    };
    let responder = ErrorResponder::new(&request);
    if content_length(&request).is_some_and(|bytes| bytes > bytes_max) {
        return responder.respond(LayerError::BodyTooLarge(bytes_max));
    }
    if is_upload {
        return upload(&limits, &responder, request, next).await;
    }
    // A body without Content-Length is aborted at the limit.
    let request = request.map(|body| Body::new(Limited::new(body, limits.body_bytes_max)));
    match tokio::time::timeout(limits.request_max, next.run(request)).await {
        Ok(response) => response,
        Err(_) => responder.respond(LayerError::Timeout),
    }
}

fn content_length(request: &Request) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Turns a panic in a handler into an internal error of that request alone.
pub(crate) async fn catch_panics(request: Request, next: Next) -> Response {
    let responder = ErrorResponder::new(&request);
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => responder.respond(LayerError::HandlerPanicked),
    }
}
