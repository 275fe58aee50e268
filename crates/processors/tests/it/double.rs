//! A test double: a process that ends with the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde::Deserialize;

use crate::folder;

/// A running test double.
#[derive(Debug)]
pub(crate) struct Double {
    child: Child,
    /// The double ends when it is closed, also if the test is killed.
    _stdin: ChildStdin,
    pub(crate) address: String,
}

#[derive(Deserialize)]
struct Started {
    address: String,
}

impl Double {
    pub(crate) fn start(script: &str) -> Self {
        let child = Command::new("node")
            .arg(folder().join(script))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            panic!("node is needed for the test doubles; set SOUK_SKIP_NODE to skip these tests")
        };
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let Started { address } = serde_json::from_str(&line).unwrap();
        Self { child, _stdin: stdin, address }
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
