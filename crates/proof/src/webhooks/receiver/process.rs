//! The parent's handle of a receiver. The process ends when the handle is dropped, and its file is removed.

use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::record::{End, Line, Request};
use crate::report::{Failure, ensure};

/// The path at which a receiver tells how many requests it has received.
pub(super) const COUNT_PATH: &str = "/count";

/// A receiver in a process of its own.
pub(crate) struct Receiver {
    child: Child,
    pub(crate) port: u16,
    folder: PathBuf,
}

impl Receiver {
    /// Starts a receiver that records.
    pub(crate) fn start() -> Result<Self, Failure> {
        Self::start_with(&[], true)
    }

    /// Starts a receiver that records nothing, for benchmarks.
    pub(crate) fn start_quiet() -> Result<Self, Failure> {
        Self::start_with(&[], false)
    }

    /// Starts a receiver that records, by a command which executes its arguments, such as `unshare --net`.
    pub(crate) fn start_by(command: &[&str]) -> Result<Self, Failure> {
        Self::start_with(command, true)
    }

    fn start_with(command: &[&str], records: bool) -> Result<Self, Failure> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = format!("souk-receiver-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder)?;
        let own = std::env::current_exe()?;
        let mut receiver = match command {
            [] => Command::new(own),
            [first, rest @ ..] => {
                let mut command = Command::new(first);
                command.args(rest).arg(own);
                command
            }
        };
        receiver.arg("receiver");
        if records {
            receiver.arg("--file").arg(folder.join("requests"));
        }
        receiver.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut receiver = Self { child: receiver.spawn()?, port: 0, folder };
        let stdout = receiver.child.stdout.take().ok_or("the receiver has no standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        receiver.port = line.trim().parse().map_err(|_| "the receiver did not start")?;
        Ok(receiver)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns how many requests were received so far.
    pub(crate) async fn count(&self) -> Result<u64, Failure> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
        let request = format!("GET {COUNT_PATH} HTTP/1.1\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut response = String::new();
        stream.read_to_string(&mut response).await?;
        let (_, body) = response.split_once("\r\n\r\n").ok_or("the receiver tells no count")?;
        Ok(body.parse()?)
    }

    /// Returns the URL of a path at 127.0.0.1.
    pub(crate) fn url(&self, path: &str) -> String {
        self.url_at("127.0.0.1", path)
    }

    /// Returns the URL of a path at a host.
    pub(crate) fn url_at(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.port)
    }

    /// Calls a function with each line of the file.
    pub(crate) fn each(&self, mut take: impl FnMut(Line)) -> Result<(), Failure> {
        let mut file = BufReader::new(std::fs::File::open(self.folder.join("requests"))?);
        let mut line = String::new();
        // The last line may not be complete.
        while file.read_line(&mut line)? > 0 && line.ends_with('\n') {
            take(serde_json::from_str(&line)?);
            line.clear();
        }
        Ok(())
    }

    /// Returns the requests so far, in the order of their arrival.
    pub(crate) fn requests(&self) -> Result<Vec<Request>, Failure> {
        let mut requests = Vec::new();
        self.each(|line| {
            if let Line::Request(request) = line {
                requests.push(request);
            }
        })?;
        Ok(requests)
    }

    /// Returns the ends of responses that take time.
    pub(crate) fn ends(&self) -> Result<Vec<End>, Failure> {
        let mut ends = Vec::new();
        self.each(|line| {
            if let Line::End(end) = line {
                ends.push(end);
            }
        })?;
        Ok(ends)
    }

    /// Returns the addresses that were connected to, one for each connection.
    pub(crate) fn connections(&self) -> Result<Vec<std::net::IpAddr>, Failure> {
        let mut connections = Vec::new();
        self.each(|line| {
            if let Line::Connection { to } = line {
                connections.push(to);
            }
        })?;
        Ok(connections)
    }

    /// Waits until the requests fulfil a condition, and returns them.
    pub(crate) async fn until(
        &self,
        what: &str,
        limit: Duration,
        is_met: impl Fn(&[Request]) -> bool,
    ) -> Result<Vec<Request>, Failure> {
        let since = Instant::now();
        loop {
            let requests = self.requests()?;
            if is_met(&requests) {
                return Ok(requests);
            }
            ensure(since.elapsed() < limit, || {
                format!("{what}: not within {limit:?}, after {} requests", requests.len())
            })?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
