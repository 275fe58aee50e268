//! A program whose output is read while it runs, ended with all it has started when dropped.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use super::site::PATIENCE;
use crate::report::{Failure, ensure};

/// A running program.
pub(super) struct Printing {
    child: Child,
    lines: Receiver<String>,
}

impl Printing {
    /// Starts a program.
    pub(super) fn start(mut command: Command) -> Result<Self, Failure> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what a shell has started ends with it.
        let program = command.get_program().to_owned();
        let spawned = command.process_group(0).spawn();
        let mut child = spawned.map_err(|error| format!("{}: {error}", program.display()))?;
        let (sender, lines) = channel();
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|output| Box::new(output) as _),
            child.stderr.take().map(|output| Box::new(output) as _),
        ];
        for output in outputs.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, lines })
    }

    /// Waits for a line that contains a text.
    pub(super) fn line(&mut self, text: &str) -> Result<String, Failure> {
        let (since, mut printed) = (Instant::now(), String::new());
        loop {
            let rest = PATIENCE.saturating_sub(since.elapsed());
            match self.lines.recv_timeout(rest) {
                Ok(line) if line.contains(text) => return Ok(line),
                Ok(line) => {
                    let _ = writeln!(printed, "{line}");
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!("no line with {text:?}: {printed}").into());
                }
            }
        }
    }

    /// Waits until the program has ended, and returns what it printed.
    pub(super) fn finish(mut self) -> Result<String, Failure> {
        let mut printed = String::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let _ = writeln!(printed, "{line}");
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("a program does not end: {printed}").into());
                }
                // Its outputs are closed: it has ended.
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = self.child.wait()?;
        ensure(status.success(), || format!("a program failed: {printed}"))?;
        Ok(printed)
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        let group = format!("-{}", self.child.id());
        let _ =
            Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.child.wait();
    }
}

/// Returns the first word that begins with a prefix.
pub(super) fn word(text: &str, prefix: &str) -> Option<String> {
    text.split_whitespace().find(|word| word.starts_with(prefix)).map(str::to_owned)
}
