//! Requests written by hand, byte by byte.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::{Client, Fate};
use crate::report::Failure;

/// No answer takes longer.
const PATIENCE: Duration = Duration::from_secs(15);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    /// The code of a JSON-RPC error; 0 if it is none.
    pub(crate) fn rpc_code(&self) -> i64 {
        let body: Value = serde_json::from_str(&self.body).unwrap_or(Value::Null);
        body["error"]["code"].as_i64().unwrap_or(0)
    }
}

/// Sends bytes on a connection of their own and reads until the server has answered.
pub(crate) async fn exchange(port: u16, bytes: &[u8]) -> Result<Answer, Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut reader, mut writer) = stream.split();
    // The server may answer and close before it has read all: that is its right.
    let sending = async { writer.write_all(bytes).await.ok() };
    let reading = async {
        let mut said = Vec::new();
        let mut chunk = vec![0; 16 * 1024];
        loop {
            match reader.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(count) => said.extend_from_slice(&chunk[..count]),
            }
            if is_whole(&said) {
                break;
            }
        }
        said
    };
    let both = async { tokio::join!(sending, reading).1 };
    let said = tokio::time::timeout(PATIENCE, both).await.map_err(|_| "no answer in time")?;
    let text = String::from_utf8_lossy(&said).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").ok_or("no answer")?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok(Answer { status: status.ok_or("an answer without a status")?, body: body.to_owned() })
}

fn is_whole(said: &[u8]) -> bool {
    let text = String::from_utf8_lossy(said);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    length.is_some_and(|length| body.len() >= length)
}

/// A POST to the demo store with these headers beside the usual ones.
pub(crate) fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "POST /demo-store/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n{headers}\r\n"
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// The same with a type and a length.
pub(crate) fn post_json(body: &[u8]) -> Vec<u8> {
    let headers = format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
    post(&headers, body)
}

/// A directory for an index, removed when dropped.
pub(crate) struct IndexDirectory(PathBuf);

impl IndexDirectory {
    pub(crate) fn new() -> Self {
        Self(std::env::temp_dir().join(format!("souk-mcp-{}", std::process::id())))
    }

    /// The settings of a process that keeps its copy in this part of it.
    pub(crate) fn settings(&self, part: &str) -> Vec<(&'static str, String)> {
        let path = |part: &str| self.0.join(part).to_string_lossy().into_owned();
        vec![("SOUK_SEARCH_OBJECTS", path("objects")), ("SOUK_SEARCH_DIRECTORY", path(part))]
    }
}

impl Drop for IndexDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Until the server says that search is well.
pub(crate) async fn wait_for_search(port: u16) -> Result<(), Failure> {
    let since = Instant::now();
    let mut client = Client::new(port);
    while since.elapsed() < Duration::from_mins(1) {
        if let Fate::Answered { body, .. } = client.get("/health").await
            && serde_json::from_str::<Value>(&body)?["checks"]["search"] == "ok"
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("search was not well within a minute".into())
}
