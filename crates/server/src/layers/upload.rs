//! Limits the bodies of requests: their size, the memory they take and the time in which they arrive. Uploads have a large
//! maximum size, and a minimum rate instead of a total timeout.
//!
//! A feed of gigabytes over a slow connection takes hours, so the limits of other requests do not fit.
//! An upload must neither stall nor trickle, because it would hold a connection and the resources of its handler. Time
//! in which the handler does not read does not count. After the end of the body, the usual request
//! timeout applies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use futures::stream::try_unfold;
use rest::BodyKind;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::body_memory::{Measure, MeasuredBody, Reservation, UNMEASURED_BYTES};
use super::body_owner::BodyOwner;
use super::limit::Limits;
use super::{ErrorResponder, LayerError};

/// Runs a request whose body its handler buffers.
pub(super) async fn buffered(
    limits: &Limits,
    responder: &ErrorResponder,
    request: Request,
    length: Option<u64>,
    next: Next,
) -> Response {
    let is_unmeasured = length.is_some_and(|bytes| bytes <= UNMEASURED_BYTES)
        || HttpBody::is_end_stream(request.body());
    if is_unmeasured {
        let response = tokio::time::timeout(limits.request_max, next.run(request)).await;
        return response.unwrap_or_else(|_| responder.respond(LayerError::Timeout));
    }
    let bytes_max = limits.body_bytes_max.try_into().unwrap_or(u64::MAX);
    let abort_reason = Arc::new(AbortReason::default());
    let reservation = Arc::new(Reservation::default());
    let (network, owner) = (BodyOwner::network(&request), limits.body_owners.of(&request));
    let request = request.map(|body| {
        let limited = LimitedBody::new(body, bytes_max, limits, &abort_reason);
        let (body, measure) = (limited.into_body(), Measure::Parsed);
        let measured = MeasuredBody { body, measure, length, bytes_max, network, owner };
        limits.body_memory.reserve_for(measured, &reservation, &abort_reason)
    });
    let response = tokio::time::timeout(limits.request_max, next.run(request)).await;
    let response = response.unwrap_or_else(|_| responder.respond(LayerError::Timeout));
    abort_reason.response(limits, responder, bytes_max).unwrap_or(response)
}

/// Runs an upload.
pub(super) async fn upload(
    limits: &Limits,
    responder: &ErrorResponder,
    request: Request,
    length: Option<u64>,
    next: Next,
) -> Response {
    let kind = (limits.body_kind)(request.method(), request.uri().path());
    let bytes_max = limits.bytes_max(kind);
    let abort_reason = Arc::new(AbortReason::default());
    let reservation = Arc::new(Reservation::default());
    let (body_end_sender, body_end) = oneshot::channel();
    let (network, owner) = (BodyOwner::network(&request), limits.body_owners.of(&request));
    let request = request.map(|body| {
        let mut limited = LimitedBody {
            _body_end: Some(body_end_sender),
            ..LimitedBody::new(body, bytes_max, limits, &abort_reason)
        };
        if kind == BodyKind::Stream {
            limited.window_bytes_min = limits.upload_bytes_min;
            return limited.into_body();
        }
        let (body, measure) = (limited.into_body(), Measure::Items);
        let measured = MeasuredBody { body, measure, length, bytes_max, network, owner };
        limits.body_memory.reserve_for(measured, &reservation, &abort_reason)
    });
    let timeout = async {
        // Nothing is sent: the channel closes when the body is read to its end or dropped.
        let _ = body_end.await;
        tokio::time::sleep(limits.request_max).await;
    };
    let response = tokio::select! {
        response = next.run(request) => response,
        () = timeout => responder.respond(LayerError::Timeout),
    };
    abort_reason.response(limits, responder, bytes_max).unwrap_or(response)
}

/// Why a body was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Aborted {
    #[error("request body too large")]
    TooLarge,
    /// No data arrived for a while.
    #[error("request body stalled")]
    Stalled,
    /// It would have taken too long at its rate.
    #[error("request body too slow")]
    Slow,
    #[error("request body with too many values")]
    TooManyValues,
    #[error("no memory for the request body")]
    Overloaded,
}

