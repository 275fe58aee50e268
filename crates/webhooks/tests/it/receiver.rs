//! A receiver of webhooks on a loopback address.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore};

/// How long a test waits for a condition.
const PATIENCE: Duration = Duration::from_secs(20);

/// How the receiver responds to a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behavior {
    Status(u16),
    /// A status with a line of headers.
    With(u16, &'static str),
    /// 200, once the test permits it.
    Gated,
    /// 500 when it is permitted.
    GatedFailure,
    /// Nothing.
    Hang,
    /// Closes the connection.
    Close,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

#[derive(Default)]
struct State {
    behaviors: HashMap<String, Behavior>,
    received: Vec<Received>,
    in_flight: HashMap<String, usize>,
    most_in_flight: HashMap<String, usize>,
}

/// A receiver with one behavior for each path; the default is 200.
pub(crate) struct Receiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
    gate: Arc<Semaphore>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (state, changed) = (Arc::<Mutex<State>>::default(), Arc::<Notify>::default());
        let gate = Arc::new(Semaphore::new(0));
        let connection = (Arc::clone(&state), Arc::clone(&changed), Arc::clone(&gate));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, changed, gate) = connection.clone();
                tokio::spawn(async move { serve(stream, &state, &changed, &gate).await });
            }
        });
        Self { address, state, changed, gate }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn set(&self, path: &str, behavior: Behavior) {
        self.state.lock().unwrap().behaviors.insert(path.to_owned(), behavior);
    }

    /// Permits so many gated responses.
    pub(crate) fn permit(&self, count: usize) {
        self.gate.add_permits(count);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    /// Returns the number of requests to a path.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.received().iter().filter(|request| request.path == path).count()
    }

    /// Returns the most requests to a path that were open at the same time.
    pub(crate) fn most_in_flight(&self, path: &str) -> usize {
        self.state.lock().unwrap().most_in_flight.get(path).copied().unwrap_or(0)
    }

    /// Returns the open requests to a path.
    pub(crate) fn in_flight(&self, path: &str) -> usize {
        self.state.lock().unwrap().in_flight.get(path).copied().unwrap_or(0)
    }

    /// Waits until a condition holds; it is evaluated after every request and response.
    pub(crate) async fn until(&self, condition: impl Fn(&Self) -> bool) {
        let wait = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                if condition(self) {
                    return;
                }
                changed.await;
            }
        };
        let held = tokio::time::timeout(PATIENCE, wait).await;
        assert!(held.is_ok(), "the condition never held");
    }
}

async fn serve(mut stream: TcpStream, state: &Mutex<State>, changed: &Notify, gate: &Semaphore) {
    let mut buffer = Vec::new();
    while let Some(request) = read_request(&mut stream, &mut buffer).await {
        let path = request.path.clone();
        let behavior = {
            let mut state = state.lock().unwrap();
            state.received.push(request);
            let open = state.in_flight.entry(path.clone()).or_default();
            *open += 1;
            let open = *open;
            let most = state.most_in_flight.entry(path.clone()).or_default();
            *most = (*most).max(open);
            state.behaviors.get(&path).copied().unwrap_or(Behavior::Status(200))
        };
        changed.notify_waiters();
        let response = match behavior {
            Behavior::Status(status) => Some(response(status, "")),
            Behavior::With(status, header) => Some(response(status, header)),
            Behavior::Close => None,
            Behavior::Gated => {
                gate.acquire().await.unwrap().forget();
                Some(response(200, ""))
            }
            Behavior::GatedFailure => {
                gate.acquire().await.unwrap().forget();
                Some(response(500, ""))
            }
            Behavior::Hang => {
                // Until the client gives up.
                let _ = stream.read(&mut [0; 1]).await;
                None
            }
        };
        *state.lock().unwrap().in_flight.entry(path).or_default() -= 1;
        changed.notify_waiters();
        let Some(response) = response else { return };
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn response(status: u16, header: &str) -> String {
    let line = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
    format!("HTTP/1.1 {status} Status\r\n{line}content-length: 2\r\n\r\nok")
}

/// Reads a request. `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break end;
        }
        read_more(stream, buffer).await?;
    };
    let head = String::from_utf8(buffer[..end].to_vec()).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let headers: HashMap<String, String> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while buffer.len() < end + 4 + length {
        read_more(stream, buffer).await?;
    }
    let body = buffer[end + 4..end + 4 + length].to_vec();
    buffer.drain(..end + 4 + length);
    Some(Received { path, headers, body })
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 4096];
    let length = stream.read(&mut part).await.ok().filter(|length| *length > 0)?;
    buffer.extend_from_slice(&part[..length]);
    Some(())
}
