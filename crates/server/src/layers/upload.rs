//! Uploads: no limit on how long they take as long as they move, and a far larger one on their size.
//!
//! A feed of gigabytes over a merchant's line takes hours, so neither the size nor the deadline of
//! other requests fits. What an upload may not do is stand still: that would hold a connection, and
//! whatever the handler has open, for nothing. Time in which the handler does not ask for more is
//! its own and does not count. From the end of the body on, the request has as long as any other.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt;
use futures::stream::try_unfold;
use tokio::sync::oneshot;

use super::limit::Limits;
use super::{Asked, Stopped};

pub(super) async fn upload(
    limits: &Limits,
    asked: &Asked,
    request: Request,
    next: Next,
) -> Response {
    let fate = Arc::new(Fate::default());
    let (ending, ended) = oneshot::channel();
    let request = request.map(|body| {
        let moving = Moving {
            body: body.into_data_stream(),
            bytes_left: limits.upload_bytes_max,
            limits: *limits,
            fate: Arc::clone(&fate),
            _ending: ending,
        };
        Body::from_stream(try_unfold(moving, Moving::step))
    });
    let late = async {
        // Nothing is ever sent: the channel closes with the body, read to its end or dropped.
        let _ = ended.await;
        tokio::time::sleep(limits.request_max).await;
    };
    let response = tokio::select! {
        response = next.run(request) => response,
        () = late => asked.refuse(Stopped::TooLong),
    };
    // A handler sees only that its body broke off; the caller is told why.
    match fate.read() {
        Some(Broken::TooLarge) => asked.refuse(Stopped::TooLarge(limits.upload_bytes_max)),
        Some(Broken::Stalled) => asked.refuse(Stopped::Stalled(limits.upload_idle_max.as_secs())),
        None => response,
    }
}

/// Why a body broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum Broken {
    #[error("the body is larger than it may be")]
    TooLarge,
    #[error("the body stood still for too long")]
    Stalled,
}

/// What became of a body, told to the layer that lies around its reader.
#[derive(Debug, Default)]
struct Fate(AtomicU8);

impl Fate {
    fn tell(&self, broken: Broken) -> Broken {
        self.0.store(if broken == Broken::TooLarge { 1 } else { 2 }, Ordering::Release);
        broken
    }

    fn read(&self) -> Option<Broken> {
        match self.0.load(Ordering::Acquire) {
            1 => Some(Broken::TooLarge),
            2 => Some(Broken::Stalled),
            _ => None,
        }
    }
}

/// A body that has to move and may not grow beyond a size.
struct Moving {
    body: BodyDataStream,
    bytes_left: u64,
    limits: Limits,
    fate: Arc<Fate>,
    _ending: oneshot::Sender<()>,
}

impl Moving {
    /// The next piece, and what is left. The clock runs only while the reader waits.
    async fn step(mut self) -> Result<Option<(Bytes, Self)>, axum::BoxError> {
        let piece = tokio::time::timeout(self.limits.upload_idle_max, self.next_bytes()).await;
        let Some(piece) = piece.map_err(|_| self.fate.tell(Broken::Stalled))? else {
            return Ok(None);
        };
        let piece = piece?;
        let length = piece.len().try_into().unwrap_or(u64::MAX);
        let left = self.bytes_left.checked_sub(length);
        self.bytes_left = left.ok_or_else(|| self.fate.tell(Broken::TooLarge))?;
        Ok(Some((piece, self)))
    }

    /// An empty piece moves nothing, so it does not set the clock back.
    async fn next_bytes(&mut self) -> Option<Result<Bytes, axum::Error>> {
        loop {
            match self.body.next().await {
                Some(Ok(piece)) if piece.is_empty() => {}
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::time::Duration;

    use axum::Router;
    use axum::body::to_bytes;
    use axum::middleware::from_fn_with_state;
    use axum::routing::put;
    use futures::stream::{self, Stream};
    use http::{Method, StatusCode};
    use tower::ServiceExt;

    use super::*;
    use crate::layers::limit;

    const LIMITS: Limits = Limits {
        body_bytes_max: 10,
        request_max: Duration::from_secs(5),
        upload_bytes_max: 100,
        upload_idle_max: Duration::from_secs(30),
        is_upload: |method, path| method == Method::PUT && path == "/feed",
    };

    /// Reads everything, as careless as a handler can be.
    async fn read(body: Body) -> String {
        match to_bytes(body, usize::MAX).await {
            Ok(bytes) => format!("read {}", bytes.len()),
            Err(_) => String::from("read a part"),
        }
    }

    /// Status and text of what is answered to a body.
    async fn send(method: Method, body: Body) -> (StatusCode, String) {
        let app = Router::new()
            .route("/feed", put(read).post(read))
            .layer(from_fn_with_state(LIMITS, limit));
        let request = Request::builder().method(method).uri("/feed").body(body).unwrap();
        let response = app.oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    /// Pieces of ten bytes, each after a pause.
    fn pieces(count: usize, pause: Duration) -> Body {
        Body::from_stream(paced(count, pause))
    }

    fn paced(count: usize, pause: Duration) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::iter(0..count).then(move |_| async move {
            tokio::time::sleep(pause).await;
            Ok(Bytes::from_static(b"0123456789"))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_may_be_large_and_slow() {
        let said = send(Method::PUT, pieces(10, Duration::from_secs(29))).await;
        assert_eq!(said, (StatusCode::OK, String::from("read 100")));
    }

    #[tokio::test(start_paused = true)]
    async fn other_requests_may_not() {
        let (status, _) = send(Method::POST, pieces(2, Duration::from_secs(3))).await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let said = send(Method::POST, pieces(2, Duration::ZERO)).await;
        assert_eq!(said.1, "read a part");
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_is_too_large_is_refused() {
        let (status, text) = send(Method::PUT, pieces(11, Duration::ZERO)).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
        assert!(text.contains("payload_too_large") && text.contains("100 bytes"), "{text}");
        let (status, _) = send(Method::PUT, Body::from(vec![0; 101])).await;
        assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_stands_still_is_refused() {
        let began = tokio::time::Instant::now();
        let (status, text) = send(Method::PUT, pieces(3, Duration::from_secs(31))).await;
        assert_eq!((status, began.elapsed().as_secs()), (StatusCode::BAD_REQUEST, 30));
        assert!(text.contains("no byte of the body arrived for 30 seconds"), "{text}");
        let trickle = paced(1, Duration::ZERO).chain(stream::repeat(()).then(async |()| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(Bytes::new())
        }));
        let (status, _) = send(Method::PUT, Body::from_stream(trickle)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "empty pieces are no progress");
    }

    #[tokio::test(start_paused = true)]
    async fn after_its_end_an_upload_has_as_long_as_any_request() {
        let hang = async |body: Body| {
            let read = read(body).await;
            tokio::time::sleep(Duration::from_secs(6)).await;
            read
        };
        let app = Router::new().route("/feed", put(hang)).layer(from_fn_with_state(LIMITS, limit));
        let body = pieces(2, Duration::from_secs(20));
        let request = Request::put("/feed").body(body).unwrap();
        let response = app.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
