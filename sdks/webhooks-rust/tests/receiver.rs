//! The receiver in examples/, as a process. `cargo test` builds it.
#![expect(clippy::unwrap_used, reason = "what cannot be done is a failed test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const SECRETS: [&str; 2] = ["whsec_b25l", "whsec_dHdv"];
const BODY: &str = r#"{"event":"order.created","id":"evt_1"}"#;

/// The receiver, which ends with the test.
struct Receiver {
    process: Child,
    /// Stays open: a program whose errors nobody reads cannot print them.
    errors: BufReader<ChildStderr>,
}

impl Receiver {
    fn start(secrets: &str) -> Self {
        // target/debug/deps/<this test>
        let test = std::env::current_exe().unwrap();
        let directory = test.parent().and_then(Path::parent).unwrap();
        let mut command = Command::new(directory.join("examples/receiver"));
        command.arg("0").env("WEBHOOK_SECRET", secrets);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let errors = BufReader::new(process.stderr.take().unwrap());
        Self { process, errors }
    }

    /// Returns the address that it prints.
    fn address(&mut self) -> String {
        let mut line = String::new();
        self.errors.read_line(&mut line).unwrap();
        line.trim().strip_prefix("listening on http://").unwrap().to_owned()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn signed(secret: &str, body: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "the receiver has no other clock")]
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{now}.{body}").as_bytes());
    format!("t={now},v1={}", hex::encode(mac.finalize().into_bytes()))
}

/// Posts a body and returns the status.
fn post(address: &str, body: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nx-webhook-signature: {header}\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn each_event_is_verified_and_printed_once() {
    // As they are often copied: with spaces and a comma at the end.
    let mut receiver = Receiver::start(&format!(" {} , {}, ", SECRETS[0], SECRETS[1]));
    let address = receiver.address();
    for secret in SECRETS {
        assert_eq!(post(&address, BODY, &signed(secret, BODY)), "204");
    }
    assert_eq!(post(&address, &format!("{BODY} "), &signed(SECRETS[0], BODY)), "400");
    let other = BODY.replace("evt_1", "evt_2");
    assert_eq!(post(&address, &other, &signed(SECRETS[0], &other)), "204");
    let printed = BufReader::new(receiver.process.stdout.take().unwrap()).lines();
    let printed: Vec<String> = printed.take(2).map(Result::unwrap).collect();
    assert_eq!(printed, ["order.created evt_1", "order.created evt_2"]);
}

#[test]
fn without_a_secret_it_does_not_start() {
    let mut receiver = Receiver::start(" , ");
    assert!(!receiver.process.wait().unwrap().success());
}
