//! Limits the body size and the duration of requests.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures::FutureExt;
use http::Method;
use http::header::CONTENT_LENGTH;
use rest::BodyKind;

use super::body_memory::BodyMemory;
use super::body_owner::BodyOwners;
use super::upload::{buffered, upload};
use super::{ErrorResponder, LayerError};

/// The limits of a request.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) body_bytes_max: usize,
    pub(crate) request_max: Duration,
    pub(crate) upload_bytes_max: u64,
    /// Time without new data after which a body is aborted.
    pub(crate) upload_idle_max: Duration,
    /// Bytes of an upload that have to arrive in each such time.
    pub(crate) upload_bytes_min: u64,
    /// How the body of a request is received, by its method and path.
    pub(crate) body_kind: fn(&Method, &str) -> BodyKind,
    pub(crate) body_memory: BodyMemory,
    /// Who the memory of a body counts for.
    pub(crate) body_owners: BodyOwners,
}

impl Limits {
    /// Maximum time without new data in the body of an upload.
    pub(crate) const UPLOAD_IDLE_MAX: Duration = Duration::from_secs(30);
    /// Bytes of an upload that have to arrive in that time (docs/contract/merchant-api.md#quotas).
    pub(crate) const UPLOAD_BYTES_MIN: u64 = 1024 * 1024;

    /// Returns the maximum size of a body.
    pub(super) fn bytes_max(&self, kind: BodyKind) -> u64 {
        let buffered = |bytes: usize| bytes.try_into().unwrap_or(u64::MAX);
        match kind {
            BodyKind::Buffered => buffered(self.body_bytes_max),
            BodyKind::LargeJson { bytes_max } => buffered(bytes_max),
            BodyKind::Stream => self.upload_bytes_max,
        }
    }
}

/// Enforces the limits.
pub(crate) async fn limit(State(limits): State<Limits>, request: Request, next: Next) -> Response {
    let kind = (limits.body_kind)(request.method(), request.uri().path());
    let bytes_max = limits.bytes_max(kind);
    let responder = ErrorResponder::new(&request);
    let length = content_length(&request);
    if length.is_some_and(|bytes| bytes > bytes_max) {
        return responder.respond(LayerError::BodyTooLarge(bytes_max));
    }
    match kind {
        BodyKind::Buffered => buffered(&limits, &responder, request, length, next).await,
        BodyKind::LargeJson { .. } | BodyKind::Stream => {
            upload(&limits, &responder, request, length, next).await
        }
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
