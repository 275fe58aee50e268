//! An HTTP server that responds to each request as a function says, or misbehaves.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server does with a request.
pub(crate) enum Reply {
    Json(u16, String),
    /// Closes the connection after the request.
    Close,
    /// Never responds.
    Hang,
}

/// A request, as far as tests look at it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The request line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A server on loopback, and the requests that it got.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) async fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (reply, log) = (Arc::new(reply), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&reply), Arc::clone(&log)));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: Arc<impl Fn(&Request) -> Reply>,
    log: Arc<Mutex<Vec<Request>>>,
) {
    while let Some(request) = read_request(&mut stream).await {
        let reply = reply(&request);
        log.lock().unwrap().push(request);
        let (status, header, body) = match reply {
            Reply::Json(status, body) => (status, "content-type: application/json", body),
            Reply::Close => return,
            Reply::Hang => std::future::pending().await,
        };
        let length = body.len();
        let head = format!("HTTP/1.1 {status} -\r\n{header}\r\ncontent-length: {length}\r\n\r\n");
        if stream.write_all((head + &body).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<Request> {
    let mut request = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let request = Request { head: head.to_owned(), body: body.to_owned() };
            let length = request.header("content-length").and_then(|text| text.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(request);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => request.extend_from_slice(&buffer[..count]),
        }
    }
}
