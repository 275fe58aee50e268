//! How the receiver answers a request: its path says how.

use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Bytes that a long body announces.
const LONG_BODY_BYTES: usize = 1_000_000_000;
/// Time between two bytes of a slow response.
const DRIP_INTERVAL: Duration = Duration::from_secs(1);
/// Every so many events, one fails at its first attempt.
const SOME: u32 = 10;

/// A megabyte of zeros, compressed: a member of a gzip stream, which may have any number of them.
static GZIP_MEMBER: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(&vec![0; 1 << 20]);
    encoder.finish().unwrap_or_default()
});

/// How a request is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Behavior {
    /// At once, with a status and further header lines.
    Status(u16, String),
    /// 200, and the connection is closed.
    Close,
    /// 200, once the caller of [`respond`](Self::respond) has waited for this time.
    Delay(Duration),
    /// Not at all.
    Hang,
    /// 200, and a body of one byte a second.
    Drip,
    /// 200, and headers of one byte a second.
    SlowHeaders,
    /// The connection is reset.
    Reset,
    /// 200, and a gigabyte.
    Endless,
    /// 200, and a gigabyte that is sent as a megabyte of gzip.
    GzipBomb,
    /// Something that is not HTTP.
    Garbage,
}

/// The end of a response.
pub(super) struct Sent {
    pub(super) bytes: u64,
    /// Whether the connection can be used for another request.
    pub(super) is_reusable: bool,
}

impl Behavior {
    /// Returns the behavior of a path. `is_new` says whether the event was not received at this path before.
    pub(super) fn of(path: &str, event: &str, is_new: bool) -> Self {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let status = |status: u16| Self::Status(status, String::new());
        match segments[..] {
            ["status", code, ..] => status(code.parse().unwrap_or(500)),
            ["retry-after", value, ..] => Self::Status(429, format!("retry-after: {value}\r\n")),
            ["redirect", code, host, ..] => {
                let location = format!("location: http://{host}/inside\r\n");
                Self::Status(code.parse().unwrap_or(301), location)
            }
            ["close", ..] => Self::Close,
            ["delay", millis, ..] => {
                Self::Delay(Duration::from_millis(millis.parse().unwrap_or(0)))
            }
            ["first-fails", ..] if is_new => status(500),
            ["some-fail", ..] if is_new && is_some(event) => status(500),
            ["ok" | "first-fails" | "some-fail", ..] => status(200),
            ["hang", ..] => Self::Hang,
            ["drip", ..] => Self::Drip,
            ["slow-headers", ..] => Self::SlowHeaders,
            ["reset", ..] => Self::Reset,
            ["endless", ..] => Self::Endless,
            ["gzip-bomb", ..] => Self::GzipBomb,
            ["garbage", ..] => Self::Garbage,
            _ => status(404),
        }
    }

    /// Whether the end of the response is worth a line of the file.
    pub(super) fn takes_time(&self) -> bool {
        let is_quick = matches!(
            self,
            Self::Status(..) | Self::Close | Self::Delay(_) | Self::Reset | Self::Garbage
        );
        !is_quick
    }

