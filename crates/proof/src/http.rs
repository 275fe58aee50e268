//! A small HTTP/1.1 client that reports exactly whether a request was sent and answered.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;

use serde_json::{Value, json};
use testkit::{ShownRequest, ShownResponse};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::report::Failure;
use crate::souk::OPERATOR_ADDRESS;

/// Returns the body of a call of a tool.
pub(crate) fn tool_call(tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

/// The outcome of sending a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A complete response was received.
    Answered { status: u16, body: String },
    /// No connection could be opened: nothing was sent.
    NotSent,
    /// The request was sent, at least in part, and no complete response was received.
    Interrupted(String),
}

/// Whether the server keeps a connection open. It closes one that is idle for long.
fn is_open(stream: &TcpStream) -> bool {
    matches!(stream.try_read(&mut [0; 1]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A client with one keep-alive connection.
pub(crate) struct Client {
    /// The address of the server.
    server: Ipv4Addr,
    port: u16,
    headers: String,
    /// `None`: not sent, or among `headers`.
    content_type: Option<&'static str>,
    /// The local address to bind; any if `None`.
    source: Option<Ipv4Addr>,
    connection: Option<TcpStream>,
    /// The headers of the last response, by name in lower case.
    received: BTreeMap<String, String>,
}

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            server: Ipv4Addr::LOCALHOST,
            port,
            headers: String::new(),
            content_type: Some("application/json"),
            source: None,
            connection: None,
            received: BTreeMap::new(),
        }
    }

    /// A client of the private listener of the server at this port.
    pub(crate) fn for_operators(port: u16) -> Self {
        Self { server: OPERATOR_ADDRESS, ..Self::new(port) }
    }

    /// Sends bodies as forms, as a browser does.
    pub(crate) fn sending_forms(mut self) -> Self {
        self.content_type = Some("application/x-www-form-urlencoded");
        let port = self.port;
        // Writing to a string cannot fail.
        let _ = write!(
            self.headers,
            "Origin: http://127.0.0.1:{port}\r\nSec-Fetch-Site: same-origin\r\n"
        );
        self
    }

    /// Sends the headers of an MCP client.
    pub(crate) fn with_mcp_headers(mut self) -> Self {
        self.headers = String::from(
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n",
        );
        self
    }

    /// Calls from the given local address.
    pub(crate) fn from(mut self, source: Ipv4Addr) -> Self {
        self.source = Some(source);
        self
    }

    /// Removes all added headers.
    pub(crate) fn without_headers(mut self) -> Self {
        self.headers.clear();
        self
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        // Writing to a string cannot fail.
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// Authenticates with an agent key.
    pub(crate) fn with_agent_key(mut self, key: &str) -> Self {
        let _ = write!(self.headers, "X-Agent-Api-Key: {key}\r\n");
        self
    }

    /// Returns a header of the last response, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.received.get(name).map(String::as_str)
    }

    /// Returns the headers of the last response, by their names in lower case.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.received.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the numeric value of a header of the last response.
    pub(crate) fn header_number(&self, name: &str) -> Option<u64> {
        self.received.get(name)?.parse().ok()
    }

    /// Sends a request on a new connection, exactly as it is, and returns the response.
    pub(crate) async fn exchange(
        port: u16,
        request: &ShownRequest,
    ) -> Result<ShownResponse, Failure> {
        let mut client = Self { content_type: None, ..Self::new(port) };
        for (name, value) in &request.headers {
            client = client.with_header(name, value);
        }
        match client.send(&request.method, &request.path, request.body.as_bytes()).await {
            Delivery::Answered { status, body } => {
                Ok(ShownResponse { status, headers: client.received, body })
            }
            other => Err(format!("{} {}: {other:?}", request.method, request.path).into()),
        }
    }

    /// Authenticates with a bearer token or key, and removes all other added headers.
    pub(crate) fn with_key(mut self, key: &str) -> Self {
        self.headers = format!("Authorization: Bearer {key}\r\n");
        self
    }

    /// Returns whether the next request would open a new connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    pub(crate) async fn get(&mut self, path: &str) -> Delivery {
        self.send("GET", path, b"").await
    }

    pub(crate) async fn post(&mut self, path: &str, body: &str) -> Delivery {
        self.send("POST", path, body.as_bytes()).await
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let socket = tokio::net::TcpSocket::new_v4()?;
        if let Some(source) = self.source {
            socket.bind((source, 0).into())?;
        }
        socket.connect((self.server, self.port).into()).await
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, body: &[u8]) -> Delivery {
        let content_type =
            self.content_type.map_or_else(String::new, |it| format!("Content-Type: {it}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{content_type}{}Content-Length: {}\r\n\r\n",
            self.port,
            self.headers,
            body.len()
        );
        let reused = match self.connection.take().filter(is_open) {
            // The server may end an idle connection at this moment. It has not received the whole request then.
            Some(stream) => write_request(stream, &head, body).await.ok(),
            None => None,
        };
        let sent = match reused {
            Some(stream) => Ok(stream),
            None => match self.connect().await {
                Ok(stream) => write_request(stream, &head, body).await,
                Err(_) => return Delivery::NotSent,
            },
        };
        let mut stream = match sent {
            Ok(stream) => stream,
            Err(error) => return Delivery::Interrupted(format!("while sending: {error}")),
        };
        match read_response(&mut stream).await {
            Ok(response) => {
                if !response.closes {
                    self.connection = Some(stream);
                }
                self.received = response.headers;
                Delivery::Answered { status: response.status, body: response.body }
            }
            Err(why) => Delivery::Interrupted(why),
        }
    }
}

