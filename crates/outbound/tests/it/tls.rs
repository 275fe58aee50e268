//! TLS that fails.

use std::sync::{Arc, Mutex};

use outbound::RequestError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::receiver::Receiver;
use crate::{client, loopback, post};

/// Reads until the client closes the connection. Closing it with unread bytes would reset it.
async fn until_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
}

async fn error_of(receiver: &Receiver) -> Option<RequestError> {
    let url = format!("https://{}/", receiver.address);
    post(&client(loopback()), &url).await.err()
}

#[tokio::test]
async fn a_receiver_without_tls_is_a_tls_failure() {
    let receiver = Receiver::start(async |mut stream: TcpStream| {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        until_closed(stream).await;
    })
    .await;
    assert_eq!(error_of(&receiver).await, Some(RequestError::TlsFailed));
}

#[tokio::test]
async fn a_connection_closed_during_the_handshake_is_a_tls_failure() {
    let receiver = Receiver::start(async |mut stream: TcpStream| {
        stream.read_exact(&mut [0; 5]).await.unwrap();
        stream.shutdown().await.unwrap();
        until_closed(stream).await;
    })
    .await;
    assert_eq!(error_of(&receiver).await, Some(RequestError::TlsFailed));
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_a_tls_failure() {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (sender, accepted) = oneshot::channel();
    let sender = Arc::new(Mutex::new(Some(sender)));
    let receiver = Receiver::start(move |stream| {
        let (acceptor, sender) = (acceptor.clone(), sender.lock().unwrap().take());
        async move { sender.unwrap().send(acceptor.accept(stream).await.is_ok()).unwrap() }
    })
    .await;
    assert_eq!(error_of(&receiver).await, Some(RequestError::TlsFailed));
    assert!(!accepted.await.unwrap(), "the client completed the handshake");
}
