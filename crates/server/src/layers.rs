//! What lies around every request.

mod bulkhead;
mod identify;
mod limit;
mod observe;
mod secure;
mod upload;

use axum::extract::Request;
use axum::response::Response;
use mcp::Speech;
use primitives::{ErrorCode, Failure, Problem, RequestId};

pub(crate) use bulkhead::{Bulkhead, bulkhead};
pub(crate) use identify::{Identify, Peer, identify};
pub(crate) use limit::{Limits, guard_panics, limit};
pub(crate) use observe::{note_route, observe};
pub(crate) use secure::{close_when_draining, secure};

/// What a layer needs to know of a request to refuse it in the form its caller understands.
struct Asked {
    /// How it speaks, if it goes to an endpoint for agents.
    speech: Option<Speech>,
    request_id: Option<RequestId>,
}

impl Asked {
    fn of(request: &Request) -> Self {
        let is_mcp = request.uri().path().ends_with("/mcp");
        Self {
            speech: is_mcp.then(|| Speech::of(request.headers())),
            request_id: request.extensions().get::<RequestId>().cloned(),
        }
    }

    fn refuse(&self, problem: impl Problem) -> Response {
        let failure = Failure::from(problem);
        match (self.speech, &self.request_id) {
            (Some(speech), Some(id)) => mcp::refusal(&failure, speech, id),
            (_, id) => rest::respond(&failure, id.as_ref()),
        }
    }
}

/// The request did not pass a layer.
#[derive(Debug, thiserror::Error)]
enum Stopped {
    #[error("the body is larger than {0} bytes")]
    TooLarge(u64),
    #[error("no byte of the body arrived for {0} seconds")]
    Stalled(u64),
    #[error("the request took too long")]
    TooLong,
    #[error("too many requests for this store are in flight")]
    TooBusy,
    #[error("the handler panicked")]
    Panicked,
    #[error("there is nothing at this address")]
    Nowhere,
}

impl Problem for Stopped {
    fn code(&self) -> ErrorCode {
        match self {
            Self::TooLarge(_) => ErrorCode::PayloadTooLarge,
            Self::Stalled(_) => ErrorCode::InvalidRequest,
            Self::TooLong | Self::TooBusy => ErrorCode::ServiceUnavailable,
            Self::Panicked => ErrorCode::InternalError,
            Self::Nowhere => ErrorCode::NotFound,
        }
    }

    fn details(&self, details: &mut primitives::Details) {
        let hint = match self {
            Self::Nowhere => "MCP is at /{slug}/mcp, REST under /api/v1; /api/docs shows both",
            Self::TooLarge(_) => "send less in one call, or a feed in parts with mode=merge",
            Self::Stalled(_) => "send the whole body again, without a pause",
            _ => return,
        };
        details.insert("hint", hint);
    }
}

/// The answer where nothing is.
pub(crate) async fn unknown_address(request: Request) -> Response {
    Asked::of(&request).refuse(Stopped::Nowhere)
}
