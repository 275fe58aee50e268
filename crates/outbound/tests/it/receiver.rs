//! A receiver that speaks raw TCP, so that it can misbehave.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A listener on loopback whose connections are handled by a function.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Receiver {
    pub(crate) async fn start<F>(handle: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(handle(stream));
            }
        });
        Self { address, connections }
    }

    /// Responds to every request with these bytes, on connections that stay open.
    pub(crate) async fn responding(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::start(move |mut stream| {
            let response = response.clone();
            async move {
                while read_request(&mut stream).await.is_some() {
                    // The client may close the connection before it has read everything.
                    if stream.write_all(&response).await.is_err() {
                        break;
                    }
                }
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hooks", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Reads one request, with a body as long as its `Content-Length`. Returns `None` at the end of the connection.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = |line: &str| line.strip_prefix("content-length: ")?.parse::<usize>().ok();
            if body.len() >= head.lines().find_map(length).unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
}

/// A listener to which nobody may connect.
pub(crate) struct Canary {
    listener: TcpListener,
}

impl Canary {
    pub(crate) async fn start() -> Self {
        Self::at("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn at(address: SocketAddr) -> Self {
        Self { listener: TcpListener::bind(address).await.unwrap() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    /// Connects to itself. Connections are accepted in their order, so that an earlier one of somebody else would come first.
    pub(crate) async fn assert_untouched(&self) {
        let own = TcpStream::connect(self.address()).await.unwrap();
        let (_, first) = self.listener.accept().await.unwrap();
        assert_eq!(first, own.local_addr().unwrap(), "somebody connected to the canary");
    }
}
