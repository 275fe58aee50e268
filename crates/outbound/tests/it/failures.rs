//! Receivers that do not respond properly, and the error that each of them causes.

use std::time::Duration;

use outbound::{Client, RequestError, Settings};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

use crate::receiver::{Receiver, read_request};
use crate::{client, impatient, loopback, post, settings};

/// Longer than the timeout of the impatient client, shorter than that of any other.
const SOON: Duration = Duration::from_secs(8);

async fn error_of(client: &Client, receiver: &Receiver) -> RequestError {
    post(client, &receiver.url()).await.unwrap_err()
}

/// A receiver that sends this and closes the connection.
async fn closing_after(bytes: &'static [u8]) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.shutdown().await.unwrap();
    })
    .await
}

/// A receiver that sends the beginning and then one byte after the other.
async fn dripping(beginning: &'static str) -> Receiver {
    Receiver::start(move |mut stream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        while stream.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_receiver_that_does_not_respond_times_out() {
    let receiver = Receiver::start(
        async |mut stream: TcpStream| {
            while read_request(&mut stream).await.is_some() {}
        },
    )
    .await;
    let started = Instant::now();
    assert_eq!(error_of(&impatient(), &receiver).await, RequestError::Timeout);
    assert!(started.elapsed() < SOON);
}

#[tokio::test]
async fn a_receiver_that_sends_byte_by_byte_times_out() {
    for beginning in [
        "HTTP/1.1 200 OK\r\nx-slow: ",
        "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
    ] {
        let receiver = dripping(beginning).await;
        let started = Instant::now();
        assert_eq!(error_of(&impatient(), &receiver).await, RequestError::Timeout, "{beginning}");
        assert!(started.elapsed() < SOON);
    }
}

#[tokio::test]
async fn a_connection_closed_before_the_end_of_the_response_is_an_error() {
    for bytes in [
        &b""[..],
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
    ] {
        let receiver = closing_after(bytes).await;
        let error = error_of(&client(loopback()), &receiver).await;
        assert_eq!(error, RequestError::ConnectionClosed, "{}", bytes.escape_ascii());
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_is_an_error() {
    let receiver = Receiver::start(async |mut stream: TcpStream| {
        read_request(&mut stream).await.unwrap();
        stream.set_zero_linger().unwrap();
    })
    .await;
    let error = error_of(&client(loopback()), &receiver).await;
    assert_eq!(error, RequestError::ConnectionClosed);
}

#[tokio::test]
async fn a_response_that_is_not_http_is_invalid() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"220 mail.example.com ESMTP\r\n",
        b"-ERR unknown command\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n",
    ] {
        let receiver = closing_after(bytes).await;
        let error = error_of(&client(loopback()), &receiver).await;
        assert_eq!(error, RequestError::InvalidResponse, "{}", bytes.escape_ascii());
    }
}

#[tokio::test]
async fn headers_without_end_are_invalid() {
    let receiver = Receiver::start(async |mut stream: TcpStream| {
        read_request(&mut stream).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        let line = format!("x-header: {}\r\n", "a".repeat(8_000));
        while stream.write_all(line.as_bytes()).await.is_ok() {}
    })
    .await;
    let error = error_of(&client(loopback()), &receiver).await;
    assert_eq!(error, RequestError::InvalidResponse);
}

#[tokio::test]
async fn a_port_without_a_listener_is_a_connect_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let error = post(&client(loopback()), &url).await.err();
    assert_eq!(error, Some(RequestError::ConnectFailed));
}

#[tokio::test]
async fn a_tls_handshake_without_an_answer_is_a_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let connect_timeout = Duration::from_millis(300);
    let client = Client::new(Settings { connect_timeout, ..settings(loopback()) }).unwrap();
    let started = Instant::now();
    let error = post(&client, &url).await.err();
    assert_eq!(error, Some(RequestError::ConnectTimeout));
    assert!(started.elapsed() < SOON);
}

#[test]
fn errors_have_stable_names_and_sentences_without_details() {
    let names: Vec<&str> = RequestError::ALL.iter().map(|error| error.as_str()).collect();
    let expected = [
        "address_refused",
        "dns_failed",
        "connect_failed",
        "connect_timeout",
        "tls_failed",
        "timeout",
        "connection_closed",
        "invalid_response",
    ];
    assert_eq!(names, expected);
    for error in RequestError::ALL {
        let is_detail = |character: char| character.is_ascii_digit() || ":/[]".contains(character);
        assert!(!error.message().contains(is_detail), "{error}");
    }
}
