//! What the receiver writes to its file: one line of JSON for each connection, request and end of a long response.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::report::Failure;

/// A line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A connection was accepted.
    Connection {
        /// The address that the client connected to.
        to: IpAddr,
    },
    /// A request was read, and is not answered yet.
    Request(Request),
    /// A response that takes time has ended.
    End(End),
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Unix time in microseconds.
    pub(crate) at_micros: i64,
    /// The address that the client connected to.
    pub(crate) to: IpAddr,
    pub(crate) path: String,
    /// Requests of this path that are not answered, with this one.
    pub(crate) open: usize,
    /// By name in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    /// The body as text. Bytes that are not UTF-8 are replaced, so that they do not equal what was sent.
    pub(crate) body: String,
}

impl Request {
    /// Returns a header, or an empty text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    /// Returns the id of the event, from the header of Standard Webhooks.
    pub(crate) fn event(&self) -> &str {
        self.header("webhook-id")
    }

    /// Returns the Unix time of the request in seconds.
    pub(crate) fn at_seconds(&self) -> u64 {
        u64::try_from(self.at_micros / 1_000_000).unwrap_or(0)
    }
}

/// The end of a response that takes time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) path: String,
    /// Bytes that the operating system took, whether or not the client read them.
    pub(crate) sent_bytes: u64,
    pub(crate) elapsed_ms: u64,
}

/// Appends lines to a file.
pub(super) struct Recorder(Option<Mutex<File>>);

impl Recorder {
    /// Opens the file. Without one, nothing is recorded.
    pub(super) fn open(path: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Some(Mutex::new(file))))
    }

    /// Appends a line with one system call, before anybody gets an answer. A receiver that cannot record ends.
    pub(super) fn write(&self, line: impl FnOnce() -> Line) {
        let Some(file) = &self.0 else { return };
        let written =
            serde_json::to_vec(&line()).map_err(std::io::Error::from).and_then(|mut text| {
                text.push(b'\n');
                file.lock().unwrap_or_else(PoisonError::into_inner).write_all(&text)
            });
        if written.is_err() {
            std::process::exit(1);
        }
    }
}
