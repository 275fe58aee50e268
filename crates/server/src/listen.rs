//! Accepts connections, with limits on their number, on their idle time, and on the time and size of request headers.

mod activity;
mod connections;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures::FutureExt;
use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tower::ServiceExt;

use crate::layers::Peer;
use crate::listen::activity::Activity;
use crate::listen::connections::{Connections, Registration};

pub(crate) use connections::ConnectionLimits;

/// Timeout for reading the headers of a request.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that wait to be accepted. Linux uses at most `net.core.somaxconn`, by default 4,096. Of a burst of more, each
/// waits for its repeated SYN, for a second or longer.
const BACKLOG: u32 = 4_096;
/// Limits on the headers of one request.
const HEADER_COUNT_MAX: usize = 100;
const HEADER_BYTES_MAX: usize = 64 * 1024;
/// Time to wait for requests in flight after the listener has closed, or after a connection was asked to close.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(30);

/// Listens on an address.
pub(crate) fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restarted process can listen while connections of the former one are in TIME-WAIT.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves until `stopped` becomes true, then accepts no more connections and waits for requests in flight.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<bool>,
) {
    let (close, closing) = watch::channel(false);
    let acceptor =
        Acceptor { router, builder: builder(), connections: Connections::new(limits), closing };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        match accepted {
            Ok((stream, peer)) => acceptor.accept(stream, peer),
            Err(error) => {
                // Usually out of file descriptors, until other connections close.
                tracing::warn!(%error, "accepting a connection failed; retrying in 50 ms");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
    // Connections in the accept queue are served as well.
    while let Some(Ok((stream, peer))) = listener.accept().now_or_never() {
        acceptor.accept(stream, peer);
    }
    drop(listener);
    // Each connection has a receiver until it is closed.
    drop(acceptor);
    let _ = close.send(true);
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, close.closed()).await.is_err() {
        tracing::warn!(
            seconds = SHUTDOWN_TIMEOUT.as_secs(),
            "requests were still in flight after the shutdown timeout; they are aborted"
        );
    }
}

struct Acceptor {
    router: Router,
    builder: Builder<TokioExecutor>,
    connections: Connections,
    closing: watch::Receiver<bool>,
}

impl Acceptor {
    /// Serves a connection in a task of its own, unless there are too many.
    fn accept(&self, stream: TcpStream, peer: SocketAddr) {
        let Some(registration) = self.connections.register(peer.ip()) else {
            metrics::counter!("souk_connections_refused_total").increment(1);
            return;
        };
        let (router, builder, closing) =
            (self.router.clone(), self.builder.clone(), self.closing.clone());
        tokio::spawn(run(stream, peer, router, builder, registration, closing));
    }
}

/// Serves a connection until it is closed by the client, idle for too long, evicted, or the process shuts down.
async fn run(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    builder: Builder<TokioExecutor>,
    mut registration: Registration,
    mut closing: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let activity = Arc::new(Activity::new(registration.first_request()));
    let peer = Peer(peer.ip());
    let requests = Arc::clone(&activity);
    let service = tower::service_fn(move |mut request: Request<Incoming>| {
        let in_flight = Activity::begin(&requests);
        request.extensions_mut().insert(peer);
        let response = router.clone().oneshot(request);
        let sending = Arc::clone(&requests);
        async move {
            let response = response.await;
            drop(in_flight);
            // A connection whose client goes on reading a long response is not idle.
            response.map(|response| {
                response.map(|body| {
                    body.map_frame(move |frame| {
                        sending.extend();
                        frame
                    })
                })
            })
        }
    });
    let service = TowerToHyperService::new(service);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut close_by = None;
    loop {
        let wake_at = close_by.unwrap_or_else(|| activity.deadline());
        let is_asked = close_by.is_some();
        tokio::select! {
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection closed with an error");
                }
                return;
            }
            () = registration.evicted() => return,
            _ = closing.wait_for(|closing| *closing), if !is_asked => {}
            () = tokio::time::sleep_until(wake_at.into()) => {
                if is_asked || activity.is_silent() {
                    return;
                }
                if !activity.is_idle() {
                    continue;
                }
            }
        }
        connection.as_mut().graceful_shutdown();
        close_by = Some(std::time::Instant::now() + SHUTDOWN_TIMEOUT);
    }
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
        .max_concurrent_streams(100)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10));
    builder
}
