//! Raw HTTP requests, as bytes.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::http::{Client, Delivery};
use crate::report::Failure;

/// Maximum time until the response is complete.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The response to a raw request.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Response {
    /// Returns the code of a JSON-RPC error; 0 if it is none.
    pub(crate) fn rpc_code(&self) -> i64 {
        let body: Value = serde_json::from_str(&self.body).unwrap_or(Value::Null);
        body["error"]["code"].as_i64().unwrap_or(0)
    }
}

/// Sends bytes on a new connection and reads the response.
pub(crate) async fn exchange(port: u16, bytes: &[u8]) -> Result<Response, Failure> {
    exchange_from(Ipv4Addr::LOCALHOST, port, bytes).await
}

/// Sends bytes on a new connection from an address and reads the response.
pub(crate) async fn exchange_from(
    source: Ipv4Addr,
    port: u16,
    bytes: &[u8],
) -> Result<Response, Failure> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let mut stream = socket.connect((Ipv4Addr::LOCALHOST, port).into()).await?;
    let (mut reader, mut writer) = stream.split();
    // The server may respond and close the connection before it has read everything.
    let sending = async { writer.write_all(bytes).await.ok() };
    let reading = async {
        let mut received = Vec::new();
        let mut chunk = vec![0; 16 * 1024];
        loop {
            match reader.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(count) => received.extend_from_slice(&chunk[..count]),
            }
            if is_complete(&received) {
                break;
            }
        }
        received
    };
    let both = async { tokio::join!(sending, reading).1 };
    let received = tokio::time::timeout(TIMEOUT, both).await.map_err(|_| "no response in time")?;
    let text = String::from_utf8_lossy(&received).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no response")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Response { status: status.ok_or("the response has no status")?, body: body.to_owned() })
}

fn is_complete(received: &[u8]) -> bool {
    let text = String::from_utf8_lossy(received);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}

/// Builds a POST to the demo store with these headers in addition to the usual ones.
pub(crate) fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "POST /demo-store/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Builds a JSON request of a plain HTTP caller, with these headers in addition to the usual ones.
pub(crate) fn plain_json(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         {headers}Content-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Builds a POST with `Content-Type: application/json` and the right `Content-Length`.
pub(crate) fn post_json(body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    post(&headers, body)
}

/// A directory for an index, removed when dropped.
pub(crate) struct IndexDirectory(PathBuf);

impl IndexDirectory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("souk-mcp-{}-{number}", std::process::id())))
    }

    /// Returns the settings of a process whose copy of the index is in subdirectory `name`.
    pub(crate) fn settings(&self, name: &str) -> Vec<(&'static str, String)> {
        let path = |name: &str| self.0.join(name).to_string_lossy().into_owned();
        vec![("SOUK_SEARCH_OBJECTS", path("objects")), ("SOUK_SEARCH_DIRECTORY", path(name))]
    }
}

impl Drop for IndexDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until the server reports that search is healthy.
pub(crate) async fn wait_for_search(port: u16) -> Result<(), Failure> {
    let since = Instant::now();
    let mut client = Client::new(port);
    while since.elapsed() < Duration::from_mins(1) {
        if let Delivery::Answered { body, .. } = client.get("/health").await
            && serde_json::from_str::<Value>(&body)?["checks"]["search"] == "ok"
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("search was not healthy within a minute".into())
}
