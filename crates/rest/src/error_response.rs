//! Renders every failure as the error envelope (docs/contract/errors.md#envelope), in one place.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{OriginalUri, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use primitives::{Details, ErrorCode, Failure, Problem, RequestId, RequestRecord};

use crate::nearest_path::nearest_path;

/// A failure as a response. It has the status and carries the failure in its extensions; `render`, which knows the
/// request id, writes the body.
#[derive(Debug)]
pub struct ErrorResponse(pub Failure);

impl<P: Problem> From<P> for ErrorResponse {
    fn from(problem: P) -> Self {
        Self(problem.into())
    }
}

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        let mut response = status(self.0.code()).into_response();
        response.extensions_mut().insert(Arc::new(self.0));
        response
    }
}

/// The layer that writes the error envelope. It reads the request id from the extensions, so it goes inside the layer
/// that sets it.
pub async fn render(request: Request, next: Next) -> Response {
    let id = request.extensions().get::<RequestId>().cloned();
    let record = request.extensions().get::<RequestRecord>().cloned();
    let mut response = next.run(request).await;
    let failure = response.extensions_mut().remove::<Arc<Failure>>();
    match failure {
        Some(failure) => {
            record.unwrap_or_default().set_error(failure.code());
            write(response, &failure, id.as_ref())
        }
        None => response,
    }
}

/// Returns the response to a request that failed in the server's own layers, before it reached a door.
#[must_use]
pub fn respond(failure: &Failure, id: Option<&RequestId>) -> Response {
    write(status(failure.code()).into_response(), failure, id)
}

/// Writes the envelope. Keeps the response's headers (`Allow` is set by the router), adds those of a failure, and logs
/// the cause, which the caller does not see.
fn write(mut response: Response, failure: &Failure, id: Option<&RequestId>) -> Response {
    let id = id.map_or("req_unknown", RequestId::as_str);
    log(failure, id);
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // A missing store may exist in a minute, so no cache may keep the error.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let envelope = failure.envelope_with(id, crate::action::NAMES);
    if let Some(challenge) = identity::challenge(failure.code().status(), &envelope) {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    limits::write_error_headers(&envelope, headers);
    *response.body_mut() = Body::from(envelope.to_string());
    response
}

fn log(failure: &Failure, request_id: &str) {
    let code = failure.code().code();
    match failure.code().status() {
        500 => tracing::error!(request_id, code, cause = failure.cause(), "request failed"),
        503 => tracing::warn!(
            request_id,
            code,
            cause = failure.cause(),
            "request failed: a dependency is unavailable"
        ),
        _ => {}
    }
}

fn status(code: ErrorCode) -> StatusCode {
    StatusCode::from_u16(code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// No endpoint has the path.
#[derive(Debug, thiserror::Error)]
#[error("no endpoint has this path{}", self.question())]
struct UnknownPath {
    /// The known path that is most similar.
    nearest: Option<String>,
}

impl UnknownPath {
    fn question(&self) -> String {
        self.nearest.as_ref().map_or_else(String::new, |path| format!("; did you mean {path}?"))
    }
}

impl Problem for UnknownPath {
    fn code(&self) -> ErrorCode {
        ErrorCode::NotFound
    }

    fn details(&self, details: &mut Details) {
        details.insert(
            "hint",
            "GET /api/docs documents every endpoint; GET /api/v1/openapi.json lists them",
        );
        if let Some(nearest) = &self.nearest {
            details.insert("did_you_mean", nearest.as_str());
        }
    }
}

/// The path does not support the method.
#[derive(Debug, thiserror::Error)]
#[error("this path does not support this method")]
struct MethodNotAllowed;

impl Problem for MethodNotAllowed {
    fn code(&self) -> ErrorCode {
        ErrorCode::MethodNotAllowed
    }

    fn details(&self, details: &mut Details) {
        details.insert("hint", "use a method that the Allow header names; see GET /api/docs");
    }
}

/// Handles unknown paths.
pub(crate) async fn unknown_path(OriginalUri(uri): OriginalUri) -> ErrorResponse {
    UnknownPath { nearest: nearest_path(uri.path()) }.into()
}

/// Handles known paths that are called with an unsupported method.
pub(crate) async fn method_not_allowed() -> ErrorResponse {
    MethodNotAllowed.into()
}
