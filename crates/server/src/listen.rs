//! Accepts connections, with limits on the time and size of request headers.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use futures::FutureExt;
use http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::layers::Peer;

/// Timeout for reading the headers of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Limits on the headers of one request.
const HEADER_COUNT_MAX: usize = 100;
const HEADER_BYTES_MAX: usize = 64 * 1024;
/// Time to wait for requests in flight after the listener has closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves until `stopped` becomes true, then accepts no more connections and waits for requests in flight.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let builder = builder();
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        match accepted {
            Ok((stream, peer)) => connect(stream, peer, &router, &builder, &graceful),
            Err(error) => {
                // Usually out of file descriptors, until other connections close.
                tracing::warn!(%error, "accepting a connection failed; retrying in 50 ms");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    // Connections in the accept queue are served as well.
    while let Some(Ok((stream, peer))) = listener.accept().now_or_never() {
        connect(stream, peer, &router, &builder, &graceful);
    }
    drop(listener);
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, graceful.shutdown()).await.is_err() {
        tracing::warn!(
            seconds = SHUTDOWN_TIMEOUT.as_secs(),
            "requests were still in flight after the shutdown timeout; they are aborted"
        );
    }
}

fn connect(
    stream: TcpStream,
    peer: SocketAddr,
    router: &Router,
    builder: &Builder<TokioExecutor>,
    graceful: &GracefulShutdown,
) {
    let _ = stream.set_nodelay(true);
    let peer = Peer(peer.ip());
    let service = router.clone().map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        request
    });
    let service = TowerToHyperService::new(service);
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection closed with an error");
        }
    });
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_headers(HEADER_COUNT_MAX)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(64 * 1024)
        .max_concurrent_streams(200)
        .keep_alive_interval(Duration::from_secs(20));
    builder
}