impl Aborted {
    const ALL: [Self; 5] =
        [Self::TooLarge, Self::Stalled, Self::Slow, Self::TooManyValues, Self::Overloaded];
}

/// The reason of an abort, shared between the body and the layer.
#[derive(Debug, Default)]
pub(super) struct AbortReason(AtomicU8);

impl AbortReason {
    pub(super) fn set(&self, aborted: Aborted) -> Aborted {
        let index = Aborted::ALL.iter().position(|reason| *reason == aborted).unwrap_or(0);
        self.0.store(u8::try_from(index + 1).unwrap_or(u8::MAX), Ordering::Release);
        aborted
    }

    pub(super) fn read(&self) -> Option<Aborted> {
        let index = usize::from(self.0.load(Ordering::Acquire)).checked_sub(1)?;
        Aborted::ALL.get(index).copied()
    }

    /// Returns the response to a request whose body was aborted. A handler sees only that it was.
    fn response(
        &self,
        limits: &Limits,
        responder: &ErrorResponder,
        bytes_max: u64,
    ) -> Option<Response> {
        let error = match self.read()? {
            Aborted::TooLarge => LayerError::BodyTooLarge(bytes_max),
            Aborted::Stalled => LayerError::BodyStalled(limits.upload_idle_max.as_secs()),
            Aborted::Slow => LayerError::BodySlow,
            Aborted::TooManyValues => LayerError::TooManyValues,
            Aborted::Overloaded => {
                metrics::counter!("souk_body_refusals_total").increment(1);
                LayerError::BodiesOverloaded
            }
        };
        Some(responder.respond(error))
    }
}

/// A body with a maximum size and a minimum rate.
struct LimitedBody {
    body: BodyDataStream,
    bytes_left: u64,
    /// Time in which enough data has to arrive.
    window: Duration,
    /// Bytes that have to arrive in it. One: the body must not stall.
    window_bytes_min: u64,
    /// The rest of this window, and what arrived in it.
    window_left: Duration,
    window_bytes: u64,
    abort_reason: Arc<AbortReason>,
    _body_end: Option<oneshot::Sender<()>>,
}

impl LimitedBody {
    fn new(body: Body, bytes_max: u64, limits: &Limits, abort_reason: &Arc<AbortReason>) -> Self {
        Self {
            body: body.into_data_stream(),
            bytes_left: bytes_max,
            window: limits.upload_idle_max,
            window_bytes_min: 1,
            window_left: limits.upload_idle_max,
            window_bytes: 0,
            abort_reason: Arc::clone(abort_reason),
            _body_end: None,
        }
    }

    fn into_body(self) -> Body {
        Body::from_stream(try_unfold(self, Self::next_chunk))
    }

