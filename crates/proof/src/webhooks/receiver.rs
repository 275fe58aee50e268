//! The receiver of webhooks: a process of its own, which appends every connection and every request to a file, if it has one,
//! before it answers, and answers as the path of the request says; at `/count` with the number of requests that it received. It
//! listens at all addresses of the machine, so that every address of 127.0.0.0/8 can be another receiver, and ends with the
//! process that started it.

mod behavior;
mod process;
mod record;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use database::Clock;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use self::behavior::Behavior;
use self::record::Recorder;
use crate::report::{Failure, exit_code};

pub(super) use self::process::Receiver;
pub(super) use self::record::{End, Line, Request};

#[derive(Args)]
pub(crate) struct ReceiverArgs {
    /// Port at every address of this machine; 0 for a free one, which is printed
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// File to which connections and requests are appended; without it nothing is recorded
    #[arg(long)]
    file: Option<PathBuf>,
}

/// What all connections share.
struct Shared {
    recorder: Recorder,
    clock: Clock,
    /// Requests that are not answered, by path.
    open: Mutex<HashMap<String, usize>>,
    /// Requests that were received, except those at `/count`.
    count: AtomicU64,
    /// Paths and events that were received.
    seen: Mutex<HashSet<(String, String)>>,
}

pub(crate) async fn run(args: ReceiverArgs) -> ExitCode {
    exit_code(serve(args).await)
}

async fn serve(args: ReceiverArgs) -> Result<(), Failure> {
    let ReceiverArgs { port, file } = args;
    raise_file_limit();
    let shared = Arc::new(Shared {
        recorder: Recorder::open(file)?,
        clock: Clock::system(),
        open: Mutex::default(),
        count: AtomicU64::new(0),
        seen: Mutex::default(),
    });
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await?;
    let port = listener.local_addr()?.port();
    // A machine may have no IPv6.
    if let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
        tokio::spawn(accept(other, Arc::clone(&shared)));
    }
    println!("{port}");
    // The other end of the standard input is closed when the parent ends.
    let parent =
        tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    tokio::spawn(accept(listener, shared));
    let _ = parent.await?;
    Ok(())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, or a connection that was reset before it was accepted.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move { shared.answer_all(stream).await });
    }
}

/// Raises the limit of open files as far as possible: thousands of receivers have a connection each.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    // If that is not permitted, connections wait for each other.
    let _ = setrlimit(Resource::Nofile, raised);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Answers the requests of a connection.
    async fn answer_all(&self, mut stream: TcpStream) {
        let Ok(local) = stream.local_addr() else { return };
        let to = local.ip().to_canonical();
        let _ = stream.set_nodelay(true);
        self.recorder.write(|| Line::Connection { to });
        let mut buffer = Vec::new();
        while let Some(arrived) = read_request(&mut stream, &mut buffer).await {
            let Arrived { path, headers, body } = arrived;
            if path == process::COUNT_PATH {
                let count = self.count.load(Ordering::Relaxed).to_string();
                behavior::send_last(&mut stream, &count).await;
                return;
            }
            self.count.fetch_add(1, Ordering::Relaxed);
            let event = headers.get("webhook-id").cloned().unwrap_or_default();
            let (open, at_micros) = self.open(&path);
            self.recorder.write(|| {
                let body = String::from_utf8_lossy(&body).into_owned();
                Line::Request(Request { at_micros, to, path: path.clone(), open, headers, body })
            });
            let is_new = self.is_new(&path, &event);
            let behavior = Behavior::of(&path, &event, is_new);
            let is_quick = !behavior.takes_time();
            if let Behavior::Delay(time) = behavior {
                tokio::time::sleep(time).await;
            }
            // The next request may arrive as soon as this one is answered.
            if is_quick {
                self.close(&path);
            }
            let since = Instant::now();
            let sent = behavior.respond(&mut stream).await;
            if !is_quick {
                self.close(&path);
                let elapsed_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.recorder.write(|| Line::End(End { path, sent_bytes: sent.bytes, elapsed_ms }));
            }
            if !sent.is_reusable {
                return;
            }
        }
    }

    /// Counts a request, and returns how many of its path are open, and the time: in the order of the counts.
    fn open(&self, path: &str) -> (usize, i64) {
        let mut open = lock(&self.open);
        let count = open.entry(path.to_owned()).or_default();
        *count += 1;
        (*count, self.clock.local_now().unix_micros())
    }

    fn close(&self, path: &str) {
        if let Some(count) = lock(&self.open).get_mut(path) {
            *count = count.saturating_sub(1);
        }
    }

    /// Returns whether the event was not received at the path before. Only paths that ask for it are remembered.
    fn is_new(&self, path: &str, event: &str) -> bool {
        let is_asked = path.starts_with("/first-fails") || path.starts_with("/some-fail");
        is_asked && lock(&self.seen).insert((path.to_owned(), event.to_owned()))
    }
}

/// A request that arrived.
struct Arrived {
    path: String,
    /// By name in lower case.
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

/// Reads a request. `None` at the end of the connection, and for something that is not a request.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Arrived> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|part| part == b"\r\n\r\n") {
            break end;
        }
        read_more(stream, buffer).await?;
    };
    let head = String::from_utf8(buffer[..end].to_vec()).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    let headers: BTreeMap<String, String> =
        fields.map(|(name, value)| (name.to_lowercase(), value.trim().to_owned())).collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let total = end + 4 + length;
    while buffer.len() < total {
        read_more(stream, buffer).await?;
    }
    let body = buffer[end + 4..total].to_vec();
    buffer.drain(..total);
    Some(Arrived { path, headers, body })
}

async fn read_more(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 4_096];
    let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
    buffer.extend_from_slice(&part[..count]);
    Some(())
}
