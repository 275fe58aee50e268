//! How much a request may bring and how long it may take.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt;
use http::header::CONTENT_LENGTH;
use http_body_util::Limited;

use super::{Asked, Stopped};

/// The limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) body_bytes_max: usize,
    pub(crate) request_max: Duration,
}

pub(crate) async fn limit(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    let announced = request
        .headers()
        .get(CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<usize>().ok());
    if announced.is_some_and(|bytes| bytes > limits.body_bytes_max) {
        return asked.refuse(Stopped::TooLarge(limits.body_bytes_max));
    }
    // A body that announces no length is cut off where the limit is.
    let request = request.map(|body| Body::new(Limited::new(body, limits.body_bytes_max)));
    match tokio::time::timeout(limits.request_max, next.run(request)).await {
        Ok(response) => response,
        Err(_) => asked.refuse(Stopped::TooLong),
    }
}

/// A panic in a handler is an internal error to its caller, and to nobody else.
pub(crate) async fn guard_panics(request: Request, next: Next) -> Response {
    let asked = Asked::of(&request);
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => asked.refuse(Stopped::Panicked),
    }
}
