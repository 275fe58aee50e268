//! The response of a receiver, as far as it is read.

use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};

/// Bytes that are read of the body of a response.
pub const RESPONSE_MAX_BYTES: usize = 20_000;

/// Longest accepted value of `Retry-After`; an HTTP date has 29 bytes.
const RETRY_AFTER_MAX_BYTES: usize = 64;

/// The response to a request, whatever its status. Its texts come from the receiver and are untrusted.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: StatusCode,
    /// The header `Retry-After` as it was sent: seconds or a date. `None` also if it is not short text.
    pub retry_after: Option<String>,
    /// At most [`RESPONSE_MAX_BYTES`], not decompressed.
    pub body: Vec<u8>,
}

pub(crate) fn retry_after(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    (value.len() <= RETRY_AFTER_MAX_BYTES).then(|| value.to_owned())
}

/// Reads at most [`RESPONSE_MAX_BYTES`] of the body. If there is more, the connection cannot be used again and is closed.
pub(crate) async fn read_body(response: &mut reqwest::Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = RESPONSE_MAX_BYTES - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    Ok(body)
}
