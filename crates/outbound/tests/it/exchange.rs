//! What is sent, and what is read of a response.

use std::io::Write;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use outbound::RESPONSE_MAX_BYTES;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;

use crate::receiver::{Canary, Receiver, read_request};
use crate::{client, destination, get, loopback, post};

/// A response with a body and its length.
fn response(head: &str, body: &[u8]) -> Vec<u8> {
    let mut response = format!("{head}\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
    response.extend_from_slice(body);
    response
}

#[tokio::test]
async fn a_response_has_status_body_and_retry_after() {
    let head = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 120";
    let receiver = Receiver::responding(response(head, b"slow down")).await;
    let response = post(&client(loopback()), &receiver.url()).await.unwrap();
    assert_eq!(response.status, 429);
    assert_eq!(response.retry_after.as_deref(), Some("120"));
    assert_eq!(response.body, b"slow down");
}

#[tokio::test]
async fn a_response_without_a_body_is_complete() {
    let receiver = Receiver::responding("HTTP/1.1 204 No Content\r\n\r\n").await;
    let response = post(&client(loopback()), &receiver.url()).await.unwrap();
    assert_eq!((response.status.as_u16(), response.body.len()), (204, 0));
    assert_eq!(response.retry_after, None);
}

#[tokio::test]
async fn a_retry_after_that_is_not_short_text_is_ignored() {
    for value in [&b"\xff\xfe"[..], &[b'1'; 65]] {
        let mut bytes = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: ".to_vec();
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::responding(bytes).await;
        let response = post(&client(loopback()), &receiver.url()).await.unwrap();
        assert_eq!((response.status.as_u16(), response.retry_after), (503, None));
    }
}

#[tokio::test]
async fn a_redirect_is_returned_and_not_followed() {
    let canary = Canary::start().await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect"] {
        let head = format!("HTTP/1.1 {status}\r\nlocation: http://{}/", canary.address());
        let receiver = Receiver::responding(response(&head, b"")).await;
        let client = client(loopback());
        for response in [post(&client, &receiver.url()).await, get(&client, &receiver.url()).await]
        {
            assert!(response.unwrap().status.is_redirection());
        }
        assert!((1..=2).contains(&receiver.connections()));
    }
    canary.assert_untouched().await;
}

#[tokio::test]
async fn a_longer_body_is_read_up_to_the_maximum_length() {
    for length in [RESPONSE_MAX_BYTES, RESPONSE_MAX_BYTES + 1] {
        let receiver = Receiver::responding(response("HTTP/1.1 200 OK", &vec![b'a'; length])).await;
        let client = client(loopback());
        for response in [post(&client, &receiver.url()).await, get(&client, &receiver.url()).await]
        {
            assert_eq!(response.unwrap().body.len(), RESPONSE_MAX_BYTES);
        }
    }
}

#[tokio::test]
async fn the_connection_is_closed_after_the_maximum_length() {
    const GIGABYTE: usize = 1 << 30;
    let (sender, sent) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.lock().unwrap().take();
        async move {
            read_request(&mut stream).await.unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {GIGABYTE}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            let chunk = vec![b'a'; 1 << 16];
            let mut sent = 0;
            while sent < GIGABYTE && stream.write_all(&chunk).await.is_ok() {
                sent += chunk.len();
            }
            sender.unwrap().send(sent).unwrap();
        }
    })
    .await;
    let response = post(&client(loopback()), &receiver.url()).await.unwrap();
    assert_eq!(response.body.len(), RESPONSE_MAX_BYTES);
    // What fits into the buffers of both sockets is sent before the receiver notices.
    assert!(sent.await.unwrap() < GIGABYTE / 16);
}