async fn write_request(
    mut stream: TcpStream,
    head: &str,
    body: &[u8],
) -> std::io::Result<TcpStream> {
    // Head and body are two writes; the second must not wait for the acknowledgement of the first.
    let _ = stream.set_nodelay(true);
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    Ok(stream)
}

struct Response {
    status: u16,
    headers: BTreeMap<String, String>,
    closes: bool,
    body: String,
}

async fn read_response(stream: &mut TcpStream) -> Result<Response, String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    let (head, body_start) = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&bytes[..end]).into_owned(), end + 4);
        }
        let read = stream.read(&mut chunk).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err(format!("closed after {} bytes of the head", bytes.len()));
        }
        bytes.extend_from_slice(&chunk[..read]);
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or("the response has no status")?;
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let headers: BTreeMap<String, String> =
        fields.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    let closes = headers.get("connection").is_some_and(|it| it.eq_ignore_ascii_case("close"));
    if headers.get("transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
        let body = read_chunks(stream, bytes.split_off(body_start)).await?;
        return Ok(Response { status, headers, closes, body });
    }
    let length = headers.get("content-length").and_then(|length| length.parse::<usize>().ok());
    let length = length.ok_or("the response has no Content-Length")?;
    while bytes.len() < body_start + length {
        let read = stream.read(&mut chunk).await.map_err(|error| error.to_string())?;
        if read == 0 {
            return Err(String::from("closed before the end of the body"));
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
    let body = String::from_utf8_lossy(&bytes[body_start..body_start + length]).into_owned();
    Ok(Response { status, headers, closes, body })
}

/// Reads the chunks of a streamed body, of which the first bytes were read with the head.
async fn read_chunks(stream: &mut TcpStream, mut bytes: Vec<u8>) -> Result<String, String> {
    let mut chunk = vec![0; 64 * 1024];
    let (mut body, mut position) = (Vec::new(), 0);
    loop {
        let line_end = bytes[position..].windows(2).position(|window| window == b"\r\n");
        let size = line_end.and_then(|end| {
            let size = std::str::from_utf8(&bytes[position..position + end]).ok()?;
            Some((position + end + 2, usize::from_str_radix(size, 16).ok()?))
        });
        match size {
            // The size, the data, and the line break after it.
            Some((start, size)) if bytes.len() >= start + size + 2 => {
                body.extend_from_slice(&bytes[start..start + size]);
                position = start + size + 2;
                if size == 0 {
                    return Ok(String::from_utf8_lossy(&body).into_owned());
                }
            }
            _ => {
                let read = stream.read(&mut chunk).await.map_err(|error| error.to_string())?;
                if read == 0 {
                    return Err(String::from("closed before the end of the chunks"));
                }
                bytes.extend_from_slice(&chunk[..read]);
            }
        }
    }
}
