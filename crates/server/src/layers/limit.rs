//! How much a request may bring and how long it may take.

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
use super::{Asked, Stopped};

/// The limits.
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
    /// How long the body of an upload may stand still.
    pub(crate) const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(30);
}

pub(crate) async fn limit(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let is_upload = (limits.is_upload)(request.method(), request.uri().path());
    let bytes_max = if is_upload {
        limits.upload_bytes_max
    } else {
        limits.body_bytes_max.try_into().unwrap_or(u64::MAX)
    };
    let asked = Asked::of(&request);
    if announced(&request).is_some_and(|bytes| bytes > bytes_max) {
        return asked.refuse(Stopped::TooLarge(bytes_max));
    }
    if is_upload {
        return upload(&limits, &asked, request, next).await;
    }
    // A body that announces no length is cut off where the limit is.
    let request = request.map(|body| Body::new(Limited::new(body, limits.body_bytes_max)));
    match tokio::time::timeout(limits.request_max, next.run(request)).await {
        Ok(response) => response,
        Err(_) => asked.refuse(Stopped::TooLong),
    }
}

fn announced(request: &Request) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A panic in a handler is an internal error to its caller, and to nobody else.
pub(crate) async fn guard_panics(request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => asked.refuse(Stopped::Panicked),
    }
}
