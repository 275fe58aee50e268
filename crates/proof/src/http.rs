//! A small HTTP/1.1 client that knows exactly what became of a request.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A whole answer.
    Answered { status: u16, body: String },
    /// No connection could be made: nothing was sent.
    NotSent,
    /// It was sent, and no whole answer came.
    Cut(String),
}

/// A connection that is used again as long as the server lets it.
pub(crate) struct Client {
    port: u16,
    headers: String,
    content_type: &'static str,
    /// Where it calls from; anywhere, if nowhere is named.
    source: Option<Ipv4Addr>,
    connection: Option<TcpStream>,
    /// The head of the last answer, in lower case.
    head: String,
}

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        let (headers, head) = (String::new(), String::new());
        let content_type = "application/json";
        Self { port, headers, content_type, source: None, connection: None, head }
    }

    /// The same client, sending forms as a browser does.
    pub(crate) fn sending_forms(mut self) -> Self {
        self.content_type = "application/x-www-form-urlencoded";
        self
    }

    /// The same client with the headers an MCP client sends.
    pub(crate) fn speaking_mcp(mut self) -> Self {
        self.headers = String::from(
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n",
        );
        self
    }

    /// The same client, calling from an address of this machine.
    pub(crate) fn from(mut self, source: Ipv4Addr) -> Self {
        self.source = Some(source);
        self
    }

    /// The same client as it was made.
    pub(crate) fn without_headers(mut self) -> Self {
        self.headers.clear();
        self
    }

    /// The same client with an agent's key.
    pub(crate) fn with_agent_key(mut self, key: &str) -> Self {
        let _ = write!(self.headers, "X-Agent-Api-Key: {key}\r\n");
        self
    }

    /// A figure in the head of the last answer.
    pub(crate) fn figure(&self, name: &str) -> Option<u64> {
        let behind = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok();
        self.head.lines().find_map(behind)
    }

    /// The same client with a key.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.headers = format!("Authorization: Bearer {key}\r\n");
        self
    }

    /// Whether the next request would open a new connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    pub(crate) async fn get(&mut self, path: &str) -> Fate {
        self.send("GET", path, b"").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Fate {
        self.send("POST", path, body.as_bytes()).await
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        if let Some(source) = self.source {
            socket.bind((source, 0).into())?;
        }
        socket.connect((Ipv4Addr::LOCALHOST, self.port).into()).await
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Fate {
        let stream = match self.connection.take() {
            Some(stream) => Ok(stream),
            None => self.connect().await,
        };
        let Ok(mut stream) = stream else { return Fate::NotSent };
        // Head and body are two writes; the second must not wait for the first to be confirmed.
        let _ = stream.set_nodelay(true);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: {}\r\n\
             {}Content-Length: {}\r\n\r\n",
            self.port,
            self.content_type,
            self.headers,
            body.len()
        );
        for bytes in [request.as_bytes(), body] {
            if let Err(error) = stream.write_all(bytes).await {
                return Fate::Cut(format!("while sending: {error}"));
            }
        }
        match read_answer(&mut stream).await {
            Ok(answer) => {
                if !answer.closes {
                    self.connection = Some(stream);
                }
                self.head = answer.head;
                Fate::Answered { status: answer.status, body: answer.body }
            }
            Err(why) => Fate::Cut(why),
        }
    }
}

struct Answer {
    head: String,
    status: u16,
    closes: bool,
    body: String,
}

async fn read_answer(stream: &mut TcpStream) -> Result<Answer, String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    let (head, body_start) = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&bytes[..end]).to_lowercase(), end + 4);
        }
        let read = stream.read(&mut chunk).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err(format!("closed after {} bytes of the head", bytes.len()));
        }
        bytes.extend_from_slice(&chunk[..read]);
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or("the answer has no status")?;
    let header = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
    };
    let length = header("content-length:").and_then(|length| length.parse::<usize>().ok());
    let length = length.ok_or("the answer has no length")?;
    while bytes.len() < body_start + length {
        let read = stream.read(&mut chunk).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err(String::from("closed within the body"));
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    let closes = header("connection:").is_some_and(|value| value.contains("close"));
    let body = String::from_utf8_lossy(&bytes[body_start..body_start + length]).into_owned();
    Ok(Answer { head, status, closes, body })
}