    /// Answers the request.
    pub(super) async fn respond(&self, stream: &mut TcpStream) -> Sent {
        let reusable = |bytes: u64| Sent { bytes, is_reusable: true };
        let last = |bytes: u64| Sent { bytes, is_reusable: false };
        match self {
            Self::Status(status, headers) => {
                // A response without content has no length.
                let body =
                    if matches!(status, 204 | 304) { "" } else { "content-length: 2\r\n\r\nok" };
                let end = if body.is_empty() { "\r\n" } else { body };
                reusable(send(stream, format!("HTTP/1.1 {status} Status\r\n{headers}{end}")).await)
            }
            Self::Close => {
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
                last(send(stream, head).await)
            }
            Self::Delay(_) => {
                reusable(send(stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await)
            }
            Self::Hang => {
                // Until the client gives up.
                let _ = stream.read(&mut [0; 1]).await;
                last(0)
            }
            Self::Drip => {
                let head = send(stream, "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await;
                last(head + drip(stream).await)
            }
            Self::SlowHeaders => {
                let head = send(stream, "HTTP/1.1 200 OK\r\nx-slow: ").await;
                last(head + drip(stream).await)
            }
            Self::Reset => {
                let _ = stream.set_zero_linger();
                last(0)
            }
            Self::Endless => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG_BODY_BYTES}\r\n\r\n");
                let head = send(stream, head).await;
                last(head + pour(stream, &[b'x'; 16_384], LONG_BODY_BYTES).await)
            }
            Self::GzipBomb => {
                let length = GZIP_MEMBER.len() * (LONG_BODY_BYTES >> 20);
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-type: text/plain\r\n";
                let head = send(stream, format!("{head}content-length: {length}\r\n\r\n")).await;
                last(head + pour(stream, &GZIP_MEMBER, length).await)
            }
            Self::Garbage => last(send(stream, "SSH-2.0-OpenSSH_9.9\r\n").await),
        }
    }
}

/// Whether an event is one of those that fail at first.
fn is_some(event: &str) -> bool {
    let sum =
        event.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    sum % SOME == 0
}

/// Answers with a body, after which the connection is closed.
pub(super) async fn send_last(stream: &mut TcpStream, body: &str) {
    send(stream, format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}")).await;
}

/// Sends bytes and returns their number, or zero if the client has closed the connection.
async fn send(stream: &mut TcpStream, bytes: impl AsRef<[u8]>) -> u64 {
    let bytes = bytes.as_ref();
    match stream.write_all(bytes).await {
        Ok(()) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        Err(_) => 0,
    }
}

/// Sends a byte a second until the client closes the connection.
async fn drip(stream: &mut TcpStream) -> u64 {
    let mut sent = 0;
    loop {
        let mut byte = [0; 1];
        let pause = tokio::time::timeout(DRIP_INTERVAL, stream.read(&mut byte));
        // The client sends nothing more: what can be read is the end of the connection.
        if pause.await.is_ok() || stream.write_all(b"x").await.is_err() {
            return sent;
        }
        sent += 1;
    }
}

/// Sends a piece again and again, as fast as the client takes it, until so many bytes are sent or the client closes.
async fn pour(stream: &mut TcpStream, piece: &[u8], total: usize) -> u64 {
    let mut sent = 0;
    while sent < total {
        let rest = &piece[sent % piece.len()..];
        match stream.write(&rest[..rest.len().min(total - sent)]).await {
            Ok(0) | Err(_) => break,
            Ok(count) => sent += count,
        }
    }
    u64::try_from(sent).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_says_how_a_request_is_answered() {
        let of = |path: &str| Behavior::of(path, "evt_1", true);
        assert_eq!(of("/ok/7"), Behavior::Status(200, String::new()));
        assert_eq!(of("/status/410"), Behavior::Status(410, String::new()));
        assert_eq!(of("/retry-after/7"), Behavior::Status(429, String::from("retry-after: 7\r\n")));
        let location = String::from("location: http://127.0.0.9:80/inside\r\n");
        assert_eq!(of("/redirect/307/127.0.0.9:80"), Behavior::Status(307, location));
        assert_eq!(of("/first-fails"), Behavior::Status(500, String::new()));
        let again = Behavior::of("/first-fails", "evt_1", false);
        assert_eq!(again, Behavior::Status(200, String::new()));
        assert_eq!(of("/elsewhere"), Behavior::Status(404, String::new()));
    }

    #[test]
    fn about_a_tenth_of_the_events_fails_at_first() {
        let failing = (0..1_000).filter(|number| is_some(&format!("evt_{number:032x}"))).count();
        assert!((20..300).contains(&failing), "{failing}");
    }
}