    /// Returns the next chunk and the rest of the body.
    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        let Some(chunk) = self.next_in_time().await? else { return Ok(None) };
        let chunk = chunk?;
        let length = chunk.len().try_into().unwrap_or(u64::MAX);
        self.window_bytes = self.window_bytes.saturating_add(length);
        let left = self.bytes_left.checked_sub(length);
        self.bytes_left = left.ok_or_else(|| self.abort_reason.set(Aborted::TooLarge))?;
        Ok(Some((chunk, self)))
    }

    /// Waits for the next chunk. Time counts only while the reader waits.
    async fn next_in_time(&mut self) -> Result<Option<Result<Bytes, axum::Error>>, Aborted> {
        loop {
            let since = Instant::now();
            let chunk = tokio::time::timeout(self.window_left, self.next_bytes()).await;
            match chunk {
                Ok(chunk) => {
                    self.window_left = self.window_left.saturating_sub(since.elapsed());
                    return Ok(chunk);
                }
                Err(_) if self.window_bytes == 0 => {
                    return Err(self.abort_reason.set(Aborted::Stalled));
                }
                Err(_) if self.window_bytes < self.window_bytes_min => {
                    return Err(self.abort_reason.set(Aborted::Slow));
                }
                Err(_) => (self.window_left, self.window_bytes) = (self.window, 0),
            }
        }
    }

    /// Skips empty chunks, so that they do not reset the idle timeout.
    async fn next_bytes(&mut self) -> Option<Result<Bytes, axum::Error>> {
        loop {
            match self.body.next().await {
                Some(Ok(chunk)) if chunk.is_empty() => {}
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use axum::Router;
    use axum::body::to_bytes;
    use axum::middleware::from_fn_with_state;
    use axum::routing::put;
    use futures::stream::{self, Stream};
    use http::{Method, StatusCode};
    use tower::ServiceExt;

    use super::*;
    use crate::layers::{BodyMemory, BodyOwners, limit};

    fn limits() -> Limits {
        Limits {
            body_bytes_max: 10,
            request_max: Duration::from_millis(250),
            upload_bytes_max: 100,
            upload_idle_max: Duration::from_secs(1),
            upload_bytes_min: 30,
            body_kind: |method, path| {
                if method == Method::PUT && path == "/feed" {
                    BodyKind::Stream
                } else {
                    BodyKind::Buffered
                }
            },
            body_memory: BodyMemory::new(10, 10),
            body_owners: BodyOwners::default(),
        }
    }

    /// A handler that reads the whole body without limits of its own.
    async fn read(body: Body) -> String {
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => format!("read {}", bytes.len()),
            Err(_) => String::from("read partially"),
        }
    }

    /// Sends a body and returns the status and text of the response.
    async fn send(method: Method, body: Body) -> (StatusCode, String) {
        let app = Router::new()
            .route("/feed", put(read).post(read))
            .layer(from_fn_with_state(limits(), limit));
        let request = Request::builder().method(method).uri("/feed").body(body).unwrap();
        let response = app.oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Chunks of ten bytes, each after a pause.
    fn chunks(count: usize, pause: Duration) -> Body {
        Body::from_stream(paced(count, pause))
    }

    fn paced(count: usize, pause: Duration) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok(Bytes::from_static(b"0123456789"))
        })
    }

    #[tokio::test]
    async fn an_upload_may_be_large_and_slow() {
        let response = send(Method::PUT, chunks(10, Duration::from_millis(100))).await;
        assert_eq!(response, (StatusCode::OK, String::from("read 100")));
    }

    #[tokio::test]
    async fn other_requests_may_not_be_large_or_slow() {
        let (status, _) = send(Method::POST, chunks(2, Duration::from_millis(400))).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let (status, text) = send(Method::POST, chunks(2, Duration::ZERO)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(text.contains("10 bytes"), "{text}");
    }

    #[tokio::test]
    async fn an_upload_that_is_too_large_is_refused() {
        let (status, text) = send(Method::PUT, chunks(11, Duration::ZERO)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(text.contains("payload_too_large") && text.contains("100 bytes"), "{text}");
        let (status, _) = send(Method::PUT, Body::from(vec![0; 101])).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test]
    async fn a_stalled_upload_is_refused() {
        let started = tokio::time::Instant::now();
        let (status, text) = send(Method::PUT, chunks(3, Duration::from_secs(3))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
        assert!(text.contains("no data received for 1 second"), "{text}");
        let trickle = paced(1, Duration::ZERO).chain(stream::repeat(()).then(async |()| {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(Bytes::new())
        }));
        let (status, _) = send(Method::PUT, Body::from_stream(trickle)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "empty chunks are not progress");
    }

    #[tokio::test]
    async fn an_upload_that_trickles_is_refused() {
        let (status, text) = send(Method::PUT, chunks(10, Duration::from_millis(600))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(text.contains("request body too slow"), "{text}");
    }

    #[tokio::test]
    async fn after_the_body_the_request_timeout_applies() {
        let hang = async |body: Body| {
            let read = read(body).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
            read
        };
        let app =
            Router::new().route("/feed", put(hang)).layer(from_fn_with_state(limits(), limit));
        let body = chunks(2, Duration::from_millis(300));
        let request = Request::put("/feed").body(body).unwrap();
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
