//! The layers around every request.

mod body_memory;
mod body_owner;
mod bulkhead;
mod error_pages;
mod limit;
mod memory_budget;
mod observe;
mod request_info;
mod security_headers;
mod upload;

use axum::extract::Request;
use axum::response::Response;
use mcp::ErrorFormat;
use primitives::{ErrorCode, Failure, Problem, RequestId, RequestRecord};

pub(crate) use body_memory::BodyMemory;
pub(crate) use body_owner::BodyOwners;
pub(crate) use bulkhead::{Bulkhead, bulkhead};
pub(crate) use error_pages::error_pages;
pub(crate) use limit::{Limits, catch_panics, limit};
pub(crate) use observe::{observe, record_route};
pub(crate) use request_info::{Peer, RequestInfo, request_info};
pub(crate) use security_headers::{close_while_draining, security_headers};

/// Builds the error response to a request in the format that its endpoint uses.
struct ErrorResponder {
    /// Set for MCP endpoints.
    error_format: Option<ErrorFormat>,
    request_id: Option<RequestId>,
    record: Option<RequestRecord>,
}

impl ErrorResponder {
    fn new(request: &Request) -> Self {
        let is_mcp = request.uri().path().trim_end_matches('/').ends_with("/mcp");
        Self {
            error_format: is_mcp.then(|| ErrorFormat::of(request.headers())),
            request_id: request.extensions().get::<RequestId>().cloned(),
            record: request.extensions().get::<RequestRecord>().cloned(),
        }
    }

    fn respond(&self, problem: impl Problem) -> Response {
        let failure = Failure::from(problem);
        if let Some(record) = &self.record {
            record.set_error(failure.code());
        }
        match (self.error_format, &self.request_id) {
            (Some(error_format), Some(id)) => mcp::error_response(&failure, error_format, id),
            (_, id) => rest::respond(&failure, id.as_ref()),
        }
    }
}

/// A layer refused or aborted the request.
#[derive(Debug, thiserror::Error)]
enum LayerError {
    #[error("request body too large: the limit is {0} bytes")]
    BodyTooLarge(u64),
    #[error("request body stalled: no data received for {0} seconds")]
    BodyStalled(u64),
    #[error("request body too slow")]
    BodySlow,
    #[error("request body too large: it contains too many values")]
    TooManyValues,
    #[error("too many large request bodies at once")]
    BodiesOverloaded,
    #[error("request timed out")]
    Timeout,
    #[error("too many concurrent requests for this store")]
    StoreOverloaded,
    #[error("internal error: the request handler panicked")]
    HandlerPanicked,
    #[error("no route matches this path{}", question(nearest.as_deref()))]
    NoRoute { nearest: Option<String> },
    #[error("this path does not support this method")]
    MethodNotAllowed,
}

/// Returns the end of the sentence about an unknown path.
fn question(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |path| format!("; did you mean {path}?"))
}

impl Problem for LayerError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::BodyTooLarge(_) | Self::TooManyValues => ErrorCode::PayloadTooLarge,
            Self::BodyStalled(_) | Self::BodySlow => ErrorCode::InvalidRequest,
            Self::Timeout | Self::StoreOverloaded | Self::BodiesOverloaded => {
                ErrorCode::ServiceUnavailable
            }
            Self::HandlerPanicked => ErrorCode::InternalError,
            Self::NoRoute { .. } => ErrorCode::NotFound,
            Self::MethodNotAllowed => ErrorCode::MethodNotAllowed,
        }
    }

    fn details(&self, details: &mut primitives::Details) {
        let hint = match self {
            Self::NoRoute { .. } => "MCP is at /{slug}/mcp, REST under /api/v1; see /api/docs",
            Self::MethodNotAllowed => "use a method that the Allow header names",
            Self::BodyTooLarge(_) => "send a smaller body; split a feed into parts with mode=merge",
            Self::BodyStalled(_) => "send the whole request again, without pauses",
            Self::BodySlow => {
                "send the whole request again over a faster connection, or in smaller parts"
            }
            Self::TooManyValues => "send fewer items per call",
            Self::BodiesOverloaded => "send fewer large requests at once",
            _ => return,
        };
        details.insert("hint", hint);
        if let Self::NoRoute { nearest: Some(nearest) } = self {
            details.insert("did_you_mean", nearest.as_str());
        }
    }
}

/// Responds to a request that matches no route.
pub(crate) async fn not_found(request: Request) -> Response {
    let nearest = rest::nearest_path(request.uri().path());
    ErrorResponder::new(&request).respond(LayerError::NoRoute { nearest })
}

/// Responds to a request for a page with a method that it does not support. The router adds `Allow`.
pub(crate) async fn method_not_allowed(request: Request) -> Response {
    ErrorResponder::new(&request).respond(LayerError::MethodNotAllowed)
}
