//! How a failure leaves: as the envelope of spec §7, rendered in one place.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use primitives::{Details, ErrorCode, Failure, Problem, RequestId};

/// How long a caller waits after 503 (spec §7).
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("30");

/// A refused request. As a response it has the status and carries the failure in its extensions;
/// `render`, which knows the request's id, writes the body.
#[derive(Debug)]
pub struct Refusal(pub Failure);

impl<P: Problem> From<P> for Refusal {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = status(self.0.code()).into_response();
        response.extensions_mut().insert(Arc::new(self.0));
        response
    }
}

/// The layer that turns refusals into envelopes. It wants the request's id among the extensions,
/// so it goes inside the layer that puts it there.
pub async fn render(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned();
    let mut response = next.run(request).await;
    let failure = response.extensions_mut().remove::<Arc<Failure>>();
    match failure {
        Some(failure) => write(response, &failure, id.as_ref()),
        None => response,
    }
}

/// The answer to a request that failed before it reached a door: for the server's own layers.
#[must_use]
pub fn respond(failure: &Failure, id: Option<&RequestId>) -> Response {
    write(status(failure.code()).into_response(), failure, id)
}

/// Keeps the response's headers (`Allow` is set by the router), adds those of a failure, and logs
/// what the caller is not told.
fn write(mut response: Response, failure: &Failure, id: Option<&RequestId>) -> Response {
    let id = id.map_or("req_unknown", RequestId::as_str);
    log(failure, id);
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // A missing store may exist in a minute, so no cache may keep the refusal.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let envelope = failure.envelope(id);
    if let Some(challenge) = identity::challenge(failure.code().status(), &envelope) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    match failure.code().status() {
        429 => limits::write_refusal(&envelope, headers),
        503 => {
            headers.entry(RETRY_AFTER).or_insert(RETRY_AFTER_SECONDS);
        }
        _ => {}
    }
    *response.body_mut() = Body::from(envelope.to_string());
    response
}

fn log(failure: &Failure, request_id: &str) {
    let code = failure.code().code();
    match failure.code().status() {
        500 => tracing::error!(request_id, code, cause = failure.cause(), "request failed"),
        503 => tracing::warn!(request_id, code, cause = failure.cause(), "request put off"),
        _ => {}
    }
}

fn status(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Nothing is at the address.
#[derive(Debug, thiserror::Error)]
#[error("there is nothing at this address")]
struct UnknownAddress;

impl Problem for UnknownAddress {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert(
            "hint",
            "GET /api/docs shows every endpoint, GET /api/v1/openapi.json lists them",
        );
    }
}

/// The address does not take the method.
#[derive(Debug, thiserror::Error)]
#[error("this address does not take this method")]
struct WrongMethod;

impl Problem for WrongMethod {
    fn code(&self) -> ErrorCode {
        ErrorCode::MethodNotAllowed
    }

    fn details(&self, details: &mut Details) {
        details.insert(
            "hint",
            "the Allow header names the methods this address takes; see GET /api/docs",
        );
    }
}

/// The handler of unknown addresses.
pub(crate) async fn unknown_address() -> Refusal {
    UnknownAddress.into()
}

/// The handler of known addresses called with the wrong method.
pub(crate) async fn method_not_allowed() -> Refusal {
    WrongMethod.into()
}