#[tokio::test]
async fn a_compressed_body_is_not_decompressed() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; 10_000_000]).unwrap();
    let bomb = encoder.finish().unwrap();
    for encoding in ["gzip", "deflate", "br", "zstd"] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}");
        let receiver = Receiver::responding(response(&head, &bomb)).await;
        let client = client(loopback());
        for response in [post(&client, &receiver.url()).await, get(&client, &receiver.url()).await]
        {
            let expected = &bomb[..bomb.len().min(RESPONSE_MAX_BYTES)];
            assert_eq!(response.unwrap().body, expected, "{encoding}");
        }
    }
}

/// A receiver of one request, and that request.
async fn recording() -> (Receiver, oneshot::Receiver<String>) {
    let (sender, request) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let receiver = Receiver::start(move |mut stream| {
        let sender = sender.lock().unwrap().take();
        async move {
            let request = read_request(&mut stream).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            sender.unwrap().send(request).unwrap();
        }
    })
    .await;
    (receiver, request)
}

/// Returns the lines of the head, sorted, and the body.
fn parts(request: &str) -> (Vec<&str>, &str) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.lines().collect();
    lines.sort_unstable();
    (lines, body)
}

#[tokio::test]
async fn headers_of_the_caller_are_sent_except_those_of_the_connection() {
    let (receiver, request) = recording().await;
    let mut headers = HeaderMap::new();
    for (name, value) in [
        (header::USER_AGENT, "Souk-Webhooks/1.0"),
        (header::CONTENT_TYPE, "application/json"),
        (header::HOST, "internal.example.com"),
        (header::CONTENT_LENGTH, "7000"),
        (header::TRANSFER_ENCODING, "chunked"),
        (header::CONNECTION, "upgrade"),
        (header::UPGRADE, "websocket"),
        (header::EXPECT, "100-continue"),
        (header::ACCEPT_ENCODING, "gzip"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let client = client(loopback());
    let body = Bytes::from_static(b"{\"a\":1}");
    client.post(&destination(&receiver.url()), headers, body).await.unwrap();
    let request = request.await.unwrap();
    let (lines, body) = parts(&request);
    let host = format!("host: {}", receiver.address);
    let expected = [
        "POST /hooks HTTP/1.1",
        "accept-encoding: identity",
        "accept: */*",
        "content-length: 7",
        "content-type: application/json",
        &host,
        "user-agent: Souk-Webhooks/1.0",
    ];
    assert_eq!((lines.as_slice(), body), (&expected[..], "{\"a\":1}"));
}

#[tokio::test]
async fn a_get_request_has_no_body() {
    let (receiver, request) = recording().await;
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("7000"));
    client(loopback()).get(&destination(&receiver.url()), headers).await.unwrap();
    let request = request.await.unwrap();
    let host = format!("host: {}", receiver.address);
    let expected =
        ["GET /hooks HTTP/1.1", "accept-encoding: identity", "accept: application/json", &host];
    assert_eq!(parts(&request), (expected.to_vec(), ""));
}

#[tokio::test]
async fn a_connection_is_used_again_after_a_complete_response() {
    let receiver = Receiver::responding(response("HTTP/1.1 200 OK", b"ok")).await;
    let client = client(loopback());
    for _ in 0..20 {
        assert_eq!(post(&client, &receiver.url()).await.unwrap().body, b"ok");
        // A connection is idle after its task has seen the end of the response.
        tokio::task::yield_now().await;
    }
    assert!(receiver.connections() < 20, "{} connections", receiver.connections());
}

#[tokio::test]
async fn connections_to_further_hosts_are_closed_after_a_request() {
    let response = response("HTTP/1.1 200 OK", b"ok");
    let first = Receiver::responding(response.clone()).await;
    let second = Receiver::responding(response).await;
    let client = client(loopback()).with_idle_hosts(1);
    for _ in 0..20 {
        post(&client, &first.url()).await.unwrap();
        post(&client, &second.url()).await.unwrap();
    }
    assert!(first.connections() < 20, "{} connections", first.connections());
    assert_eq!(second.connections(), 20);
}
